import { isOwnKind, rulesOf } from '../catalog/event-kinds.ts';
import type { CapEvent, PayoutKind } from '../catalog/rules.ts';
import { bigints, byteas, dates, integers, uuids } from '../platform/db/binary-array.ts';
import type { Executor } from '../platform/db/pool.ts';
import { dayOfUuid7, timeOfUuid7 } from '../platform/lib/uuid7.ts';
import { type ActiveCaps, countsFor, type LimitedTotal } from './caps.ts';
import { exposureEvent, exposureRecord, recordBytes, withoutSession } from './history/records.ts';
import { lockUsersOf } from './opt-outs.ts';
import { settleReservations } from './reservations/reservations.ts';
import { billOf, fitBills, type PaidEvent, spentBefore } from './usage/billing.ts';
import {
  type Amounts,
  addAmounts,
  addUsage,
  countedPeriods,
  deltasOf,
  noAmounts,
  type UsageDelta,
} from './usage/usage.ts';

/** Event that counts towards caps: newly inserted and not suspicious. */
export type CountedEvent = PaidEvent & { kind: CapEvent; sessionId: string; offerId: number };

/**
 * Voided conversion. `atMs` is the time at which the original conversion was counted. The amounts are negative, in the
 * campaign's currency.
 */
export type VoidedConversion = CountedEvent & {
  unbilledMicros: number;
  /** Whether the given campaign total has counted the conversion. */
  isCountedIn: (total: LimitedTotal) => boolean;
};

/**
 * Adds events to their users' histories and their campaigns' usage, and settles their reservations. Voided conversions
 * are removed from both. Call it after the events were inserted, in the same transaction.
 * @returns events that no longer fit into a budget; they are counted but must not be booked
 */
export async function countEvents(
  executor: Executor,
  activeCaps: ActiveCaps,
  events: readonly CountedEvent[],
  voided: readonly VoidedConversion[] = [],
): Promise<readonly CountedEvent[]> {
  if (voided.length > 0) await removeExposures(executor, voided, events);
  const forUsers = events.filter(({ campaign, publisherId, kind }) =>
    activeCaps.countsForUser(campaign, publisherId, kind),
  );
  if (forUsers.length > 0) await addExposures(executor, forUsers);
  const forTotals = events.filter(({ campaign, publisherId, kind }) =>
    activeCaps.totalsOf(campaign, publisherId).some((total) => countsFor(total, kind)),
  );
  const reversals = voided.flatMap((event) => reversalsOf(activeCaps, event));
  if (forTotals.length + reversals.length === 0) return [];
  const released = await releaseFor(executor, forTotals);
  return book(executor, activeCaps, forTotals, [...reversals, ...released]);
}

/** Returns the usage to subtract from the campaign totals that counted a voided conversion. */
function reversalsOf(activeCaps: ActiveCaps, event: VoidedConversion): UsageDelta[] {
  const { campaign, publisherId, atMs, revenueMicros: micros, unbilledMicros, isCountedIn } = event;
  const amounts = { conversions: -1, micros, spentMicros: micros, unbilledMicros };
  return activeCaps
    .totalsOf(campaign, publisherId)
    .filter(isCountedIn)
    .flatMap((total) => deltasOf(total, countedPeriods(total, 'conversion', atMs), amounts));
}

const exposuresSql = `
insert into user_history as known (user_key, publisher_id, exposures, updated_at)
select s.user_key, e.publisher_id, string_agg(e.record, '' order by e.at_ms), to_timestamp(max(e.at_ms) / 1000.0)
from unnest($1::date[], $2::uuid[], $3::integer[], $4::bytea[], $5::bigint[])
  as e (day, session_id, publisher_id, record, at_ms)
cross join lateral (
  select user_key from sessions where day = any($1::date[]) and day = e.day and id = e.session_id offset 0
) s
where s.user_key is not null
group by s.user_key, e.publisher_id
order by s.user_key
on conflict (user_key) do update set
  exposures = known.exposures || excluded.exposures,
  updated_at = greatest(known.updated_at, excluded.updated_at)`;

/** Encodes an event as a history record. An impression record settles the reservation of its session. */
const recordOf = ({ kind, sessionId, offerId, campaign, atMs }: CountedEvent): Buffer => {
  const { id: campaignId, advertiserId } = campaign;
  return exposureRecord({ event: exposureEvent(kind), offerId, campaignId, advertiserId, atMs }, sessionId);
};

async function addExposures(executor: Executor, events: readonly CountedEvent[]): Promise<void> {
  await executor.query({
    name: 'add_exposures',
    text: exposuresSql,
    values: [
      dates(events, (event) => timeOfUuid7(event.sessionId)),
      uuids(events, (event) => event.sessionId),
      integers(events, (event) => event.publisherId),
      byteas(events, recordOf),
      bigints(events, (event) => Math.floor(event.atMs)),
    ],
  });
}

const removeExposureSql = `
update user_history as known
set exposures = overlay(
  known.exposures placing ''::bytea from position($3::bytea in known.exposures) for ${recordBytes}
)
from sessions s
where s.day = $1 and s.id = $2 and known.user_key = s.user_key
  and position($3::bytea in known.exposures) % ${recordBytes} = 1`;

/**
 * Removes voided conversions from their users' histories. A conversion that has since been merged into an aggregate
 * cannot be removed. All histories that the transaction writes are locked first, including those of `others`.
 */
async function removeExposures(
  executor: Executor,
  voided: readonly CountedEvent[],
  others: readonly CountedEvent[],
): Promise<void> {
  const sessionIds = [...voided, ...others].map(({ sessionId }) => sessionId);
  await lockUsersOf(executor, sessionIds);
  for (const event of voided) {
    const values = [dayOfUuid7(event.sessionId), event.sessionId, withoutSession(recordOf(event))];
    await executor.query({ name: 'take_back_exposure', text: removeExposureSql, values });
  }
}

const conversionPayouts: ReadonlySet<PayoutKind> = new Set(['cpa', 'cps']);

function isPaid({ kind, campaign: { payout } }: CountedEvent): boolean {
  if (isOwnKind(kind)) return false;
  return kind === 'conversion' ? conversionPayouts.has(payout.kind) : rulesOf(kind).paidBy?.payout === payout.kind;
}

/**
 * Releases the reservations for these events. A budget reservation is retained while a later event may still be paid.
 */
async function releaseFor(executor: Executor, events: readonly CountedEvent[]): Promise<UsageDelta[]> {
  /** Whether an offer in a session has been paid for, by `<session> <offer>`. */
  const settling = new Map<string, boolean>();
  const sessionIds = new Set<string>();
  for (const event of events) {
    const isPaying = isPaid(event);
    if (event.kind !== 'impression' && !isPaying) continue;
    const key = `${event.sessionId} ${event.offerId}`;
    settling.set(key, isPaying || settling.get(key) === true);
    sessionIds.add(event.sessionId);
  }
  if (sessionIds.size === 0) return [];
  return settleReservations(executor, [...sessionIds], (reservation) => {
    const isPaidNow = settling.get(`${reservation.sessionId} ${reservation.offerId}`);
    if (isPaidNow === undefined) return reservation;
    return isPaidNow || reservation.micros <= 0 ? null : { ...reservation, impressions: 0 };
  });
}

/**
 * Adds events to their campaigns' usage. The first statement locks the usage rows, so that concurrent processes cannot
 * overspend a budget. It assumes that an event fits if it would fit into an empty budget. This is usually true, so no
 * correcting statement is needed.
 * @returns the events that do not fit
 */
async function book(
  executor: Executor,
  activeCaps: ActiveCaps,
  events: readonly CountedEvent[],
  others: readonly UsageDelta[],
): Promise<readonly CountedEvent[]> {
  const bills = events.map((event) => billOf(activeCaps, event));
  const assumed = fitBills(bills, () => 0);
  const usageOf = (amountsOf: (event: CountedEvent, index: number) => Partial<Amounts>): UsageDelta[] =>
    events.flatMap((event, index) => {
      const amounts = amountsOf(event, index);
      return activeCaps
        .totalsOf(event.campaign, event.publisherId)
        .filter((total) => countsFor(total, event.kind))
        .flatMap((total) => deltasOf(total, countedPeriods(total, event.kind, event.atMs), amounts));
    });
  const first = usageOf((event, index) => ({ ...countsOf(event), ...moneyOf(event, assumed[index] === true) }));
  const locked = new Set(bills.flatMap(({ budgets }) => budgets.map(({ key }) => key)));
  const after = await addUsage(executor, [...others, ...first], locked);
  const fits = fitBills(bills, spentBefore(after, bills, assumed));
  const corrections = usageOf((event, index) =>
    fits[index] === assumed[index] ? noAmounts : correctionOf(event, fits[index] === true),
  );
  await addUsage(executor, corrections);
  return events.filter((_, index) => fits[index] !== true);
}

const countsOf = ({ kind }: CountedEvent): Partial<Amounts> => {
  if (kind === 'impression') return { impressions: 1, countedImpressions: 1 };
  if (isOwnKind(kind)) return { ownEvents: 1 };
  return kind === 'click' ? { clicks: 1 } : { conversions: 1 };
};

const moneyOf = ({ revenueMicros }: CountedEvent, isBooked: boolean): Partial<Amounts> =>
  isBooked ? { micros: revenueMicros, spentMicros: revenueMicros } : { unbilledMicros: revenueMicros };

/** Difference between the amounts assumed for an event and the actual amounts. */
const correctionOf = (event: CountedEvent, isBooked: boolean): Partial<Amounts> =>
  addAmounts({ ...noAmounts, ...moneyOf(event, isBooked) }, { ...noAmounts, ...moneyOf(event, !isBooked) }, -1);
