import type pg from 'pg';
import { bigints, integers, texts, uuids } from '../../platform/db/binary-array.ts';
import { type Executor, transaction } from '../../platform/db/pool.ts';
import type { LimitedTotal } from '../caps.ts';
import type { Reservation } from '../reservations/reservations.ts';
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
 * slices (docs/adr/0012-slices-of-totals.md). Lock order: users, slices by ID, totals by key.
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

export type SliceRow = SliceAmounts & {
  id: string;
  campaignId: number;
  /** Publisher at which the campaign total is counted, or null for the total across all publishers. */
  publisherId: number | null;
  periods: readonly string[];
};

/**
 * Slice to lease: at most `requestedAmounts`, or `nearLimit` if that is a large part of what a limit leaves. The request
 * is refused if a limit leaves less than `least`.
 */
export type WantedSlice = {
  id: string;
  total: LimitedTotal;
  periods: readonly string[];
  requestedAmounts: SliceAmounts;
  nearLimit: SliceAmounts;
  least: SliceAmounts;
};

/** Leased slices, without the refused ones, and the usage after leasing them. */
export type LeasedSlices = { slices: SliceRow[]; used: CampaignUsage[] };

/** Leases slices of campaign totals in one transaction. Slices are smaller if little is left. */
export const leaseSlices = (pool: pg.Pool, requests: readonly WantedSlice[]): Promise<LeasedSlices> =>
  transaction(pool, async (executor) => {
    const requestedDeltas = requests.flatMap(({ total, periods, requestedAmounts: amounts }) =>
      deltasOf(total, periods, amounts),
    );
    const reached = await addUsage(executor, requestedDeltas);
    const slices = requests.flatMap((request) => fitSlice(request, reached) ?? []);
    const slicesById = new Map(slices.map((slice) => [slice.id, slice]));
    const surplus = requests.flatMap(({ id, total, periods, requestedAmounts: amounts }) => {
      const slice = slicesById.get(id);
      return deltasOf(total, periods, {
        impressions: (slice?.impressions ?? 0) - amounts.impressions,
        micros: (slice?.micros ?? 0) - amounts.micros,
      });
    });
    const trimmed = await addUsage(executor, surplus);
    await insertSlices(executor, slices);
    return { slices, used: [...reached, ...trimmed] };
  });

/**
 * Reduces a requested slice to the available amounts, or returns null if the request is refused.
 * @param reached usage including all requested slices
 */
function fitSlice(
  { id, total, periods, requestedAmounts, nearLimit, least }: WantedSlice,
  reached: readonly CampaignUsage[],
): SliceRow | null {
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
  return { id, campaignId: total.campaignId, publisherId: total.publisherId, periods, ...amounts };
}

const insertSql = `
insert into cap_slices (id, campaign_id, publisher_id, periods, impressions, micros, expires_at)
select id, campaign_id, publisher_id, string_to_array(periods, ','), impressions, micros,
  now() + interval '${sliceLeaseS} seconds'
from unnest($1::uuid[], $2::integer[], $3::integer[], $4::text[], $5::bigint[], $6::bigint[])
  as given (id, campaign_id, publisher_id, periods, impressions, micros)`;

async function insertSlices(executor: Executor, slices: readonly SliceRow[]): Promise<void> {
  if (slices.length === 0) return;
  await executor.query({
    name: 'insert_slices',
    text: insertSql,
    values: [
      uuids(slices, ({ id }) => id),
      integers(slices, ({ campaignId }) => campaignId),
      integers(slices, ({ publisherId }) => publisherId ?? 0),
      texts(slices, ({ periods }) => periods.join(',')),
      bigints(slices, ({ impressions }) => impressions),
      bigints(slices, ({ micros }) => micros),
    ],
  });
}

/**
 * Gives back leased slices: subtracts their remainders from the usage of the campaign totals.
 * @returns the resulting usage
 */
export const returnSlices = (pool: pg.Pool, ids: readonly string[]): Promise<CampaignUsage[]> =>
  transaction(pool, async (executor) => {
    const { rows } = await executor.query<StoredSlice>({
      name: 'return_slices',
      text: `with due as (select id from cap_slices where id = any($1::uuid[]) order by id for update)
        delete from cap_slices slice using due where slice.id = due.id
        returning slice.id, campaign_id, publisher_id, periods, impressions, micros`,
      values: [uuids(ids, (id) => id)],
    });
    return addUsage(
      executor,
      rows.map(toSlice).flatMap((slice) => allocationDeltas(slice, -1)),
    );
  });

/** Maximum number of expired slices returned in one transaction. */
const maxExpired = 1000;

/** Gives back expired slices that processes leased but did not return before they ended. */
export const releaseExpiredSlices = (pool: pg.Pool): Promise<void> =>
  transaction(pool, async (executor) => {
    const { rows } = await executor.query<StoredSlice>({
      name: 'release_expired_slices',
      text: `with due as (
          select id from cap_slices where expires_at <= now() order by id limit ${maxExpired} for update skip locked
        )
        delete from cap_slices slice using due where slice.id = due.id
        returning slice.id, campaign_id, publisher_id, periods, impressions, micros`,
    });
    await addUsage(
      executor,
      rows.map(toSlice).flatMap((slice) => allocationDeltas(slice, -1)),
    );
  });

const trueUsageSql = `
select used.*, used.impressions - coalesce(held.impressions, 0) as impressions,
  used.micros - coalesce(held.micros, 0) as micros
from campaign_usage used
left join (
  select campaign_id, publisher_id, period, sum(impressions)::bigint as impressions, sum(micros)::bigint as micros
  from cap_slices cross join unnest(periods) as period group by campaign_id, publisher_id, period
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

const spendSql = `
with held as (select id from cap_slices where id = any($1::uuid[]) order by id for update)
update cap_slices slice set impressions = slice.impressions - spent.impressions, micros = slice.micros - spent.micros
from unnest($1::uuid[], $2::bigint[], $3::bigint[]) as spent (id, impressions, micros)
where slice.id = spent.id and (select count(*) from held) = cardinality($1::uuid[])
returning slice.id`;

/** Amounts that a batch of fetches takes from a slice. */
export type SpentSlice = SliceAmounts & { id: string };

/** Adds up reservations by the slices that granted them. */
export function spentSlices(reservations: readonly Reservation[]): SpentSlice[] {
  const spent = new Map<string, SpentSlice>();
  for (const { sliceId, impressions, micros } of reservations) {
    if (sliceId === null) continue;
    const sum = spent.get(sliceId);
    if (sum === undefined) spent.set(sliceId, { id: sliceId, impressions, micros });
    else {
      sum.impressions += impressions;
      sum.micros += micros;
    }
  }
  return [...spent.values()];
}

/** Returns the parameters with which a statement subtracts amounts from slices. */
export const spentValues = (spent: readonly SpentSlice[]): Buffer[] => [
  uuids(spent, ({ id }) => id),
  bigints(spent, ({ impressions }) => impressions),
  bigints(spent, ({ micros }) => micros),
];

/**
 * Subtracts reservations from the slices that granted them. Must run in the transaction that stores the reservations.
 * @returns whether all of these slices still exist; if not, nothing is subtracted
 */
export async function spendSlices(executor: Executor, granted: readonly Reservation[]): Promise<boolean> {
  const spent = spentSlices(granted);
  if (spent.length === 0) return true;
  const { rowCount } = await executor.query({ name: 'spend_slices', text: spendSql, values: spentValues(spent) });
  return rowCount === spent.length;
}

type StoredSlice = {
  id: string;
  campaign_id: number;
  publisher_id: number;
  periods: string[];
  impressions: string;
  micros: string;
};

const toSlice = (row: StoredSlice): SliceRow => ({
  id: row.id,
  campaignId: row.campaign_id,
  publisherId: row.publisher_id === 0 ? null : row.publisher_id,
  periods: row.periods,
  impressions: Number(row.impressions),
  micros: Number(row.micros),
});
