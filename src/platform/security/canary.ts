import { createHmac } from 'node:crypto';
import type pg from 'pg';
import type { TokenKey } from '../../config.ts';
import { StartupError } from '../startup-error.ts';
import { sealedColumn } from './sealed-column.ts';
import type { SecretBox } from './secret-box.ts';
import { createSigner } from './tracking-token.ts';

const context = 'canary';

export const sealedCanary = sealedColumn({
  table: 'installation',
  column: 'canary',
  key: ['id'],
  context: () => context,
});

/**
 * Checks that this process has the secrets that the database was created with. With different secrets, it could not
 * decrypt stored secrets or recognise users. During a rotation, one secret in each list must match. Once everything is
 * sealed with the first key, the first pepper becomes the database's pepper.
 * @throws StartupError that identifies the variable
 */
export async function checkSecrets(
  pool: pg.Pool,
  box: SecretBox,
  userPepper: string,
  earlierPeppers: readonly string[] = [],
): Promise<void> {
  const marks = [userPepper, ...earlierPeppers].map(markOf);
  const [mark = ''] = marks;
  // The first process to start stores its mark. All processes compare their marks with the stored one.
  await pool.query('insert into installation (canary) values ($1) on conflict (id) do nothing', [
    box.seal(mark, context),
  ]);
  const canary = (await readCanary(pool)) ?? Buffer.alloc(0);
  const problem = problemOf(box, canary, marks);
  if (problem !== null) throw new StartupError(problem);
  if (openOrNull(box, canary) !== mark && box.keyOf(canary, context) === 0)
    await pool.query('update installation set canary = $2 where canary = $1', [canary, box.seal(mark, context)]);
}

/**
 * Compares the secrets with those of the database, without changing anything.
 * @returns the problem, which identifies the variable, or null
 */
export async function findSecretProblem(
  pool: pg.Pool,
  box: SecretBox,
  peppers: readonly string[],
): Promise<string | null> {
  const canary = await readCanary(pool);
  return canary === null ? null : problemOf(box, canary, peppers.map(markOf));
}

/**
 * Compares this process's token keys, by ID, with those recorded in the database, and records new ones. Two processes
 * with different secrets for the same key ID would reject each other's links.
 * @throws StartupError that identifies the entry
 */
export async function checkTokenKeys(pool: pg.Pool, keys: readonly TokenKey[]): Promise<void> {
  // Record new keys only now, because a process with a wrong key must not record any.
  await pool.query(
    `update installation set token_key_marks = token_key_marks || $1::jsonb
    where not token_key_marks @> $1::jsonb and not exists (
      select from jsonb_each_text(token_key_marks) known where $1::jsonb ->> known.key <> known.value)`,
    [tokenKeyMarks(keys)],
  );
  const problem = await findTokenKeyProblem(pool, keys);
  if (problem !== null) throw new StartupError(problem);
}

/**
 * Compares the token keys with those recorded in the database, without changing anything.
 * @returns the problem, or null
 */
export async function findTokenKeyProblem(pool: pg.Pool, keys: readonly TokenKey[]): Promise<string | null> {
  const { rows } = await pool.query<{ known: Record<string, string> }>(
    'select token_key_marks as known from installation',
  );
  const storedMarks = rows[0]?.known ?? {};
  const wrongOne = Object.entries(tokenKeyMarks(keys)).find(([id, mark]) => (storedMarks[id] ?? mark) !== mark);
  if (wrongOne === undefined) return null;
  return (
    `TOKEN_KEYS: the secret with the id ${wrongOne[0]} does not match the secret that this database was first used ` +
    'with. Set it to that secret, give a new secret an unused id, or set DATABASE_URL to the matching database.'
  );
}

/**
 * Returns a signature made with each key, by key ID. Links expose signatures like these publicly, so they need not be
 * sealed.
 */
const tokenKeyMarks = (keys: readonly TokenKey[]): Record<string, string> =>
  Object.fromEntries(
    keys.map((key) => [key.id, createSigner([key], context).sign(Buffer.from(context)).toString('base64')]),
  );

async function readCanary(pool: pg.Pool): Promise<Buffer | null> {
  const { rows } = await pool.query<{ canary: Buffer }>('select canary from installation');
  return rows[0]?.canary ?? null;
}

function problemOf(box: SecretBox, canary: Buffer, marks: readonly string[]): string | null {
  const original = openOrNull(box, canary);
  if (original === null) return wrong('SECRETS_KEY');
  return marks.includes(original) ? null : wrong('USER_PEPPER');
}

const markOf = (pepper: string): string => createHmac('sha256', pepper).update(context).digest('base64');

const wrong = (name: string): string =>
  `${name} does not match the value that this database was first used with. Set it to that value, or set ` +
  'DATABASE_URL to the matching database.';

function openOrNull(box: SecretBox, sealed: Buffer): string | null {
  try {
    return box.open(sealed, context);
  } catch {
    return null;
  }
}
