import { eventRevenueMicros } from '../../catalog/provisioning.ts';
import type { Offer, TrackedEvent } from '../../catalog/types.ts';
import type { SessionRecord } from '../../offers/session-record.ts';
import type { Random } from '../../platform/lib/random.ts';
import { hourMs } from '../../platform/lib/time.ts';
import { dayOfUuid7, newUuid7 } from '../../platform/lib/uuid7.ts';
import type { Booking } from '../../tracking/bookings.ts';

/** Generated activity of one user in one session. Clicks are in chronological order. */
export type SyntheticActivity = {
  events: TrackedEvent[];
  conversions: Booking[];
  /** IDs of the campaigns whose offers the user selected and confirmed, or null if none exists. */
  confirmed: readonly number[] | null;
};

const seenShare = 0.93;
const seenNextShare = 0.9;
const noThanksShare = 0.05;
const closeShare = 0.12;
const confirmShare = 0.18;
const selectShare = 0.4;
const conversionShare = 0.12;
/** Click-through rate at the first position. It is a third lower at each further position. */
const firstCtr = 0.085;
/** Factor by which the arm `shimmer` of the demo's experiment increases the click-through rate. */
const shimmerFactor = 1.75;
/** Average sale value, in millionths. A `cps` payout is a share of it. */
const saleMicros = 42_000_000;

/** Generates a user's activity in a session of the demo history. No event is later than `endMs`. */
export function generateActivity(session: SessionRecord, random: Random, endMs: number): SyntheticActivity {
  const activity: SyntheticActivity = { events: [], conversions: [], confirmed: null };
  if (session.offers.length === 0 || random() > seenShare) return activity;
  const seenOffers = session.offers.filter((_offer, index) => index === 0 || random() < seenNextShare);
  for (const offer of seenOffers) addOffer(activity, session, offer, random, endMs);
  if (random() < closeShare)
    activity.events.push(eventOf(session, seenOffers[0] as Offer, 'close', session.createdAtMs + 20_000));
  if (session.usp && random() < confirmShare) {
    const selected = seenOffers.filter(() => random() < selectShare).map(({ campaign }) => campaign.id);
    if (selected.length > 0) activity.confirmed = selected;
  }
  return activity;
}

function addOffer(
  { events, conversions }: SyntheticActivity,
  session: SessionRecord,
  offer: Offer,
  random: Random,
  endMs: number,
): void {
  const position = session.offers.indexOf(offer);
  const seenMs = session.createdAtMs + 300 + Math.floor(random() * 900);
  events.push(eventOf(session, offer, 'impression', seenMs));
  // Vary the click rate between offers, in the same way in each run.
  const armFactor = session.custom.get('experiment.shimmer') === 'shimmer' ? shimmerFactor : 1;
  const appeal = (0.6 + (((offer.id * 37) % 17) / 17) * 0.9) * armFactor;
  if (random() < firstCtr * appeal * (2 / 3) ** position) {
    const clickMs = seenMs + 1_500 + Math.floor(random() * 12_000);
    events.push(eventOf(session, offer, 'click', clickMs));
    const bookedMs = clickMs + Math.floor(random() * 6 * hourMs);
    if (random() < conversionShare && bookedMs < endMs)
      conversions.push(conversionOf(session, offer, clickMs, bookedMs));
  } else if (random() < noThanksShare) {
    events.push(eventOf(session, offer, 'no_thanks', seenMs + 4_000));
  }
}

function eventOf(session: SessionRecord, offer: Offer, kind: TrackedEvent['kind'], atMs: number): TrackedEvent {
  return {
    kind,
    claims: {
      publisherId: session.publisherId,
      sessionId: session.id,
      offerId: offer.id,
      campaignId: offer.campaign.id,
      position: session.offers.indexOf(offer) + 1,
      dev: false,
    },
    sessionId: session.id,
    atMs,
    suspicious: null,
    revenueMicros: eventRevenueMicros(kind, offer.campaign, session.publisherId),
    currency: offer.campaign.payout.currency,
  };
}

function conversionOf(session: SessionRecord, offer: Offer, clickAtMs: number, bookedAtMs: number): Booking {
  const { campaign } = offer;
  const { kind, amountMicros, currency } = campaign.payout;
  const percent = 100_000_000;
  const payoutMicros = kind === 'cpa' ? amountMicros : kind === 'cps' ? (saleMicros * amountMicros) / percent : 0;
  const id = newUuid7(bookedAtMs);
  return {
    day: dayOfUuid7(session.id),
    sessionId: session.id,
    offerId: offer.id,
    event: 'sale',
    // Use the ID as the deduplication key, because each click has only one conversion.
    txnKey: id,
    isVoid: false,
    id,
    publisherId: session.publisherId,
    campaignId: campaign.id,
    advertiserId: campaign.advertiserId,
    txnId: null,
    givenMicros: kind === 'cps' ? BigInt(saleMicros) : null,
    givenCurrency: null,
    payoutMicros: BigInt(Math.round(payoutMicros)),
    unbilledMicros: 0n,
    unbilledReason: null,
    currency,
    isLoyalty: campaign.isLoyalty,
    loyaltyMicros: 0n,
    suspicious: null,
    countedIn: [],
    clickAtMs,
    bookedAtMs,
  };
}
