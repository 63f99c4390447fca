import { rulesOf } from '../catalog/event-kinds.ts';
import { eventRevenueMicros } from '../catalog/provisioning.ts';
import type { CapEvent, PayoutKind } from '../catalog/rules.ts';
import type { Campaign } from '../catalog/types.ts';
import { bigints, byteas, dates, integers, uuids } from '../platform/db/binary-array.ts';
import type { Executor } from '../platform/db/pool.ts';
import { timeOfUuid7 } from '../platform/lib/uuid7.ts';
import type { ActiveCaps } from './caps.ts';
import { exposureRecord } from './history-records.ts';
import { settleReservations } from './reservations.ts';
import { type Amounts, addUsage, deltasOf, noAmounts, periodNames, type UsageDelta } from './usage.ts';

/** An event that counts: inserted just now, for the first time, and not suspicious. */
export type CountedEvent = {
  kind: CapEvent;
  sessionId: string;
  publisherId: number;
  offerId: number;
  campaign: Campaign;
  /** Epoch milliseconds. */
  atMs: number;
  /** Payout of a conversion (millionths); other events pay by the campaign. */
  payoutMicros?: number;
};

/** Whether `countEvents` has to count an event. */
export const isCounted = (activeCaps: ActiveCaps, campaign: Campaign, publisherId: number, kind: CapEvent): boolean =>
  activeCaps.countsForUser(campaign, publisherId, kind) ||
  (countsForTotals(kind) && activeCaps.totalsOf(campaign, publisherId).length > 0);

const countsForTotals = (kind: CapEvent): boolean => kind === 'conversion' || rulesOf(kind).totalCap === true;

/**
 * Adds events to the histories of their users and to the usage of campaigns, and settles their reservations. Must run
 * in the transaction that inserts the events, after them.
 * @param others further usage, added in the same lock order
 */
export async function countEvents(
  executor: Executor,
  activeCaps: ActiveCaps,
  events: readonly CountedEvent[],
  others: readonly UsageDelta[] = [],
): Promise<void> {
  const forUsers = events.filter(({ campaign, publisherId, kind }) =>
    activeCaps.countsForUser(campaign, publisherId, kind),
  );
  if (forUsers.length > 0) await addExposures(executor, forUsers);
  const forTotals = events.filter(
    (event) => countsForTotals(event.kind) && activeCaps.totalsOf(event.campaign, event.publisherId).length > 0,
  );
  if (forTotals.length + others.length > 0) await settle(executor, activeCaps, forTotals, others);
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

/** The record of an event. That of an impression settles the reservation of its session. */
const recordOf = ({ kind, sessionId, offerId, campaign, atMs }: CountedEvent): Buffer => {
  const { id: campaignId, advertiserId } = campaign;
  return exposureRecord({ event: kind, offerId, campaignId, advertiserId, atMs }, sessionId);
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

const conversionPayouts: ReadonlySet<PayoutKind> = new Set(['cpa', 'cps']);

const isPaid = ({ kind, campaign: { payout } }: CountedEvent): boolean =>
  kind === 'conversion' ? conversionPayouts.has(payout.kind) : rulesOf(kind).paidBy?.payout === payout.kind;

/** The usage that an event adds to its campaign. */
function amountsOf(event: CountedEvent): Amounts {
  const { kind, campaign, publisherId, payoutMicros = 0 } = event;
  if (kind === 'conversion') return { ...noAmounts, micros: payoutMicros };
  return {
    impressions: kind === 'impression' ? 1 : 0,
    clicks: kind === 'click' ? 1 : 0,
    micros: eventRevenueMicros(kind, campaign, publisherId),
  };
}

/** Replaces reservations by the events. Money that a later event may earn stays reserved. */
async function settle(
  executor: Executor,
  activeCaps: ActiveCaps,
  events: readonly CountedEvent[],
  others: readonly UsageDelta[],
): Promise<void> {
  /** By "session offer": whether it is paid. */
  const settling = new Map<string, boolean>();
  const sessionIds = new Set<string>();
  for (const event of events) {
    const isPaying = isPaid(event);
    if (event.kind !== 'impression' && !isPaying) continue;
    const key = `${event.sessionId} ${event.offerId}`;
    settling.set(key, isPaying || settling.get(key) === true);
    sessionIds.add(event.sessionId);
  }
  const deltas: UsageDelta[] = [...others];
  if (sessionIds.size > 0) {
    const released = await settleReservations(executor, [...sessionIds], (reservation) => {
      const isPaidNow = settling.get(`${reservation.sessionId} ${reservation.offerId}`);
      if (isPaidNow === undefined) return reservation;
      return isPaidNow || reservation.micros <= 0 ? null : { ...reservation, impressions: 0 };
    });
    deltas.push(...released);
  }
  for (const event of events) {
    for (const total of activeCaps.totalsOf(event.campaign, event.publisherId)) {
      deltas.push(...deltasOf(total, periodNames(total.timeZone, event.atMs), amountsOf(event)));
    }
  }
  await addUsage(executor, deltas);
}
