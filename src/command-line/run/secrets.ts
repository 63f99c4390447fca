import { countHistoriesByMark } from '../../budgets/move-histories.ts';
import { loadConfig } from '../../config.ts';
import { openDatabase } from '../../embedded/open-database.ts';
import { countItemsByMark } from '../../perks/wallet-items.ts';
import { createPool, type Executor } from '../../platform/db/pool.ts';
import { createSecretBox } from '../../platform/security/secret-box.ts';
import { pepperMark } from '../../platform/security/user-key.ts';
import { embeddedSecrets } from '../../runtime/secrets.ts';
import { type Call, exitCodes, type Run } from '../command.ts';
import type { Output } from '../output.ts';
import { walkAllSealed } from '../secrets/sealed-columns.ts';

/*
 * Rotation of SECRETS_KEY and USER_PEPPER (docs/operations.md#secrets), with the configuration of the server.
 */

export const secretsStatus: Run = (call) => walk(call, false);
export const resealSecrets: Run = (call) => walk(call, true);

/** Exits with 1 where something is sealed with none of the keys. */
async function walk({ env, out }: Call, reseal: boolean): Promise<number> {
  const config = loadConfig(env, embeddedSecrets);
  const database = await openDatabase();
  const pool = createPool({ url: database.url, size: 1, applicationName: 'perkwire-secrets', onError: () => {} });
  try {
    const box = createSecretBox(config.secretsKey, config.earlierSecretsKeys);
    let unreadable = 0;
    const report = (column: string, read: number): void => out.progress(`${column}: ${read}`);
    for await (const counts of walkAllSealed(pool, box, { reseal, report })) {
      unreadable += counts.unreadable;
      const parts = counts.byKey.map((count, index) => `${count} with key ${index + 1}`);
      if (counts.unreadable > 0) parts.push(`${counts.unreadable} with none of them`);
      out.progress('');
      out.data(counts);
      out.line(`${counts.column}: ${parts.join(', ')}`);
    }
    if (!reseal) await showUsers(pool, [config.userPepper, ...config.earlierPeppers], out);
    return unreadable === 0 ? exitCodes.ok : exitCodes.problem;
  } finally {
    await pool.end();
    await database.stop();
  }
}

/** How many users are left under each pepper; they move when they are seen again. */
async function showUsers(executor: Executor, peppers: readonly string[], out: Output): Promise<void> {
  const marks = peppers.map(pepperMark);
  const tables = { user_history: countHistoriesByMark, wallet_items: countItemsByMark };
  for (const [table, countByMark] of Object.entries(tables)) {
    const counts = await countByMark(executor);
    const parts = marks.map((mark, index) => `${counts.get(mark) ?? 0} under pepper ${index + 1}`);
    const others = [...counts].filter(([mark]) => !marks.includes(mark)).reduce((sum, [, count]) => sum + count, 0);
    if (others > 0) parts.push(`${others} under none of them`);
    out.data({ table, byPepper: marks.map((mark) => counts.get(mark) ?? 0), others });
    out.line(`${table}: ${parts.join(', ')}`);
  }
}
