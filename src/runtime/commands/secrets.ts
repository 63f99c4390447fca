import { countAttributesByMark } from '../../audiences/profile.ts';
import { countHistoriesByMark } from '../../budgets/move-histories.ts';
import { type Call, exitCodes, type Run, usageError } from '../../command-line/command.ts';
import { hasDatabase, noDatabaseText, openDatabase, requireSchema } from '../../command-line/open-database.ts';
import type { Output } from '../../command-line/output.ts';
import { loadConfig } from '../../config.ts';
import { countItemsByMark } from '../../perks/wallet-items.ts';
import { createPool, type Executor } from '../../platform/db/pool.ts';
import { type SealedColumn, type SealedCounts, walkSealed } from '../../platform/security/sealed-column.ts';
import { createSecretBox, type SecretBox } from '../../platform/security/secret-box.ts';
import { pepperMark } from '../../platform/security/user-key.ts';
import { existingSecrets } from '../secrets.ts';

/** Function that loads a module's columns that are sealed with SECRETS_KEY. */
export type LoadSealed = () => Promise<SealedColumn | readonly SealedColumn[]>;

type WalkOptions = { reseal: boolean; report?: (column: string, read: number) => void };

/** Walks through all sealed columns one after the other (`walkSealed`). */
export async function* walkAllSealed(
  executor: Executor,
  box: SecretBox,
  columns: readonly LoadSealed[],
  { reseal, report }: WalkOptions,
): AsyncGenerator<{ column: string } & SealedCounts> {
  for (const column of (await Promise.all(columns.map((load) => load()))).flat()) {
    const counts = await walkSealed(executor, box, column, { reseal, report: (read) => report?.(column.name, read) });
    yield { column: column.name, ...counts };
  }
}

/**
 * Commands for rotating SECRETS_KEY and USER_PEPPER (docs/operations.md#secrets). They read the same configuration as
 * the server.
 */

export const secretsStatus =
  (columns: readonly LoadSealed[]): Run =>
  (call) =>
    walk(call, columns, false);
export const resealSecrets =
  (columns: readonly LoadSealed[]): Run =>
  (call) =>
    walk(call, columns, true);

/** Counts or reseals all sealed values. Exits with code 1 if a value is sealed with none of the configured keys. */
async function walk(call: Call, columns: readonly LoadSealed[], reseal: boolean): Promise<number> {
  const { env, out, signal } = call;
  if (!hasDatabase(call)) throw usageError(noDatabaseText(env));
  const config = loadConfig(env, existingSecrets);
  const database = await openDatabase(call);
  const pool = createPool({
    url: database.url,
    size: 1,
    applicationName: 'perkwire-secrets',
    onError: () => {},
    signal,
  });
  try {
    await requireSchema(pool, database.url);
    const box = createSecretBox(config.secretsKey, config.earlierSecretsKeys);
    let unreadable = 0;
    const report = (column: string, read: number): void => out.progress(`${column}: ${read}`);
    for await (const counts of walkAllSealed(pool, box, columns, { reseal, report })) {
      unreadable += counts.unreadable;
      const parts = counts.byKey.map((count, index) => `${count} with key ${index + 1}`);
      if (counts.unreadable > 0) parts.push(`${counts.unreadable} with an unknown key`);
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

/**
 * Prints the number of users stored under each pepper. Users move to the current pepper the next time they are seen.
 */
async function showUsers(executor: Executor, peppers: readonly string[], out: Output): Promise<void> {
  const marks = peppers.map(pepperMark);
  const tables = {
    user_history: countHistoriesByMark,
    user_attributes: countAttributesByMark,
    wallet_items: countItemsByMark,
  };
  for (const [table, countByMark] of Object.entries(tables)) {
    const counts = await countByMark(executor);
    const parts = marks.map((mark, index) => `${counts.get(mark) ?? 0} with pepper ${index + 1}`);
    const others = [...counts].filter(([mark]) => !marks.includes(mark)).reduce((sum, [, count]) => sum + count, 0);
    if (others > 0) parts.push(`${others} with an unknown pepper`);
    out.data({ table, byPepper: marks.map((mark) => counts.get(mark) ?? 0), others });
    out.line(`${table}: ${parts.join(', ')}`);
  }
}
