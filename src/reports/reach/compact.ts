import type pg from 'pg';
import { bigints, byteas, integers, smallints, texts, timestamps } from '../../platform/db/binary-array.ts';
import { type Executor, transaction } from '../../platform/db/pool.ts';
import { getOrInsert } from '../../platform/lib/get-or-insert.ts';
import { dayBit, dimensionBits } from '../rollup/grains.ts';
import {
  addImpressions,
  countUsers,
  createPauses,
  createSketch,
  encodeSketch,
  hashOfKey,
  mergeEncoded,
  mergeSketch,
  type Sketch,
} from './sketch.ts';

/**
 * Dimensions of the stored sketches, as bits of `rollups.grain`. Other combinations are merged from the sketches with
 * all dimensions, because a sketch for each combination would double the cost.
 */
export const sketchMasks: readonly number[] = [0, 1, 2, 3, 4, 8, 15];
const allDimensions = 15;

/** Maximum numbers of pending rows and users per transaction, to keep transactions short. */
const [maxRows, maxPendingUsers] = [10_000, 20_000];

/** Day and dimensions of a sketch. Dimensions that the sketch does not have are empty or 0. */
export type SketchKey = {
  publisher_id: number;
  grain: number;
  bucket: Date;
  placement: string;
  offer_id: number;
  country: string;
  device: string;
  os: string;
};

/** Row of `reach_pending`. */
export type PendingRow = Omit<SketchKey, 'grain'> & {
  campaign_id: number;
  weight: number;
  users: string[];
  unknown: string;
};

/** SQL for the columns of a `PendingRow`. */
export const pendingColumns = `publisher_id, bucket, placement, offer_id, campaign_id, country, device, os, weight,
  users::text[] as users, unknown`;

/** Changes of a row of `reach_sketches`. */
export type Change = {
  key: SketchKey;
  campaignId: number;
  /** Impressions of known users. */
  impressions: number;
  /** Impressions of unknown users. */
  unknown: number;
  users: Sketch;
};

/** Changes of sketches, by their key as text. */
export type Changes = Map<string, Change>;

const lockKey = "hashtext('perkwire_reach')";

/**
 * Moves pending users to the sketches, each exactly once: rows are deleted and counted in the same transaction. Only
 * one process does this at a time.
 * @param isStopped checked before each transaction
 */
export async function compactReach(pool: pg.Pool, isStopped: () => boolean = () => false): Promise<void> {
  while (!isStopped()) if (!(await transaction(pool, compactSome))) return;
}

/** @returns whether there may be more pending rows */
async function compactSome(executor: Executor): Promise<boolean> {
  const { rows: locks } = await executor.query<{ locked: boolean }>(
    `select pg_try_advisory_xact_lock(${lockKey}) as locked`,
  );
  if (locks[0]?.locked !== true) return false;
  const { rows } = await executor.query<PendingRow>({
    name: 'take_pending_users',
    text: `delete from reach_pending where (publisher_id, id) in (
        select publisher_id, id from (
          select publisher_id, id,
            sum(cardinality(users)) over (order by publisher_id, id) - cardinality(users) as before
          from (select * from reach_pending order by publisher_id, id limit ${maxRows}) as first
        ) as summed where before < ${maxPendingUsers}
      ) returning ${pendingColumns}`,
  });
  const pending: Changes = new Map();
  for (const row of rows) addPending(pending, row);
  const changes: Changes = new Map();
  addToAllMasks(changes, pending);
  if (rows.length > 0) await applyChanges(executor, [...changes.values()]);
  return rows.length > 0;
}

/** Adds the users of a pending row to the changes of the sketch with all dimensions. */
export function addPending(changes: Changes, row: PendingRow): void {
  const hashes = row.users.map(hashOfKey);
  const { campaign_id: campaignId, weight } = row;
  const change = changeOf(changes, keyOf(row, allDimensions), campaignId);
  change.impressions += weight * hashes.length;
  change.unknown += Number(row.unknown);
  for (const hash of hashes) addImpressions(change.users, hash, weight);
}

/** Adds the changes of sketches with all dimensions to the sketches of every stored combination of dimensions. */
export function addToAllMasks(changes: Changes, added: Changes): void {
  for (const { key, campaignId, impressions, unknown, users } of added.values())
    for (const mask of sketchMasks) {
      const change = changeOf(changes, keyOf(key, mask), mask & dimensionBits.campaign ? campaignId : 0);
      change.impressions += impressions;
      change.unknown += unknown;
      mergeSketch(change.users, users);
    }
}

/** Returns the pending changes to a sketch. Creates an empty set of changes if none is pending. */
export const changeOf = (changes: Changes, key: SketchKey, campaignId: number): Change =>
  getOrInsert(changes, textOf(key), () => ({ key, campaignId, impressions: 0, unknown: 0, users: createSketch() }));

const textOf = (key: SketchKey): string => Object.values({ ...key, bucket: key.bucket.getTime() }).join('\0');

const keyOf = (row: Omit<SketchKey, 'grain'>, mask: number): SketchKey => ({
  publisher_id: row.publisher_id,
  grain: mask | dayBit,
  bucket: row.bucket,
  placement: mask & 1 ? row.placement : '',
  offer_id: mask & 2 ? row.offer_id : 0,
  country: mask & 4 ? row.country : '',
  device: mask & 8 ? row.device : '',
  os: mask & 8 ? row.os : '',
});

const keyColumns = 'publisher_id, grain, bucket, placement, offer_id, country, device, os';

const keysSql = `unnest($1::integer[], $2::smallint[], $3::timestamptz[], $4::text[], $5::integer[], $6::text[],
  $7::text[], $8::text[])`;

const keyValues = (changes: readonly Change[]): unknown[] => [
  integers(changes, ({ key }) => key.publisher_id),
  smallints(changes, ({ key }) => key.grain),
  timestamps(changes, ({ key }) => key.bucket.getTime()),
  texts(changes, ({ key }) => key.placement),
  integers(changes, ({ key }) => key.offer_id),
  texts(changes, ({ key }) => key.country),
  texts(changes, ({ key }) => key.device),
  texts(changes, ({ key }) => key.os),
];

/** Creates the missing partitions of the buckets. */
const partitionsSql = `
select pg_advisory_xact_lock(hashtext('perkwire_partitions')), create_partition('reach_sketches', month::date,
  month::text, (month + interval '1 month')::text)
from (
  select distinct date_trunc('month', bucket, 'UTC') as month from unnest($1::timestamptz[]) as bucket
) as months
where to_regclass('reach_sketches_p' || to_char(month at time zone 'UTC', 'YYYYMMDD')) is null`;

async function applyChanges(executor: Executor, changes: readonly Change[]): Promise<void> {
  await executor.query("set local timezone = 'UTC'");
  await executor.query(partitionsSql, [timestamps(changes, ({ key }) => key.bucket.getTime())]);
  const { rows } = await executor.query<{ position: string; impressions: string; unknown: string; sketch: Buffer }>(
    `select position, kept.known as impressions, kept.unknown, kept.sketch
    from ${keysSql} with ordinality as changed (${keyColumns}, position)
    join reach_sketches kept using (${keyColumns})`,
    keyValues(changes),
  );
  const pause = createPauses();
  for (const { position, impressions, unknown, sketch } of rows) {
    const change = changes[Number(position) - 1] as Change;
    change.impressions += Number(impressions);
    change.unknown += Number(unknown);
    mergeEncoded(change.users, sketch);
    await pause(sketch.length);
  }
  const sketches: Buffer[] = [];
  for (const { users } of changes) {
    const sketch = encodeSketch(users);
    sketches.push(sketch);
    await pause(sketch.length);
  }
  await executor.query(
    `insert into reach_sketches (${keyColumns}, campaign_id, known, unknown, users, sketch)
    select ${keyColumns}, campaign_id, known, unknown, users, sketch
    from unnest($1::integer[], $2::smallint[], $3::timestamptz[], $4::text[], $5::integer[], $6::text[], $7::text[],
      $8::text[], $9::integer[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bytea[])
      as changed (${keyColumns}, campaign_id, known, unknown, users, sketch)
    on conflict (${keyColumns}) do update
    set known = excluded.known, unknown = excluded.unknown, users = excluded.users, sketch = excluded.sketch`,
    [
      ...keyValues(changes),
      integers(changes, ({ campaignId }) => campaignId),
      bigints(changes, ({ impressions }) => impressions),
      bigints(changes, ({ unknown }) => unknown),
      bigints(changes, ({ users }) => countUsers(users)),
      byteas(sketches, (sketch) => sketch),
    ],
  );
}
