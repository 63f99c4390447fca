import { createHmac } from 'node:crypto';
import type pg from 'pg';
import { StartupError } from '../startup-error.ts';
import type { SecretBox } from './secret-box.ts';

const context = 'canary';

/**
 * Compares the secrets of this process with those that the database was made with: written with others, secrets could
 * not be read and users not be recognised. @throws StartupError naming the variable
 */
export async function checkSecrets(pool: pg.Pool, box: SecretBox, userPepper: string): Promise<void> {
  const pepperMark = createHmac('sha256', userPepper).update(context).digest('base64');
  // The first process leaves its mark; all compare with the one that is there.
  await pool.query('insert into installation (canary) values ($1) on conflict (id) do nothing', [
    box.seal(pepperMark, context),
  ]);
  const { rows } = await pool.query<{ canary: Buffer }>('select canary from installation');
  const original = openOrNull(box, rows[0]?.canary ?? Buffer.alloc(0));
  if (original === null) throw wrong('SECRETS_KEY');
  if (original !== pepperMark) throw wrong('USER_PEPPER');
}

const wrong = (name: string): StartupError =>
  new StartupError(
    `${name} is not the one that this database was first used with. Set it to that one, or DATABASE_URL to the ` +
      'database that belongs to it.',
  );

function openOrNull(box: SecretBox, sealed: Buffer): string | null {
  try {
    return box.open(sealed, context);
  } catch {
    return null;
  }
}
