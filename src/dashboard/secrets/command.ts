import { loadConfig } from '../../config.ts';
import { openDatabase } from '../../embedded/postgres/open-database.ts';
import { countHistoriesByMark } from '../../offers/caps/move-histories.ts';
import { countItemsByMark } from '../../perks/wallet/items.ts';
import { createPool, type Executor } from '../../platform/db/pool.ts';
import { createSecretBox } from '../../platform/security/secret-box.ts';
import { pepperMark } from '../../platform/security/user-key.ts';
import { embeddedSecrets } from '../../runtime/secrets.ts';
import { walkAllSealed } from './sealed-columns.ts';

const usage = `Rotates SECRETS_KEY and USER_PEPPER (docs/operations.md, "Secrets").

  npm run secrets -- status    how much is sealed with each key, and how many users are under each pepper
  npm run secrets -- reseal    seals everything with the first key; can be interrupted and run again

Reads the configuration of the server.
`;

/**
 * `npm run secrets`, or in the image `node dist/dashboard/secrets/command.js`. Exits with 1 where something is sealed
 * with none of the keys.
 */
async function main(): Promise<number> {
  const [action, ...rest] = process.argv.slice(2);
  if ((action !== 'status' && action !== 'reseal') || rest.length > 0) throw new Error(usage);
  const config = loadConfig(process.env, embeddedSecrets);
  const database = await openDatabase();
  const pool = createPool({ url: database.url, size: 1, applicationName: 'perkwire-secrets', onError: () => {} });
  try {
    const box = createSecretBox(config.secretsKey, config.earlierSecretsKeys);
    let unreadable = 0;
    const report = (column: string, read: number): void => showProgress(`${column}: ${read}`);
    for await (const counts of walkAllSealed(pool, box, { reseal: action === 'reseal', report })) {
      unreadable += counts.unreadable;
      const parts = counts.byKey.map((count, index) => `${count} with key ${index + 1}`);
      if (counts.unreadable > 0) parts.push(`${counts.unreadable} with none of them`);
      showProgress('');
      process.stdout.write(`${counts.column}: ${parts.join(', ')}\n`);
    }
    if (action === 'status') await showUsers(pool, [config.userPepper, ...config.earlierPeppers]);
    return unreadable === 0 ? 0 : 1;
  } finally {
    await pool.end();
    await database.stop();
  }
}

/** How many users are left under each pepper; they move when they are seen again. */
async function showUsers(executor: Executor, peppers: readonly string[]): Promise<void> {
  const marks = peppers.map(pepperMark);
  const tables = { user_history: countHistoriesByMark, wallet_items: countItemsByMark };
  for (const [table, countByMark] of Object.entries(tables)) {
    const counts = await countByMark(executor);
    const parts = marks.map((mark, index) => `${counts.get(mark) ?? 0} under pepper ${index + 1}`);
    const others = [...counts].filter(([mark]) => !marks.includes(mark)).reduce((sum, [, count]) => sum + count, 0);
    if (others > 0) parts.push(`${others} under none of them`);
    process.stdout.write(`${table}: ${parts.join(', ')}\n`);
  }
}

/** A line that is overwritten, on a terminal only. */
function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${text.padEnd(60)}${text === '' ? '\r' : ''}`);
}

main().then(
  (code) => {
    process.exitCode = code;
  },
  (err: Error) => {
    process.stderr.write(`${err.message}\n`);
    process.exitCode = 2;
  },
);
