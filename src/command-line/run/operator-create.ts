import { randomBytes } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { askPassword } from '../../accounts/ask-password.ts';
import { hashPassword, passwordProblem } from '../../accounts/passwords.ts';
import { saveOperator } from '../../accounts/save-operator.ts';
import { parseEmail } from '../../accounts/users.ts';
import { openDatabase } from '../../embedded/open-database.ts';
import { type Call, CommandError, exitCodes, type Run, textOption, usageError } from '../command.ts';

/** Creates an operator in DATABASE_URL, or in the embedded database of DATA_DIR. */
export const createOperator: Run = async (call) => {
  const { options, out } = call;
  const email = parseEmail(textOption(call, 'email'));
  if (email === null) throw usageError('Name the operator: --email you@example.com');
  const given = await readPassword(call);
  const password = given ?? randomBytes(15).toString('base64url');
  const problem = passwordProblem(password, email);
  if (problem !== null) throw new CommandError(exitCodes.refused, `Password refused. ${problem}`);
  const database = await openDatabase();
  try {
    const passwordHash = await hashPassword(password);
    const dropTwoFactor = options['remove-two-factor'] === true;
    const isNew = await saveOperator(database.url, { email, passwordHash, dropTwoFactor });
    out.data({ email, created: isNew, ...(given === null && { password }) });
    out.line(`${isNew ? 'Created operator' : 'Set a new password for'} ${email}.`);
    if (given === null) out.line(`Password (shown only once): ${password}`);
    return exitCodes.ok;
  } finally {
    await database.stop();
  }
};

/** @returns null: generate one, also where there is no terminal to ask on */
async function readPassword({ options, stdin, stderr }: Call): Promise<string | null> {
  if (options['password-stdin'] === true) return (await text(stdin)).replace(/\r?\n$/, '');
  return stdin.isTTY ? askPassword({ input: stdin, output: stderr }) : null;
}
