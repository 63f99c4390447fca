import { afterAll, beforeAll, expect, test } from 'vitest';
import { compactDataFiles } from '../../src/data-files/compact.ts';
import { defaultLimits } from '../../src/data-files/export/write-table.ts';
import { type ColumnType, dataTables, typeOf } from '../../src/data-files/tables.ts';
import { createTestModules, type TestBase } from '../support/test-modules.ts';
import { compactAll, createTestFolder, duckdb, exportAll } from './support.ts';

let t: TestBase;
let folder: Awaited<ReturnType<typeof createTestFolder>>;
beforeAll(async () => {
  [t, folder] = await Promise.all([createTestModules(['tracking', 'data-files']), createTestFolder()]);
});
afterAll(async () => {
  await t?.close();
  await folder?.remove();
});

/** Texts that repeat, that differ only at the end, that are long, and that are not ASCII. */
const texts = [
  '',
  'wallet',
  'Wallet',
  'ünï©ödé 🎁',
  'a"b\\c\nd',
  'y'.repeat(64),
  'y'.repeat(65),
  `${'z'.repeat(9000)}1`,
  `${'z'.repeat(9000)}2`,
];

const rows = 2000;
const [day, id] = ['current_date - n % 2', 'gen_random_uuid()'];
/** SQL for a text that is null in every tenth row, and different in every seventh one. */
const text = "case when n % 10 <> 0 then case when n % 7 = 0 then 'text ' || n else ($1::text[])[1 + n % 9] end end";
const time = "timestamptz '1969-12-31 23:59:59.999999Z' + n % 3 * interval '1 microsecond' + n / 3 * interval '1 year'";

/** Values of `insert` statements for each table, with the smallest and largest numbers. */
const inserts: Readonly<Record<string, string>> = {
  [`sessions (day, id, publisher_id, placement, theme_id, user_key, pub_user_id, country, offer_ids, campaign_ids,
    custom, dev, usp, usp_check_all, created_at, language)`]: `${day}, ${id}, 1 + n % 3, coalesce(${text}, ''),
    nullif(n % 5, 0), case when n % 4 > 0 then ${id} end, ${text}, ${text},
    array(select i * 715827882 - 1 from generate_series(1, n % 4) as i),
    array(select -n - i from generate_series(1, n % 4) as i), jsonb_build_object('text', ${text}), n % 6 = 0, false,
    false, ${time}, ${text}`,
  'events (day, session_id, offer_id, kind, publisher_id, campaign_id, position, at, suspicious, revenue_micros)': `
    ${day}, ${id}, n, coalesce(${text}, ''), 1 + n % 3, 2147483647, n % 5, ${time}, ${text},
    case n % 4 when 0 then 9223372036854775807 when 1 then -9223372036854775808 when 2 then n end`,
  [`conversions (day, session_id, offer_id, event, txn_key, void, id, publisher_id, campaign_id, advertiser_id,
    payout_micros, currency, is_loyalty, loyalty_micros, click_at, booked_at)`]: `${day}, ${id}, -2147483648, 'sale',
    ${id}, n % 2 = 0, ${id}, 1, 1, 1, n * 1000000000000, 'EUR', true, 1e39::numeric + n, ${time}, now()`,
  'delivery_attempts (day, delivery_id, generation, publisher_id, endpoint_id, finished_at, status_code, outcome)': `
    ${day}, ${id}, n, 1, 1, case when n % 2 = 0 then ${time} end, nullif(n % 3, 0), ${text}`,
  'data_file_erasures (day, session_id, publisher_id, erased_at)': `${day}, null, 1 + n % 3, now()`,
};

/** SQL for a value as text. `n` is the number of the element. */
const asText: Record<ColumnType, (sql: string) => string> = {
  id: (sql) => `(${sql})::text`,
  text: (sql) => `(${sql})::text`,
  int: (sql) => `(${sql})::text`,
  micros: (sql) => `(${sql})::text`,
  bool: (sql) => `(${sql})::text`,
  time: (sql) => `trunc(extract(epoch from ${sql}) * 1000000)::text`,
  element: (sql) => `(${sql})[n]::text`,
  ordinal: () => 'n::text',
};

const sorted = (values: readonly unknown[]): string[] => values.map((value) => JSON.stringify(value)).sort();

/** Compares the values of all files with the database. */
async function compareAll(): Promise<void> {
  for (const { name, columns, from, where = 'true', elements = '1' } of dataTables) {
    const entries = Object.entries(columns);
    const stored = await t.pool.query<Record<string, string>>(
      `select t.publisher_id::text as publisher, t.day::text as date,
        ${entries.map(([column, entry]) => `${asText[typeOf(entry).type](entry[1])} as ${column}`).join(', ')}
      ${from} cross join lateral generate_series(1, ${elements}) as n where ${where}`,
    );
    if (stored.rowCount === 0) continue;
    const filed = await duckdb(
      `select publisher::varchar as publisher, date::varchar as date, ${entries
        .map(([column, entry]) =>
          typeOf(entry).type === 'time'
            ? `epoch_us("${column}")::varchar as "${column}"`
            : `"${column}"::varchar as "${column}"`,
        )
        .join(', ')}
      from read_parquet('${folder.path}/${name}/*/*/*.parquet', hive_partitioning = true)`,
    );
    expect(sorted(filed), name).toEqual(sorted(stored.rows));
  }
}

test('files contain the values of the database, in row groups of any size and after a compaction', async () => {
  await t.pool.query('select create_day_partitions(current_date - 1, current_date)');
  await t.pool.query("update publishers set data_file_user_ids = 'plain'");
  for (const groupRows of [defaultLimits.groupRows, 7]) {
    for (const [table, values] of Object.entries(inserts))
      await t.pool.query(
        `insert into ${table} select ${values} from generate_series(1, ${rows}) as n where $1::text[] is not null`,
        [texts],
      );
    await exportAll(t, folder.storage, { ...defaultLimits, groupRows });
  }
  await compareAll();
  expect((await compactDataFiles(folder.storage, compactAll)).partitions).toBeGreaterThan(0);
  await compareAll();
});
