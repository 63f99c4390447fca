import { rulesOf } from '../../catalog/event-kinds.ts';
import type { CapEvent, PayoutKind } from '../../catalog/rules/rules.ts';
import { eventRevenueMicros } from '../../catalog/snapshot/provisioning.ts';
import type { Campaign } from '../../catalog/snapshot/types.ts';
import { plainArray } from '../../platform/db/array-literal.ts';
import type { Executor } from '../../platform/db/pool.ts';
import { dayOfUuid7 } from '../../platform/lib/uuid7.ts';
import type { Needs } from './needs.ts';
import { heldBy, insertReservations, type Reservation, takeReservations } from './reservations.ts';
import { type Amounts, addUse, type Delta, deltasOf, nothingUsed, periodNames } from './use.ts';

/** An event that counts: stored just now, for the first time, and not suspicious. */
export type CountedEvent = {
  kind: CapEvent;
  sessionId: string;
  publisherId: number;
  offerId: number;
  campaign: Campaign;
  /** Epoch milliseconds. */
  atMs: number;
  /** What a conversion pays (millionths); other events pay as the campaign says. */
  payoutMicros?: number;
};

/** Whether an event has to be handed to `countEvents`. */
export const isCounted = (needs: Needs, campaign: Campaign, publisherId: number, kind: CapEvent): boolean =>
  needs.countsForUser(campaign, publisherId, kind) ||
  (countsForTotals(kind) && needs.totalsOf(campaign, publisherId).length > 0);

const countsForTotals = (kind: CapEvent): boolean => kind === 'conversion' || rulesOf(kind).totalCap === true;

/**
 * Takes events into the histories of their users and into what campaigns have used, and settles what was held for them.
 * Must run in the transaction that stores the events, after them.
 * @param others further changes of what was used, made in the same order as all others
 */
export async function countEvents(
  executor: Executor,
  needs: Needs,
  events: readonly CountedEvent[],
  others: readonly Delta[] = [],
): Promise<void> {
  const forUsers = events.filter(({ campaign, publisherId, kind }) => needs.countsForUser(campaign, publisherId, kind));
  if (forUsers.length > 0) await addExposures(executor, forUsers);
  const forTotals = events.filter(
    (event) => countsForTotals(event.kind) && needs.totalsOf(event.campaign, event.publisherId).length > 0,
  );
  if (forTotals.length + others.length > 0) await settle(executor, needs, forTotals, others);
}

/* An impression that came is no longer held; for users without a row yet, null says the same. */
const exposuresSql = `
insert into user_history as known (user_key, publisher_id, exposures, reservations, updated_at)
select s.user_key, e.publisher_id,
  jsonb_agg(jsonb_build_array(e.kind, e.offer_id, e.campaign_id, e.advertiser_id, e.at_ms, 1) order by e.at_ms),
  coalesce(jsonb_object_agg(e.session_id || ' ' || e.offer_id, null) filter (where e.kind = 'impression'), '{}'),
  to_timestamp(max(e.at_ms) / 1000)
from unnest($1::date[], $2::uuid[], $3::integer[], $4::integer[], $5::integer[], $6::integer[], $7::text[], $8::float8[])
  as e (day, session_id, publisher_id, offer_id, campaign_id, advertiser_id, kind, at_ms)
cross join lateral (
  select user_key from sessions where day = any($9::date[]) and day = e.day and id = e.session_id offset 0
) s
where s.user_key is not null
group by s.user_key, e.publisher_id
order by s.user_key
on conflict (user_key) do update set
  exposures = known.exposures || excluded.exposures,
  reservations = known.reservations - array(select jsonb_object_keys(excluded.reservations)),
  updated_at = greatest(known.updated_at, excluded.updated_at)`;

async function addExposures(executor: Executor, events: readonly CountedEvent[]): Promise<void> {
  const days = events.map((event) => dayOfUuid7(event.sessionId));
  await executor.query({
    name: 'add_exposures',
    text: exposuresSql,
    values: [
      plainArray(days),
      plainArray(events.map((event) => event.sessionId)),
      plainArray(events.map((event) => event.publisherId)),
      plainArray(events.map((event) => event.offerId)),
      plainArray(events.map((event) => event.campaign.id)),
      plainArray(events.map((event) => event.campaign.advertiserId)),
      plainArray(events.map((event) => event.kind)),
      plainArray(events.map((event) => event.atMs)),
      plainArray([...new Set(days)]),
    ],
  });
}

const conversionPayouts: ReadonlySet<PayoutKind> = new Set(['cpa', 'cps']);

const isPaid = ({ kind, campaign: { payout } }: CountedEvent): boolean =>
  kind === 'conversion' ? conversionPayouts.has(payout.kind) : rulesOf(kind).paidBy?.payout === payout.kind;

/** What an event adds to the totals of its campaign. */
function amountsOf(event: CountedEvent): Amounts {
  const { kind, campaign, publisherId, payoutMicros = 0 } = event;
  if (kind === 'conversion') return { ...nothingUsed, micros: payoutMicros };
  return {
    impressions: kind === 'impression' ? 1 : 0,
    clicks: kind === 'click' ? 1 : 0,
    micros: eventRevenueMicros(kind, campaign, publisherId),
  };
}

/** Puts what happened in the place of what was held for it. Money that waits for a later event stays held. */
async function settle(
  executor: Executor,
  needs: Needs,
  events: readonly CountedEvent[],
  others: readonly Delta[],
): Promise<void> {
  const settling = events.filter((event) => event.kind === 'impression' || isPaid(event));
  const held = settling.length === 0 ? [] : await takeReservations(executor, settling);
  const paid = new Set(settling.filter(isPaid).map((event) => `${event.sessionId} ${event.offerId}`));
  const stillHeld: Reservation[] = held
    .filter(({ sessionId, offerId, micros }) => micros > 0 && !paid.has(`${sessionId} ${offerId}`))
    .map((reservation) => ({ ...reservation, impressions: 0 }));
  await insertReservations(executor, stillHeld);
  const deltas: Delta[] = [
    ...others,
    ...held.flatMap((each) => heldBy(each, -1)),
    ...stillHeld.flatMap((each) => heldBy(each, 1)),
  ];
  for (const event of events) {
    for (const total of needs.totalsOf(event.campaign, event.publisherId)) {
      deltas.push(...deltasOf(total, periodNames(total.timeZone, event.atMs), amountsOf(event)));
    }
  }
  await addUse(executor, deltas);
}
