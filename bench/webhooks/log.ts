import type pg from 'pg';
import { startServerProcess } from '../../test/support/server-process.ts';
import { createPublisher } from '../catalogue.ts';
import type { Stage } from './endpoints.ts';
import { percentiles } from './percentiles.ts';
import { tableOf } from './report.ts';

export type LogResult = { filter: string; matches: number; p50Ms: number; p95Ms: number };

const key = 'bench-log';
const days = 30;
const calls = 25;
const limitMs = 50;

/**
 * Measures the duration of the first page of the delivery log over HTTP, for every filter, with `rows` deliveries in 30
 * partitions. The first call of each filter is excluded.
 */
export async function benchLog(stage: Stage, rows: number): Promise<LogResult[]> {
  const publisherId = await seedLog(stage.pool, rows);
  return measureLog(stage, publisherId);
}

/** Formats the slowest filters and the number of slow filters. */
export function logTable(results: readonly LogResult[]): string {
  const slowest = results.toSorted((a, b) => b.p95Ms - a.p95Ms).slice(0, 12);
  const slow = results.filter(({ p95Ms }) => p95Ms > limitMs).length;
  const rows = slowest.map(({ filter, matches, p50Ms, p95Ms }) => [
    filter === '' ? 'none' : `\`${filter}\``,
    String(matches),
    p50Ms.toFixed(1),
    p95Ms.toFixed(1),
  ]);
  const summary = `${slow} of ${results.length} filters over ${limitMs} ms (p95).`;
  return `${tableOf(['filter', 'found', 'p50 ms', 'p95 ms'], rows)}\n\n${summary}`;
}

/**
 * Seeds the log. Two thirds of the rows belong to one publisher with four endpoints, which have many, some, few and no
 * recent failures. Indexes are created after the rows, which is faster.
 */
async function seedLog(pool: pg.Pool, rows: number): Promise<number> {
  const publisherId = await prepareLog(pool);
  const indexes = await dropIndexes(pool);
  for (let day = 0; day < days; day++) await seedDay(pool, publisherId, day, Math.round(rows / days));
  for (const index of indexes) await pool.query(index);
  await finishLog(pool, publisherId);
  return publisherId;
}

async function prepareLog(pool: pg.Pool): Promise<number> {
  await pool.query('select create_day_partitions(current_date - $1::int, current_date + 1)', [days]);
  const publisherId = await createPublisher(pool, { key, campaigns: 10 });
  await pool.query(
    `insert into publishers (name, sdk_id) select 'other', lpad(to_hex(n), 16, 'a') from generate_series(1, 50) n;
    insert into webhook_endpoints (publisher_id, event, url, method, secret_sealed)
      select p.id, event, 'http://127.0.0.1:9/', 'POST', '\\x00' from publishers p
      cross join unnest(array['usp.selection', 'offer_saved', 'offer_removed', 'conversion']) event
      where not exists (select from webhook_endpoints e where e.publisher_id = p.id)`,
  );
  return publisherId;
}

async function dropIndexes(pool: pg.Pool): Promise<string[]> {
  const { rows } = await pool.query<{ name: string; definition: string }>(
    `select indexname as name, replace(indexdef, ' ON ONLY ', ' ON ') as definition from pg_indexes
    where tablename = 'deliveries' and indexname <> 'deliveries_pkey'`,
  );
  for (const { name } of rows) await pool.query(`drop index ${name}`);
  return rows.map(({ definition }) => definition);
}

/**
 * Seeds one day. Only the oldest days have failed or held deliveries. 1% of the deliveries belong to the user `often`.
 */
async function seedDay(pool: pg.Pool, publisherId: number, day: number, rows: number): Promise<void> {
  await pool.query(
    `with made as (
      select n, current_date - $2::int - 1 as day,
        (current_date - $2::int - 1)::timestamp at time zone 'UTC' + n * interval '1 day' / ($3 + 1) as at,
        case when n % 3 < 2 then $1::int else $1 + 1 + n % 50 end as publisher_id,
        case
          when n % 20 < 12 then 'usp.selection'
          when n % 20 < 18 then 'offer_saved'
          when n % 1000 < 999 then 'conversion'
          else 'offer_removed'
        end as event
      from generate_series(1, $3::int) n
    )
    insert into deliveries (
      day, id, publisher_id, endpoint_id, event, session_id, pub_user_id, payload, status, attempts, created_at,
      finished_at
    )
    select m.day,
      (
        lpad(to_hex((extract(epoch from m.at) * 1000)::bigint), 12, '0')
          || '7' || substr(h, 1, 3) || '8' || substr(h, 5, 15)
      )::uuid,
      m.publisher_id, e.id, m.event, h::uuid,
      case when n % 100 = 0 then 'often' else 'user-' || n % 1000000 end, '\\x7b7d',
      case
        when $2::int > 27 and n % 500 = 0 then 'failed'
        when $2::int = 29 and n % 501 = 0 then 'held'
        else 'delivered'
      end, 1, m.at, m.at
    from made m
    cross join lateral (
      select overlay(overlay(md5($2::int || '.' || n) placing '7' from 13) placing '8' from 17) as h
    ) h
    join webhook_endpoints e on e.publisher_id = m.publisher_id and e.event = m.event`,
    [publisherId, day, rows],
  );
}

/** Adds 100,000 pending deliveries, most of them for one endpoint. */
async function finishLog(pool: pg.Pool, publisherId: number): Promise<void> {
  await pool.query(
    `with waiting as (
      update deliveries set status = 'pending', finished_at = null, attempts = 0
      where (day, id) in (
        select day, id from deliveries
        where publisher_id = $1 and day >= current_date - 1
        order by day desc, id desc limit 100000
      )
      returning day, id, endpoint_id, created_at
    )
    insert into delivery_queue (delivery_id, day, endpoint_id, due_at)
    select id, day, endpoint_id, created_at + interval '1 year' from waiting`,
    [publisherId],
  );
  for (const table of ['deliveries', 'delivery_queue', 'delivery_attempts', 'webhook_endpoints'])
    await pool.query(`vacuum (analyze) ${table}`);
}

async function measureLog(
  { pool, databaseUrl }: Pick<Stage, 'pool' | 'databaseUrl'>,
  publisherId: number,
): Promise<LogResult[]> {
  const server = await startServerProcess({ databaseUrl, env: { ROLES: 'api', LOG_LEVEL: 'error' } });
  try {
    const results: LogResult[] = [];
    for (const filter of await filtersOf(pool, publisherId)) results.push(await measure(server.url, filter));
    return results;
  } finally {
    await server.stop();
  }
}

async function measure(origin: string, filter: string): Promise<LogResult> {
  const times: number[] = [];
  let rowCount = 0;
  for (let call = -1; call < calls; call++) {
    const startMs = performance.now();
    const answer = await fetch(`${origin}/manage/v1/deliveries?${filter}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    const { data } = (await answer.json()) as { data: { deliveries: unknown[] } };
    if (call >= 0) times.push(performance.now() - startMs);
    if (answer.status !== 200) throw new Error(`${filter} answered ${answer.status}`);
    rowCount = data.deliveries.length;
  }
  const { p50Ms, p95Ms } = percentiles(times);
  return { filter, matches: rowCount, p50Ms, p95Ms };
}

/** Returns single filters, pairs of filters, and filters with values that nothing matches. */
async function filtersOf(pool: pg.Pool, publisherId: number): Promise<string[]> {
  const { rows: endpoints } = await pool.query<{ id: number; event: string }>(
    'select id, event from webhook_endpoints where publisher_id = $1',
    [publisherId],
  );
  const { rows: sessions } = await pool.query<{ session_id: string }>(
    'select session_id from deliveries where publisher_id = $1 and day = current_date - 20 limit 1',
    [publisherId],
  );
  const { rows: foreign } = await pool.query<{ session_id: string }>(
    'select session_id from deliveries where publisher_id <> $1 and day = current_date - 20 limit 1',
    [publisherId],
  );
  const endpointOf = (event: string): string =>
    `endpoint=${endpoints.find((endpoint) => endpoint.event === event)?.id}`;
  const dayText = (ago: number): string => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);
  const places = [
    'event=usp.selection',
    'event=offer_removed',
    endpointOf('conversion'),
    endpointOf('offer_removed'),
    'endpoint=999999',
  ];
  const states = ['delivered', 'failed', 'held', 'pending'].map((status) => `status=${status}`);
  const times = [`from=${dayText(15)}&to=${dayText(14)}`, `to=${dayText(25)}`, 'from=2020-01-01&to=2020-02-01'];
  const users = ['pub_user_id=often', 'pub_user_id=user-7', 'pub_user_id=unknown'];
  const whos = [
    ...users,
    `session_id=${sessions[0]?.session_id}`,
    `session_id=${foreign[0]?.session_id}`,
    'session_id=0197a000-0000-7000-8000-000000000001',
  ];
  const groups = [places, states, times, whos];
  const pairs = groups.flatMap((group, index) =>
    groups.slice(index + 1).flatMap((other) => group.flatMap((a) => other.map((b) => `${a}&${b}`))),
  );
  const triples = states.flatMap((state) =>
    times.flatMap((time) => ['pub_user_id=often', 'event=offer_removed'].map((filter) => `${filter}&${state}&${time}`)),
  );
  return ['', 'limit=200', ...groups.flat(), ...pairs, ...triples];
}
