import { randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { type Call, CommandError, exitCodes, type Run, textOption, usageError } from '../../command-line/command.ts';
import { openDatabase } from '../../command-line/open-database.ts';
import { saveOperator } from '../operators.ts';
import { hashPassword, passwordProblem } from '../passwords.ts';
import { parseEmail } from '../users.ts';

/** Creates an operator in the DATABASE_URL database, or in the embedded database in DATA_DIR. */
export const createOperator: Run = async (call) => {
  const { options, out, signal } = call;
  const email = parseEmail(textOption(call, 'email'));
  if (email === null) throw usageError('Set the e-mail address of the operator: --email you@example.com');
  const entered = await readPassword(call);
  const password = entered ?? randomBytes(15).toString('base64url');
  const problem = passwordProblem(password, email);
  if (problem !== null) throw new CommandError(exitCodes.refused, `The password was rejected. ${problem}`);
  const database = await openDatabase(call);
  try {
    const passwordHash = await hashPassword(password);
    const dropTwoFactor = options['remove-two-factor'] === true;
    const isNew = await saveOperator(database.url, { email, passwordHash, dropTwoFactor }, signal);
    out.data({ email, created: isNew, ...(entered === null && { password }) });
    out.line(`${isNew ? 'Created operator' : 'Set a new password for'} ${email}.`);
    if (entered === null) out.line(`Password (shown only once): ${password}`);
    return exitCodes.ok;
  } finally {
    await database.stop();
  }
};

/**
 * Reads the password from standard input or a prompt.
 * @returns null if a password must be generated, for example because there is no terminal
 */
async function readPassword({ options, stdin, stderr }: Call): Promise<string | null> {
  if (options['password-stdin'] === true) return (await text(stdin)).replace(/\r?\n$/, '');
  return stdin.isTTY ? askPassword({ input: stdin, output: stderr }) : null;
}

type Terminal = { input: NodeJS.ReadableStream; output: NodeJS.WritableStream };

/**
 * Prompts for a password twice, without echoing it.
 * @returns null if the input is empty and a password must be generated
 * @throws Error if the passwords differ or the input ends
 */
export async function askPassword({ input, output }: Terminal): Promise<string | null> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input, output: silent, terminal: true });
  const answers = lines[Symbol.asyncIterator]();

  async function ask(question: string): Promise<string> {
    output.write(question);
    const answer = await answers.next();
    output.write('\n');
    if (answer.done) throw new Error('No changes made.');
    return answer.value;
  }

  try {
    const password = await ask('Password (leave empty to generate one): ');
    if (password === '') return null;
    if ((await ask('Repeat password: ')) !== password) throw new Error('Passwords do not match. No changes made.');
    return password;
  } finally {
    lines.close();
  }
}
