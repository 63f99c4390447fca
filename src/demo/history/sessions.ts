import type { Offer, Publisher } from '../../catalog/types.ts';
import { assign, subjectOf, withArms } from '../../experiments/assign.ts';
import { type SessionRecord, writeDecisionRecord } from '../../offers/session-record.ts';
import type { Random } from '../../platform/lib/random.ts';
import { dayMs, hourMs } from '../../platform/lib/time.ts';
import { newUuid7 } from '../../platform/lib/uuid7.ts';
import type { UserKeys } from '../../platform/security/user-key.ts';
import { visitorOf } from '../areas.ts';
import { syntheticMark } from '../catalogue.ts';

/** Length of the generated demo history, in days. */
export const historyDays = 42;

/** Number of generated sessions on an average day. */
const sessionsPerDay = 170;

/**
 * Length of the period before the current time for which no activity is generated, in milliseconds. It keeps live
 * figures correct from the start.
 */
const quietMs = hourMs;

/** Relative traffic by weekday, starting on Sunday. `hourShares` is the relative traffic by hour (UTC). */
const weekdayShares = [1.25, 0.9, 0.85, 0.9, 0.95, 1.05, 1.2];
const hourShares = [2, 1, 1, 1, 1, 2, 3, 5, 7, 9, 10, 10, 11, 12, 11, 10, 10, 11, 13, 15, 16, 14, 9, 5];

const placements = [
  ['checkout', 45],
  ['order-confirmation', 35],
  ['order-status', 12],
  ['account', 8],
] as const;
const countries = [
  ['US', 52],
  ['GB', 16],
  ['DE', 11],
  ['CA', 8],
  ['FR', 7],
  ['AU', 6],
] as const;
const clients: readonly (readonly [{ device: string; os: string }, number])[] = [
  [{ device: 'mobile', os: 'ios' }, 36],
  [{ device: 'mobile', os: 'android' }, 30],
  [{ device: 'desktop', os: 'windows' }, 18],
  [{ device: 'desktop', os: 'macos' }, 11],
  [{ device: 'tablet', os: 'ios' }, 5],
];
const plans = [
  ['basic', 60],
  ['plus', 30],
  ['pro', 10],
] as const;

const visitors = 900;
const emptyShare = 0.06;

type SessionSource = { publisher: Publisher; offers: readonly Offer[]; userKeys: UserKeys; random: Random };

/** Generates the sessions of the last `historyDays` days, oldest first. The last hour is left out. */
export function makeUpSessions(source: SessionSource, nowMs: number): SessionRecord[] {
  const endMs = nowMs - quietMs;
  return timesOf(source.random, endMs).map((atMs) => makeUpSession(source, atMs));
}

/**
 * Generates session times. There are more sessions on weekends and in the evening, and their number grows by 1% each
 * day.
 */
function timesOf(random: Random, endMs: number): number[] {
  const times: number[] = [];
  const averageHour = hourShares.reduce((sum, share) => sum + share, 0) / hourShares.length;
  const startMs = endMs - historyDays * dayMs;
  for (let hour = 0; hour < historyDays * 24; hour += 1) {
    const fromMs = startMs + hour * hourMs;
    const from = new Date(fromMs);
    const share = ((weekdayShares[from.getUTCDay()] ?? 1) * (hourShares[from.getUTCHours()] ?? 0)) / averageHour;
    const expected = (sessionsPerDay / 24) * share * 1.01 ** (hour / 24);
    const count = Math.floor(expected + random());
    for (let session = 0; session < count; session += 1) times.push(Math.floor(fromMs + random() * hourMs));
  }
  return times.sort((a, b) => a - b);
}

function makeUpSession({ publisher, offers, userKeys, random }: SessionSource, atMs: number): SessionRecord {
  const placement = pick(random, placements);
  const pubUserId = visitorOf(1 + Math.floor(random() ** 2 * visitors));
  const theme = publisher.themes.get(publisher.placements.get(placement)?.themeId ?? 0) ?? publisher.defaultTheme;
  const isEmpty = random() < emptyShare;
  const plan = pick(random, plans);
  const keysOf = (identifier: string): string[] => userKeys.allOf(publisher.id, identifier);
  const subject = subjectOf({ pubUserId, adFp: null }, keysOf, atMs);
  const assigned = assign(publisher.experiments ?? [], { ...subject, publisher, theme, placement, testArms: null });
  const custom = new Map([[syntheticMark.name, syntheticMark.value] as const, ['plan', plan] as const]);
  return {
    language: null,
    id: newUuid7(atMs),
    publisherId: publisher.id,
    placement,
    themeId: theme?.id ?? null,
    userKey: userKeys.of(publisher.id, pubUserId),
    pubUserId,
    client: { country: pick(random, countries), ...pick(random, clients) },
    offers: isEmpty ? [] : pickOffers(shownAt(placement, offers), publisher.offersPerResponse, random),
    emptyReason: isEmpty ? 'nothing_eligible' : null,
    // The record contains only the request, which is enough to estimate reach. It refers to no catalogue version,
    // because no decision was made.
    decision: writeDecisionRecord({
      catalogVersion: 0,
      scores: [],
      inputs: assigned === null ? {} : { experiments: assigned.stored },
    }),
    custom: assigned === null ? custom : withArms(custom, assigned),
    macros: {},
    dev: false,
    usp: theme?.unit === 'mou' && theme.uspEnabled && publisher.uspEnabled,
    uspCheckAll: theme?.uspCheckAll ?? false,
    createdAtMs: atMs,
  };
}

/**
 * Returns the offers that a placement shows. After the order, all offers are paid per click, so that the experiment at
 * this placement has a clear result in spite of the few sessions.
 */
const shownAt = (placement: string, offers: readonly Offer[]): readonly Offer[] =>
  placement === 'order-confirmation' ? offers.filter(({ campaign }) => campaign.payout.kind === 'cpc') : offers;

/** Picks offers at random, each from a different advertiser, weighted by the weights of their campaigns. */
function pickOffers(offers: readonly Offer[], count: number, random: Random): Offer[] {
  const picked: Offer[] = [];
  while (picked.length < count) {
    const pickedAdvertisers = new Set(picked.map(({ campaign }) => campaign.advertiserId));
    const candidates = offers.filter(({ campaign }) => !pickedAdvertisers.has(campaign.advertiserId));
    if (candidates.length === 0) return picked;
    picked.push(
      pick(
        random,
        candidates.map((offer) => [offer, offer.campaign.weight]),
      ),
    );
  }
  return picked;
}

/** Picks a random value with a probability proportional to its weight. */
function pick<Value>(random: Random, values: readonly (readonly [Value, weight: number])[]): Value {
  let remaining = random() * values.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [value, weight] of values) {
    remaining -= weight;
    if (remaining < 0) return value;
  }
  return (values.at(-1) as readonly [Value, number])[0];
}
