import { createHmac } from 'node:crypto';
import type pg from 'pg';
import { StartupError } from '../startup-error.ts';
import { sealedColumn } from './sealed-column.ts';
import type { SecretBox } from './secret-box.ts';

const context = 'canary';

export const sealedCanary = sealedColumn({
  table: 'installation',
  column: 'canary',
  key: ['id'],
  context: () => context,
});

/**
 * Compares the secrets of this process with those that the database was made with: written with others, secrets could
 * not be read and users not be recognised. Of lists (rotation) one secret has to be the database's; the first pepper
 * becomes it, once what is sealed is sealed with the first key.
 * @throws StartupError naming the variable
 */
export async function checkSecrets(
  pool: pg.Pool,
  box: SecretBox,
  userPepper: string,
  earlierPeppers: readonly string[] = [],
): Promise<void> {
  const marks = [userPepper, ...earlierPeppers].map(markOf);
  const [mark = ''] = marks;
  // The first process leaves its mark; all compare with the one that is there.
  await pool.query('insert into installation (canary) values ($1) on conflict (id) do nothing', [
    box.seal(mark, context),
  ]);
  const canary = (await readCanary(pool)) ?? Buffer.alloc(0);
  const problem = problemOf(box, canary, marks);
  if (problem !== null) throw new StartupError(problem);
  if (openOrNull(box, canary) !== mark && box.keyOf(canary, context) === 0)
    await pool.query('update installation set canary = $2 where canary = $1', [canary, box.seal(mark, context)]);
}

/** The same comparison, which changes nothing. @returns what is wrong, naming the variable; null: nothing */
export async function findSecretProblem(
  pool: pg.Pool,
  box: SecretBox,
  peppers: readonly string[],
): Promise<string | null> {
  const canary = await readCanary(pool);
  return canary === null ? null : problemOf(box, canary, peppers.map(markOf));
}

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
  `${name} is not the one that this database was first used with. Set it to that one, or DATABASE_URL to the ` +
  'database that belongs to it.';

function openOrNull(box: SecretBox, sealed: Buffer): string | null {
  try {
    return box.open(sealed, context);
  } catch {
    return null;
  }
}
