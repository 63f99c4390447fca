import { randomBytes } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { migrate } from '../../platform/db/migrate.ts';
import { createPool, transaction } from '../../platform/db/pool.ts';
import { accountView, auditAccount, passwordOf, systemActor } from './account-log.ts';
import { askPassword } from './ask-password.ts';
import { hashPassword, passwordProblem } from './passwords.ts';
import { endSessionsOf } from './sessions.ts';
import { changeUser, createUser, findByEmail, readEmail, setPassword } from './users.ts';

const usage = `Makes an operator of the dashboard, or gives one a new password.

  npm run operator:create -- --email you@example.com                     asks for a password, or makes one
  npm run operator:create -- --email you@example.com --password-stdin    reads the password from standard input

Uses DATABASE_URL; without it, the embedded database in DATA_DIR.
`;

/** `npm run operator:create`, or in the image `node dist/dashboard/auth/create-operator.js`. */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { email: { type: 'string' }, 'password-stdin': { type: 'boolean', default: false } },
  });
  const email = readEmail(values.email ?? '');
  if (email === null) throw new Error(usage);
  const given = await givenPassword(values['password-stdin']);
  const password = given ?? randomBytes(15).toString('base64url');
  const problem = passwordProblem(password, email);
  if (problem !== null) throw new Error(`The password is refused. ${problem}`);
  const database = await openDatabase();
  try {
    const made = await store(database.url, email, password);
    process.stdout.write(
      `${made ? 'Made the operator' : 'Gave a new password to'} ${email}.\n${given === null ? `Password (shown only now): ${password}\n` : ''}`,
    );
  } finally {
    await database.stop();
  }
}

/** @returns null: make one; so it is where nobody can be asked */
async function givenPassword(fromStdin: boolean): Promise<string | null> {
  if (fromStdin) return (await text(process.stdin)).replace(/\r?\n$/, '');
  return process.stdin.isTTY ? askPassword({ input: process.stdin, output: process.stderr }) : null;
}

async function openDatabase(): Promise<{ url: string; stop: () => Promise<unknown> }> {
  const url = process.env.DATABASE_URL ?? '';
  if (url !== '') return { url, stop: async () => {} };
  const { startEmbeddedPostgres } = await import('../../embedded/postgres/index.ts');
  return startEmbeddedPostgres({ dataDir: process.env.DATA_DIR || '.data' });
}

/** @returns whether the operator is new */
async function store(url: string, email: string, password: string): Promise<boolean> {
  await migrate(url);
  const pool = createPool({ url, size: 1, applicationName: 'perkwire-operator-create', onError: () => {} });
  try {
    const passwordHash = await hashPassword(password);
    return await transaction(pool, async (executor) => {
      const nowMs = Date.now();
      const actor = systemActor('operator:create');
      const made = await createUser(executor, { email, role: 'operator', publisherId: null, passwordHash, nowMs });
      if (made !== null) {
        await auditAccount(executor, { actor, user: made, action: 'create', nowMs }, null, accountView(made));
        return true;
      }
      const found = await findByEmail(executor, email);
      if (found?.user.role !== 'operator')
        throw new Error(`${email} is an account of a publisher. Use another address.`);
      await setPassword(executor, found.user.id, passwordHash);
      await changeUser(executor, found.user.id, { role: 'operator', disabled: false });
      await endSessionsOf(executor, found.user.id);
      const [was, is] = [
        { disabled: found.user.disabled, password: passwordOf(found.user) },
        { disabled: false, password: 'changed' },
      ];
      await auditAccount(executor, { actor, user: found.user, action: 'update', nowMs }, was, is);
      return false;
    });
  } finally {
    await pool.end();
  }
}

main().catch((err: Error) => {
  process.stderr.write(`${err.message}\n`);
  process.exitCode = 1;
});
