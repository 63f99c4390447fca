import type { Executor } from '../db/pool.ts';
import type { SecretBox } from './secret-box.ts';

/**
 * Many modules store sealed values in their tables. Each of them exports its sealed columns as values of the type
 * below. The command that reseals values receives all of these columns (docs/operations.md#rotating-the-secrets-key).
 */

type Key = readonly unknown[];

type SealedValue = { key: Key; sealed: Buffer };

export type SealedColumn = {
  /** Table and column name. */
  name: string;
  context: (key: Key) => string;
  /**
   * Reads the next values in primary key order, starting after the key `after`, or from the beginning if it is null.
   */
  read: (executor: Executor, after: Key | null, limit: number) => Promise<SealedValue[]>;
  /** Replaces a value, unless it has been changed in the meantime. */
  replace: (executor: Executor, key: Key, from: Buffer, to: Buffer) => Promise<void>;
};

type Place = { table: string; column: string; key: readonly string[]; context: (key: Key) => string };

/** Creates a sealed column of type `bytea`. `key` lists the primary key columns. */
export function sealedColumn({ table, column, key, context }: Place): SealedColumn {
  const keys = key.join(', ');
  const placeholders = (first: number): string => key.map((_, index) => `$${index + first}`).join(', ');
  return {
    name: `${table}.${column}`,
    context,
    read: async (executor, after, limit) => {
      const { rows } = await executor.query<Record<string, unknown>>(
        `select ${keys}, ${column} as sealed from ${table}
        where ${column} is not null ${after === null ? '' : `and (${keys}) > (${placeholders(2)})`}
        order by ${keys} limit $1`,
        [limit, ...(after ?? [])],
      );
      return rows.map((row) => ({ key: key.map((name) => row[name]), sealed: row.sealed as Buffer }));
    },
    replace: async (executor, at, from, to) => {
      await executor.query(
        `update ${table} set ${column} = $2 where ${column} = $1 and (${keys}) = (${placeholders(3)})`,
        [from, to, ...at],
      );
    },
  };
}

/**
 * Number of values sealed with each key of the secret box, in the order of its keys, and number of unreadable values.
 */
export type SealedCounts = { byKey: number[]; unreadable: number };

const sliceSize = 200;

/**
 * Counts the values in a column by the key that sealed them. With `reseal`, also reseals values of earlier keys with
 * the first key. It can be interrupted and restarted at any time, because values that are already resealed are only
 * read.
 * @param report called after each batch with the number of values read so far
 */
export async function walkSealed(
  executor: Executor,
  box: SecretBox,
  column: SealedColumn,
  { reseal, report }: { reseal: boolean; report: (read: number) => void },
): Promise<SealedCounts> {
  const counts: SealedCounts = { byKey: Array.from({ length: box.keys }, () => 0), unreadable: 0 };
  let read = 0;
  for (let after: Key | null = null; ; ) {
    const values = await column.read(executor, after, sliceSize);
    for (const { key, sealed } of values) {
      const context = column.context(key);
      const keyIndex = box.keyOf(sealed, context);
      if (keyIndex === null) counts.unreadable += 1;
      else if (keyIndex === 0 || !reseal) counts.byKey[keyIndex] = (counts.byKey[keyIndex] ?? 0) + 1;
      else {
        await column.replace(executor, key, sealed, box.seal(box.open(sealed, context), context));
        counts.byKey[0] = (counts.byKey[0] ?? 0) + 1;
      }
    }
    read += values.length;
    report(read);
    if (values.length < sliceSize) return counts;
    after = values.at(-1)?.key ?? null;
  }
}
