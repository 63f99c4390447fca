import type pg from 'pg';
import { bigints, integers, uuids } from '../../platform/db/binary-array.ts';
import { type Executor, transaction } from '../../platform/db/pool.ts';
import { getOrInsert } from '../../platform/lib/get-or-insert.ts';
import { newUuid7 } from '../../platform/lib/uuid7.ts';
import type { LimitedTotal } from '../caps.ts';
import type { Lease, Reservation, SliceRef } from '../reservations/reservations.ts';
import {
  addUsage,
  allocationDeltas,
  type CampaignUsage,
  deltasOf,
  fieldOf,
  limitOf,
  toUsage,
  type UsageRow,
} from '../usage/usage.ts';

/*
 * Slices of campaign totals, leased by processes. The amount that a slice holds is added to `campaign_usage` as soon as
 * the slice is leased, so the recorded usage never exceeds the limit. The actual usage is the recorded usage minus all
 * slices (docs/adr/0012-slices-of-totals.md). Slices that are leased together are stored in one row, because a batch of
 * fetches takes from most of them. Lock order: users, leases by ID, totals by key.
 */

/**
 * Lease duration of a slice, in seconds by the database clock. A slice that has not been returned by then is released.
 */
const sliceLeaseS = 30;

/**
 * Final share of a cap that is never leased in slices. Reservations from this share are added to the campaign's usage
 * row.
 */
const exactShare = 0.01;

/** Maximum share of the leasable remainder that one slice can take, so that slices become smaller towards the limit. */
const remainderShare = 0.25;

/** Share of the leasable remainder up to which a slice is larger than needed near a limit. */
const farShare = 0.001;

/** Remaining amounts of a slice. An amount that has no cap may be overdrawn and become negative. */
export type SliceAmounts = { impressions: number; micros: number };

type SliceOfTotal = SliceAmounts & {
  campaignId: number;
  /** Publisher at which the campaign total is counted, or null for the total across all publishers. */
  publisherId: number | null;
  periods: readonly string[];
};

export type SliceRow = SliceRef & SliceOfTotal;

/**
 * Slice to lease: at most `requestedAmounts`, or `nearLimit` if that is a large part of what a limit leaves. The
 * request is refused if a limit leaves less than `least`.
 */
export type WantedSlice = {
  total: LimitedTotal;
  periods: readonly string[];
  requestedAmounts: SliceAmounts;
  nearLimit: SliceAmounts;
  least: SliceAmounts;
};

/** Leased slices in the order of their requests, null if refused, and the usage after leasing them. */
export type LeasedSlices = { slices: (SliceRow | null)[]; used: CampaignUsage[] };

/** Leases slices of campaign totals in one transaction. Slices are smaller if little is left. */
export const leaseSlices = (pool: pg.Pool, requests: readonly WantedSlice[], nowMs: number): Promise<LeasedSlices> =>
  transaction(pool, async (executor) => {
    const requestedDeltas = requests.flatMap(({ total, periods, requestedAmounts: amounts }) =>
      deltasOf(total, periods, amounts),
    );
    const reached = await addUsage(executor, requestedDeltas);
    const fitted = requests.map((request) => fitSlice(request, reached));
    const surplus = requests.flatMap(({ total, periods, requestedAmounts: amounts }, index) => {
      const slice = fitted[index];
      return deltasOf(total, periods, {
        impressions: (slice?.impressions ?? 0) - amounts.impressions,
        micros: (slice?.micros ?? 0) - amounts.micros,
      });
    });
    const trimmed = await addUsage(executor, surplus);
    const slices = toLeases(fitted, nowMs);
    await insertLeases(executor, slices);
    return { slices, used: [...reached, ...trimmed] };
  });

/** Maximum number of slices in a lease. Its row then takes up a third of a page. */
const maxLeaseSize = 100;

/** Distributes slices over leases. */
function toLeases(fitted: readonly (SliceOfTotal | null)[], nowMs: number): (SliceRow | null)[] {
  const openLeases = new Map<string, Lease>();
  return fitted.map((slice) => {
    if (slice === null) return null;
    const key = slice.periods.join();
    let lease = openLeases.get(key);
    if (lease === undefined || lease.size === maxLeaseSize) {
      lease = { id: newUuid7(nowMs), size: 0 };
      openLeases.set(key, lease);
    }
    return { lease, slot: lease.size++, ...slice };
  });
}

/**
 * Reduces a requested slice to the available amounts, or returns null if the request is refused.
 * @param reached usage including all requested slices
 */
function fitSlice(
  { total, periods, requestedAmounts, nearLimit, least }: WantedSlice,
  reached: readonly CampaignUsage[],
): SliceOfTotal | null {
  const { impressions, micros } = requestedAmounts;
  const amounts: SliceAmounts = { impressions, micros };
  for (const cap of total.caps) {
    const field = fieldOf(cap.metric);
    // Skip own events: nothing is reserved for them, and they are counted in separate periods.
    if (field === 'ownEvents') continue;
    const period = periods.find((name) => name.split(' ')[0] === cap.per);
    const after = reached.find(
      (used) =>
        used.campaignId === total.campaignId && used.publisherId === total.publisherId && used.period === period,
    );
    const before = (after?.[field] ?? 0) - (field === 'clicks' ? 0 : requestedAmounts[field]);
    const open = limitOf(cap) * (1 - exactShare) - before;
    if (open <= 0) return null;
    if (field === 'clicks') continue;
    const most = Math.max(nearLimit[field], Math.floor(open * farShare));
    amounts[field] = Math.min(amounts[field], most, Math.floor(open * remainderShare));
    if (amounts[field] < least[field]) return null;
  }
  return { campaignId: total.campaignId, publisherId: total.publisherId, periods, ...amounts };
}

const insertSql = `
insert into cap_leases (id, expires_at, periods, campaign_ids, publisher_ids, impressions, micros)
values ($1, now() + interval '${sliceLeaseS} seconds', $2, $3, $4, $5, $6)`;

async function insertLeases(executor: Executor, slices: readonly (SliceRow | null)[]): Promise<void> {
  const byLease = new Map<Lease, SliceRow[]>();
  for (const slice of slices) if (slice !== null) getOrInsert(byLease, slice.lease, () => []).push(slice);
  for (const [{ id }, ofLease] of byLease) {
    const values = [
      id,
      ofLease[0]?.periods,
      integers(ofLease, ({ campaignId }) => campaignId),
      integers(ofLease, ({ publisherId }) => publisherId ?? 0),
      bigints(ofLease, ({ impressions }) => impressions),
      bigints(ofLease, ({ micros }) => micros),
    ];
    await executor.query({ name: 'insert_lease', text: insertSql, values });
  }
}

/**
 * Gives back leased slices: subtracts their remainders from the usage of the campaign totals.
 * @returns the resulting usage
 */
export const returnSlices = (pool: pg.Pool, returning: readonly SliceRef[]): Promise<CampaignUsage[]> =>
  transaction(pool, async (executor) => {
    const slotsByLease = new Map<string, Set<number>>();
    for (const { lease, slot } of returning) getOrInsert(slotsByLease, lease.id, () => new Set<number>()).add(slot);
    const { rows } = await executor.query<StoredLease>({
      name: 'lock_leases',
      text: 'select * from cap_leases where id = any($1::uuid[]) order by id for update',
      values: [uuids([...slotsByLease.keys()], (id) => id)],
    });
    const returned: SliceOfTotal[] = [];
    const ended: string[] = [];
    for (const row of rows) {
      const slots = slotsByLease.get(row.id);
      const slices = readSlices(row);
      const remaining = slices.map((slice, slot) => (slots?.has(slot) === true ? null : slice));
      returned.push(...slices.flatMap((slice, slot) => (remaining[slot] === null ? (slice ?? []) : [])));
      if (remaining.every((slice) => slice === null)) ended.push(row.id);
      else
        await executor.query({
          name: 'shrink_lease',
          text: 'update cap_leases set impressions = $2, micros = $3 where id = $1',
          values: [
            row.id,
            bigints(remaining, (slice) => slice?.impressions ?? null),
            bigints(remaining, (slice) => slice?.micros ?? null),
          ],
        });
    }
    if (ended.length > 0)
      await executor.query({
        name: 'end_leases',
        text: 'delete from cap_leases where id = any($1::uuid[])',
        values: [uuids(ended, (id) => id)],
      });
    return addUsage(
      executor,
      returned.flatMap((slice) => allocationDeltas(slice, -1)),
    );
  });

/** Maximum number of expired leases, or slices of the previous release, that are returned in one transaction. */
const maxExpired = 100;

/** Selects the expired rows of a table. */
const expiredSql = (table: string): string => `
with due as (
  select id from ${table} where expires_at <= now() order by id limit ${maxExpired} for update skip locked
)
delete from ${table} expired using due where expired.id = due.id returning expired.*`;

/** Gives back expired slices that processes leased but did not return before they ended. */
export const releaseExpiredSlices = (pool: pg.Pool): Promise<void> =>
  transaction(pool, async (executor) => {
    const leases = await executor.query<StoredLease>(expiredSql('cap_leases'));
    const slices = await executor.query<StoredSlice>(expiredSql('cap_slices'));
    const returned = [
      ...leases.rows.flatMap(readSlices).filter((slice) => slice !== null),
      ...slices.rows.map(readSliceOfPreviousRelease),
    ];
    await addUsage(
      executor,
      returned.flatMap((slice) => allocationDeltas(slice, -1)),
    );
  });

const trueUsageSql = `
select used.*, used.impressions - coalesce(held.impressions, 0) as impressions,
  used.micros - coalesce(held.micros, 0) as micros
from campaign_usage used
left join (
  select campaign_id, publisher_id, period, sum(impressions)::bigint as impressions, sum(micros)::bigint as micros
  from (
    select slice.*, lease.periods
    from cap_leases lease
    cross join unnest(lease.campaign_ids, lease.publisher_ids, lease.impressions, lease.micros)
      as slice (campaign_id, publisher_id, impressions, micros)
    union all
    select campaign_id, publisher_id, impressions, micros, periods from cap_slices
  ) slice cross join unnest(periods) as period group by campaign_id, publisher_id, period
) held using (campaign_id, publisher_id, period)
where period = any($1::text[]) and ($2::integer[] is null or campaign_id = any($2))`;

/**
 * Loads the actual usage in the given periods, excluding slices leased by processes. A null `campaignIds` means all
 * campaigns.
 */
export async function loadTrueUsage(
  executor: Executor,
  periods: readonly string[],
  campaignIds: readonly number[] | null = null,
): Promise<CampaignUsage[]> {
  const { rows } = await executor.query<UsageRow>({
    name: 'load_true_usage',
    text: trueUsageSql,
    values: [periods, campaignIds],
  });
  return rows.map(toUsage);
}

/**
 * Returns SQL for common table expressions that subtract amounts from leases. If one of the slices no longer exists,
 * nothing is subtracted. The rows are locked in ID order, which avoids deadlocks.
 * @param first number of the first of five parameters (`spentValues`)
 */
export const spendSql = (first: number): string => `
taken as (
  select id, ($${first + 3}::bigint[])[first_slot:last_slot] as impressions,
    ($${first + 4}::bigint[])[first_slot:last_slot] as micros
  from unnest($${first}::uuid[], $${first + 1}::integer[], $${first + 2}::integer[])
    as lease (id, first_slot, last_slot)
), held as (
  select lease.id, not exists (
    select from unnest(lease.impressions, taken.impressions) as slice (remaining, amount)
    where remaining is null and amount is not null
  ) as is_complete
  from cap_leases lease join taken on taken.id = lease.id order by lease.id for update of lease
), spent as (
  update cap_leases lease set
    impressions = ${remainderSql('impressions')},
    micros = ${remainderSql('micros')}
  from taken where lease.id = taken.id and ${allHeldSql(first)}
  returning lease.id
)`;

const remainderSql = (column: string): string => `array(
      select remaining - coalesce(amount, 0)
      from unnest(lease.${column}, taken.${column}) with ordinality as slice (remaining, amount, slot) order by slot
    )`;

/** Returns the SQL condition that all slices from which `spendSql` subtracts still exist. */
export const allHeldSql = (first: number): string =>
  `(select count(*) from held where is_complete) = cardinality($${first}::uuid[])`;

/** Amounts that a batch of fetches takes from the slices of a lease. Null means that the slice was not used. */
type SpentLease = { id: string; impressions: (number | null)[]; micros: (number | null)[] };

/** Adds up reservations by the leases that granted them. */
export function spentLeases(reservations: readonly Reservation[]): SpentLease[] {
  const spent = new Map<Lease, SpentLease>();
  for (const { slice, impressions, micros } of reservations) {
    if (slice === null) continue;
    const { lease, slot } = slice;
    let sums = spent.get(lease);
    if (sums === undefined) {
      const unused = (): null[] => Array<null>(lease.size).fill(null);
      sums = { id: lease.id, impressions: unused(), micros: unused() };
      spent.set(lease, sums);
    }
    sums.impressions[slot] = (sums.impressions[slot] ?? 0) + impressions;
    sums.micros[slot] = (sums.micros[slot] ?? 0) + micros;
  }
  return [...spent.values()];
}

/** Returns the parameters of `spendSql`. */
export function spentValues(spent: readonly SpentLease[]): Buffer[] {
  let slots = 0;
  const ranges = spent.map(({ impressions: { length } }) => {
    slots += length;
    return { first: slots - length + 1, last: slots };
  });
  const amounts = (key: 'impressions' | 'micros'): Buffer =>
    bigints(
      spent.flatMap((lease) => lease[key]),
      (amount) => amount,
    );
  return [
    uuids(spent, ({ id }) => id),
    integers(ranges, ({ first }) => first),
    integers(ranges, ({ last }) => last),
    amounts('impressions'),
    amounts('micros'),
  ];
}

/**
 * Subtracts reservations from the slices that granted them. Must run in the transaction that stores the reservations.
 * @returns whether all of these slices still exist; if not, nothing is subtracted
 */
export async function spendSlices(executor: Executor, granted: readonly Reservation[]): Promise<boolean> {
  const spent = spentLeases(granted);
  if (spent.length === 0) return true;
  const text = `with ${spendSql(1)} select id from spent`;
  const { rowCount } = await executor.query({ name: 'spend_slices', text, values: spentValues(spent) });
  return rowCount === spent.length;
}

type StoredLease = {
  id: string;
  periods: string[];
  campaign_ids: number[];
  publisher_ids: number[];
  impressions: (string | null)[];
  micros: (string | null)[];
};

/** Returns the slices of a lease. A slice is null if it has been returned. */
const readSlices = ({ periods, ...lease }: StoredLease): (SliceOfTotal | null)[] =>
  lease.impressions.map((impressions, slot) =>
    impressions === null
      ? null
      : {
          campaignId: lease.campaign_ids[slot] as number,
          publisherId: lease.publisher_ids[slot] || null,
          periods,
          impressions: Number(impressions),
          micros: Number(lease.micros[slot]),
        },
  );

type StoredSlice = {
  campaign_id: number;
  publisher_id: number;
  periods: string[];
  impressions: string;
  micros: string;
};

const readSliceOfPreviousRelease = (row: StoredSlice): SliceOfTotal => ({
  campaignId: row.campaign_id,
  publisherId: row.publisher_id || null,
  periods: row.periods,
  impressions: Number(row.impressions),
  micros: Number(row.micros),
});
