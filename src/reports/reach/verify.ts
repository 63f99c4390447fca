import type pg from 'pg';
import { type Executor, readSlices } from '../../platform/db/pool.ts';
import {
  addPending,
  addToAllMasks,
  type Change,
  type Changes,
  changeOf,
  type PendingRow,
  pendingColumns,
  type SketchKey,
} from './compact.ts';
import { mergeEncoded, type Sketch, usersOf } from './sketch.ts';

/** Sketch that differs from the raw rows. */
type Difference = { rollup: string; differences: string[] };

/** Maximum number of differences to return. */
const maxDifferences = 100;

const inDays = `bucket >= greatest($1::date::timestamp at time zone 'UTC', (select reach_from from rollup_progress))
  and bucket < ($2::date + 1)::timestamp at time zone 'UTC'`;

type StoredRow = SketchKey & Record<'known' | 'unknown', string> & { campaign_id: number; sketch: Buffer };

/**
 * Compares the sketches of a range of UTC days with sketches computed from the raw rows. Two sketches are equal if,
 * below the lower of their limits, they contain the same users with the same impressions.
 * @param eventsSql common table expressions with the events of the days as `zoned_events`
 */
export async function verifyReach(
  client: pg.ClientBase,
  eventsSql: string,
  days: readonly [from: string, to: string],
): Promise<{ compared: number; differences: Difference[] }> {
  const executor = client as Executor;
  const [stored, computed]: [Changes, Changes] = [new Map(), new Map()];
  const [pending, counted]: [Changes, Changes] = [new Map(), new Map()];
  await readEach<StoredRow>(executor, `select * from reach_sketches where ${inDays}`, days, (row) => {
    const change = changeOf(stored, keyOfRow(row), row.campaign_id);
    change.impressions = Number(row.known);
    change.unknown = Number(row.unknown);
    mergeEncoded(change.users, row.sketch);
  });
  const pendingSql = `select ${pendingColumns} from reach_pending where ${inDays} order by publisher_id, id`;
  await readEach<PendingRow>(executor, pendingSql, days, (row) => addPending(pending, row));
  const events = `
with ${eventsSql}
select * from (
  select publisher_id, date_trunc('day', at, zone) as bucket, placement, offer_id, campaign_id, country, device, os,
    1 as weight, coalesce(users, '{}')::text[] as users, occurrences - coalesce(cardinality(users), 0) as unknown
  from zoned_events where kind = 'impression'
) as impressions where ${inDays}`;
  await readEach<PendingRow>(executor, events, days, (row) => addPending(counted, row));
  addToAllMasks(stored, pending);
  addToAllMasks(computed, counted);

  const names = new Set([...stored.keys(), ...computed.keys()]);
  const differences = [...names].flatMap((name) => differenceOf(stored.get(name), computed.get(name)));
  return { compared: names.size, differences: differences.slice(0, maxDifferences) };
}

async function readEach<Row extends object>(
  executor: Executor,
  text: string,
  values: readonly string[],
  read: (row: Row) => void,
): Promise<void> {
  for await (const rows of readSlices<Row>(executor, text, [...values])) for (const row of rows) read(row);
}

const keyOfRow = ({ publisher_id, grain, bucket, placement, offer_id, country, device, os }: StoredRow): SketchKey => ({
  publisher_id,
  grain,
  bucket,
  placement,
  offer_id,
  country,
  device,
  os,
});

function differenceOf(stored: Change | undefined, computed: Change | undefined): Difference[] {
  const { key } = (stored ?? computed) as Change;
  const differences = (['impressions', 'unknown'] as const).flatMap((name) => {
    const [a, b] = [stored?.[name] ?? 0, computed?.[name] ?? 0];
    return a === b ? [] : [`${name}: ${a} → ${b}`];
  });
  const wrongUsers = wrongUsersOf(stored?.users, computed?.users);
  if (wrongUsers > 0) differences.push(`users: ${wrongUsers} differ`);
  if (differences.length === 0) return [];
  const { bucket, ...others } = key;
  const texts = Object.entries({ ...others, bucket: bucket.toISOString() }).map(([name, value]) => `${name}=${value}`);
  return [{ rollup: `reach ${texts.join(' ')}`, differences }];
}

/** Returns the number of users below both limits that one sketch lacks or for whom the impressions differ. */
function wrongUsersOf(stored: Sketch | undefined, computed: Sketch | undefined): number {
  const [a, b] = [stored, computed].map((sketch) => sketch && usersOf(sketch));
  const limit = Math.min(stored?.limit ?? Number.POSITIVE_INFINITY, computed?.limit ?? Number.POSITIVE_INFINITY);
  const hashes = new Set([...(a?.keys() ?? []), ...(b?.keys() ?? [])]);
  return [...hashes].filter((hash) => hash < limit && a?.get(hash) !== b?.get(hash)).length;
}
