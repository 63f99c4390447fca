import { randomBytes } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { openDatabase } from '../../embedded/postgres/open-database.ts';
import { migrate } from '../../platform/db/migrate.ts';
import { createPool, type Executor, transaction } from '../../platform/db/pool.ts';
import { accountView, auditAccount, passwordState, systemActor } from './account-audit.ts';
import { askPassword } from './ask-password.ts';
import { hashPassword, passwordProblem } from './passwords.ts';
import { endSessionsOf } from './sessions.ts';
import { removeTwoFactor } from './two-factor.ts';
import { changeUser, createUser, findByEmail, parseEmail, setPassword, type User } from './users.ts';

const usage = `Creates an operator of the dashboard, or sets a new password for one.

  npm run operator:create -- --email you@example.com                     asks for a password or generates one
  npm run operator:create -- --email you@example.com --password-stdin    reads the password from standard input
  npm run operator:create -- --email you@example.com --remove-two-factor also for an operator who lost phone and codes

Uses DATABASE_URL; without it, the embedded database in DATA_DIR.
`;

/** `npm run operator:create`, or in the image `node dist/dashboard/auth/create-operator.js`. */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      email: { type: 'string' },
      'password-stdin': { type: 'boolean', default: false },
      'remove-two-factor': { type: 'boolean', default: false },
    },
  });
  const email = parseEmail(values.email ?? '');
  if (email === null) throw new Error(usage);
  const given = await readPassword(values['password-stdin']);
  const password = given ?? randomBytes(15).toString('base64url');
  const problem = passwordProblem(password, email);
  if (problem !== null) throw new Error(`Password refused. ${problem}`);
  const database = await openDatabase();
  try {
    const passwordHash = await hashPassword(password);
    const isNew = await saveOperator(database.url, { email, passwordHash, dropTwoFactor: values['remove-two-factor'] });
    process.stdout.write(`${isNew ? 'Created operator' : 'Set a new password for'} ${email}.\n`);
    if (given === null) process.stdout.write(`Password (shown only once): ${password}\n`);
  } finally {
    await database.stop();
  }
}

/** @returns null: generate one, also where there is no terminal to ask on */
async function readPassword(fromStdin: boolean): Promise<string | null> {
  if (fromStdin) return (await text(process.stdin)).replace(/\r?\n$/, '');
  return process.stdin.isTTY ? askPassword({ input: process.stdin, output: process.stderr }) : null;
}

type Saved = { email: string; passwordHash: string; dropTwoFactor: boolean };

/** @returns whether the operator is new */
async function saveOperator(url: string, saved: Saved): Promise<boolean> {
  const { email, passwordHash } = saved;
  await migrate(url);
  const pool = createPool({ url, size: 1, applicationName: 'perkwire-operator-create', onError: () => {} });
  try {
    return await transaction(pool, async (executor) => {
      const nowMs = Date.now();
      const created = await createUser(executor, { email, role: 'operator', publisherId: null, passwordHash, nowMs });
      if (created === null) {
        await resetOperator(executor, saved, nowMs);
        return false;
      }
      const change = { actor: systemActor('operator:create'), user: created, action: 'create', nowMs } as const;
      await auditAccount(executor, change, null, accountView(created));
      return true;
    });
  } finally {
    await pool.end();
  }
}

/**
 * Sets the password, enables the account and ends its sessions.
 * @throws Error when the address belongs to a user of a publisher
 */
async function resetOperator(
  executor: Executor,
  { email, passwordHash, dropTwoFactor }: Saved,
  nowMs: number,
): Promise<void> {
  const user = await findOperator(executor, email);
  await setPassword(executor, user.id, passwordHash);
  await changeUser(executor, user.id, { role: 'operator', disabled: false });
  await endSessionsOf(executor, user.id);
  const change = { actor: systemActor('operator:create'), user, action: 'update', nowMs } as const;
  const isDropped = dropTwoFactor && user.hasTwoFactor;
  if (isDropped) await removeTwoFactor(executor, user.id);
  const before = { disabled: user.disabled, password: passwordState(user), two_factor: isDropped ? 'on' : '' };
  const after = { disabled: false, password: 'changed', two_factor: isDropped ? 'removed' : '' };
  await auditAccount(executor, change, before, after);
}

async function findOperator(executor: Executor, email: string): Promise<User> {
  const found = await findByEmail(executor, email);
  if (found?.user.role !== 'operator')
    throw new Error(`${email} belongs to a user of a publisher. Use another address.`);
  return found.user;
}

main().catch((err: Error) => {
  process.stderr.write(`${err.message}\n`);
  process.exitCode = 1;
});
