import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildIndexes } from '../../src/data-files/export/indexes.ts';
import { copySql, dataTables } from '../../src/data-files/tables.ts';
import { Connection } from '../../src/platform/db/pool.ts';
import { databaseBefore, type EarlierDatabase } from '../support/earlier-database.ts';
import { createTestFolder, exportAll } from './support.ts';

let database: EarlierDatabase;
let folder: Awaited<ReturnType<typeof createTestFolder>>;
let large: string;
let small: string;
const tables = ['conversions', 'usp_sessions', 'deliveries', 'delivery_attempts'];

/** Creates a database in which yesterday's tables are large, and upgrades it. */
beforeAll(async () => {
  [database, folder] = await Promise.all([databaseBefore('data-files'), createTestFolder()]);
  const { client } = database;
  await client.query('select create_day_partitions(current_date - 1, current_date)');
  const { rows } = await client.query(
    "select to_char(current_date - 1, 'YYYYMMDD') as large, to_char(current_date, 'YYYYMMDD') as small",
  );
  [large, small] = [`p${rows[0].large}`, `p${rows[0].small}`];
  const add = (table: string, values: string): Promise<unknown> =>
    client.query(`insert into ${table} select ${values} from generate_series(1, 20000) as n`);
  const [day, id] = ['current_date - 1', 'gen_random_uuid()'];
  await add('usp_sessions (day, session_id, publisher_id, selected)', `${day}, ${id}, 1, '{1}'`);
  await add('delivery_attempts (day, delivery_id, generation, publisher_id, endpoint_id)', `${day}, ${id}, 1, 1, 1`);
  await add(
    'deliveries (day, id, publisher_id, endpoint_id, event, payload, status)',
    `${day}, ${id}, 1, 1, 'usp.selection', '', 'failed'`,
  );
  await add(
    `conversions (day, session_id, offer_id, event, txn_key, void, id, publisher_id, campaign_id, advertiser_id,
      payout_micros, currency, is_loyalty, loyalty_micros, click_at, booked_at)`,
    `${day}, ${id}, 1, 'sale', ${id}, false, ${id}, 1, 1, 1, 0, 'EUR', false, 0, now(), now()`,
  );
  await add(
    'perk_messages (id, publisher_id, session_id, user_key, state, created_at)',
    `${id}, 1, ${id}, ${id}, 'sent', now()`,
  );
  await database.upgrade();
});
afterAll(async () => {
  await database?.close();
  await folder?.remove();
});

/** Returns the tables that have a valid index on transactions, as a part of the index of the whole table. */
async function indexed(): Promise<string[]> {
  const { rows } = await database.client.query<{ name: string }>(
    `select x.indrelid::regclass::text as name from pg_index x
    join pg_attribute a on a.attrelid = x.indrelid and a.attname in ('written_by', 'wrapped_by', 'changed_by')
    where pg_get_indexdef(x.indexrelid) like '%xid8send(' || a.attname || ')%' and x.indisvalid
      and x.indrelid::regclass::text ~ $1
      and (x.indrelid = 'perk_messages'::regclass or exists (select from pg_inherits where inhrelid = x.indexrelid))`,
    [`^(perk_messages|(${tables.join('|')})_p\\d+)$`],
  );
  return rows.map(({ name }) => name).sort();
}

const ofDay = (suffix: string): string[] => tables.map((table) => `${table}_${suffix}`);

test('an upgrade builds no index of a large table, because writers would wait for it', async () => {
  const names = await indexed();
  expect(names).toEqual(expect.arrayContaining(ofDay(small)));
  for (const name of ['perk_messages', ...ofDay(large)]) expect(names).not.toContain(name);
});

test('a new partition has its index from the start', async () => {
  const { client } = database;
  await client.query('select create_day_partitions(current_date + 30, current_date + 30)');
  const { rows } = await client.query("select to_char(current_date + 30, 'YYYYMMDD') as day");
  expect(await indexed()).toEqual(expect.arrayContaining(ofDay(`p${rows[0].day}`)));
});

test('the first export of new rows builds all missing indexes, including one whose build was interrupted', async () => {
  const { client, url } = database;
  await exportAll({ databaseUrl: url }, folder.storage);
  expect(await indexed()).not.toContain('perk_messages');
  for (const index of ['perk_messages_changed_by', `deliveries_${large}_written_by`]) {
    const table = index.slice(0, index.lastIndexOf('_', index.lastIndexOf('_') - 1));
    const column = table === 'perk_messages' ? 'publisher_id' : 'endpoint_id';
    await expect(
      client.query(`create index concurrently ${index} on ${table} ((1 / (${column} - 1)))`),
    ).rejects.toThrow('division by zero');
  }
  await exportAll({ databaseUrl: url }, folder.storage);
  expect(await indexed()).toEqual(expect.arrayContaining(['perk_messages', ...ofDay(large), ...ofDay(small)]));
  const { rows } = await client.query('select indexrelid::regclass::text as name from pg_index where not indisvalid');
  expect(rows).toEqual([]);
});

test('an export of new rows never reads a whole table', async () => {
  const { client } = database;
  await client.query('set enable_seqscan = off');
  const transactions = { from: '100', until: '200', late: ['90'], open: ['150'] };
  for (const table of dataTables.filter(({ name }) => name !== 'erasures')) {
    const [, query] = /^copy \((.*)\) to stdout/s.exec(copySql(table, transactions)) as RegExpExecArray;
    const { rows } = await client.query<{ 'QUERY PLAN': string }>(`explain ${query}`);
    expect(rows.map((row) => row['QUERY PLAN']).join('\n'), table.name).not.toContain('Seq Scan');
  }
});

test('a running query only delays attaching the index of its partition to the index of the whole table', async () => {
  const { client, url } = database;
  const definition = 'using brin (xid8send(written_by))';
  await client.query('drop index deliveries_written_by');
  await client.query(`create index deliveries_written_by on only deliveries ${definition}`);
  await client.query(`create index deliveries_${large}_written_by on deliveries_${large} ${definition}`);
  const builder = new Connection({ server: url });
  await builder.connect();
  await client.query('begin');
  await client.query(`select count(*) from deliveries_${large}`);
  await buildIndexes(builder, () => false);
  expect(await indexed()).toContain(`deliveries_${small}`);
  expect(await indexed()).not.toContain(`deliveries_${large}`);
  await client.query('commit');
  await buildIndexes(builder, () => false);
  expect(await indexed()).toContain(`deliveries_${large}`);
  await builder.end();
});
