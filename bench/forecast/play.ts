import type { CapUsage, Exposure } from '../../src/budgets/caps.ts';
import type { Publisher } from '../../src/catalog/types.ts';
import { decide } from '../../src/decision/decide.ts';
import { mix, uniform } from '../../src/decision/random.ts';
import type { DecisionInput } from '../../src/decision/types.ts';
import { competitorOf } from '../../src/forecasts/competitor.ts';
import { weeksSince } from '../../src/forecasts/engine/calibrate.ts';
import { forecast } from '../../src/forecasts/engine/forecast.ts';
import type { Forecast, ForecastCampaign, PublisherSample, SampledSession } from '../../src/forecasts/engine/types.ts';
import { addEvent, createFits, type Fits, fitAndPublish } from '../../src/learning/fit/fit-rates.ts';
import { createModel, type Model, placeOf } from '../../src/learning/model.ts';
import { propertiesOf } from '../../src/learning/properties.ts';
import { type HourCount, hourOf, learnTraffic } from '../../src/learning/traffic.ts';
import { runAtOnce } from '../../src/platform/lib/slices.ts';
import { dayMs, hourMs } from '../../src/platform/lib/time.ts';
import { inputOf, offersOf, publisherWith } from '../../test/decision/support.ts';
import { type ForecastWorld, startMs, type Visit } from './world.ts';

/** Events in the 30 days after the forecast. `spend` is in millionths. */
export type Truth = Record<'impressions' | 'clicks' | 'spend' | 'users' | 'sessions', number>;

/** Number of sessions that the forecast gets, and days from which they are drawn. */
const [sampled, sampledDays, visitDays] = [2000, 7, 28];

type User = { exposures: Exposure[]; optOuts: Record<string, number | null> };

/** State of a world after some of its visits. It can be copied with `structuredClone`. */
export type State = {
  /** Index of the next visit. */
  next: number;
  fits: Fits;
  model: Model;
  learnedMs: number;
  running: HourCount | undefined;
  users: Map<string, User>;
  usage: Map<number, { day: number; byDay: number; lifetime: number }>;
  /** Sessions of the last days before the forecast. */
  log: SampledSession[];
  /** Events of the forecast campaign in the weeks before the forecast. */
  recent: ForecastCampaign['recent'];
  /** Its impressions by week. */
  delivered: { fromMs: number; untilMs: number; impressions: number }[];
};

/** Plays the visits of a world before the forecast. */
export function playPast(world: ForecastWorld, seed: number): State {
  const state: State = {
    next: 0,
    fits: createFits(),
    model: createModel(),
    learnedMs: 0,
    running: undefined,
    users: new Map(),
    usage: new Map(),
    log: [],
    recent: { impressions: 0, clicks: 0, conversions: 0 },
    delivered: weeksSince(world.isRunning ? startMs - world.historyDays * dayMs : startMs, startMs).map((week) => ({
      ...week,
      impressions: 0,
    })),
  };
  const { recent } = state;
  const offers = offersOf(...world.campaigns);
  const publisher = publisherOf(world, world.isRunning ? offers : offers.slice(0, -1));
  playUntil(world, state, { seed, publisher, untilMs: startMs, seedOfEvents: seed }, (session, event) => {
    if (event === null) return;
    for (const week of state.delivered)
      if (session.atMs >= week.fromMs && session.atMs < week.untilMs) week.impressions += 1;
    if (session.atMs <= startMs - visitDays * dayMs) return;
    recent.impressions += 1;
    if (event.isClicked) recent.clicks += 1;
    if (event.isConverted) recent.conversions += 1;
  });
  learn(state, startMs);
  return state;
}

/** Plays the visits after the forecast. Changes the state. */
export function playFuture(world: ForecastWorld, state: State, seed: number, future = 0): Truth {
  const truth: Truth = { impressions: 0, clicks: 0, spend: 0, users: 0, sessions: 0 };
  const reached = new Set<number>();
  const publisher = publisherOf(world, offersOf(...world.campaigns));
  const options = { seed, publisher, untilMs: Number.POSITIVE_INFINITY, seedOfEvents: seed + future * 1_000_003 };
  playUntil(world, state, options, (session, event) => {
    if (event === null) {
      truth.sessions += 1;
      return;
    }
    truth.impressions += 1;
    if (event.isClicked) truth.clicks += 1;
    truth.spend += event.paidMicros;
    if (session.user >= 0) reached.add(session.user);
  });
  truth.users = reached.size;
  return truth;
}

/** Forecasts the last campaign of a world. */
export function forecastOf(world: ForecastWorld, state: State, seed: number): { forecast: Forecast; tookMs: number } {
  const began = performance.now();
  const offers = offersOf(...world.campaigns);
  const own = world.campaigns.at(-1) as (typeof world.campaigns)[number];
  const used = state.usage.get(own.id);
  const today = Math.floor(startMs / dayMs);
  const draft = {
    campaign: own,
    offers: offers.slice(-1),
    used: (_metric: string, per: string): number =>
      used === undefined ? 0 : per === 'lifetime' ? used.lifetime : used.day === today ? used.byDay : 0,
    recent: state.recent,
    liveSinceMs: world.isRunning ? startMs - world.historyDays * dayMs : null,
    delivered: state.delivered,
  };
  const publisher = publisherOf(world, world.isRunning ? offers : offers.slice(0, -1));
  const competitor = runAtOnce(competitorOf(draft, publisher, { timeZoneOf: () => 'UTC', isRepeated: true }));
  const { model } = state;
  const result = runAtOnce(
    forecast({ ...competitor, ...sampleOf(world, state, seed), model, nowMs: startMs, seed, isLate: () => false }),
  );
  return { forecast: result, tookMs: performance.now() - began };
}

/** Draws the sample that the database would contain. */
function sampleOf(world: ForecastWorld, { log }: State, seed: number): PublisherSample {
  const order = log.map((_, at) => at).sort((a, b) => mix(seed, a) - mix(seed, b));
  const sessions = order.slice(0, sampled).map((at) => log[at] as SampledSession);
  const keys = new Set(sessions.map(({ context }) => context.userKey));
  const days = Math.min(visitDays, world.historyDays);
  const visits = new Map<string, number[]>();
  const hours = new Map<number, number>();
  for (const { atMs, user } of world.visits) {
    if (atMs >= startMs) break;
    const hour = Math.floor(atMs / hourMs) * hourMs;
    hours.set(hour, (hours.get(hour) ?? 0) + 1);
    const key = `user-${user}`;
    if (atMs > startMs - days * dayMs && keys.has(key)) visits.set(key, [...(visits.get(key) ?? []), atMs]);
  }
  return {
    sessions,
    visits,
    visitDays: days,
    hours: [...hours].map(([hourStartMs, count]) => ({ startMs: hourStartMs, sessions: count })),
  };
}

const publisherOf = (world: ForecastWorld, offers: ReturnType<typeof offersOf>): Publisher =>
  publisherWith(offers, { offersPerResponse: world.offersPerResponse });

function learn(state: State, atMs: number): void {
  fitAndPublish(state.fits, state.model, atMs);
  state.model = { ...state.model, version: state.model.version + 1 };
  state.learnedMs = atMs;
}

type PlayOptions = {
  seed: number;
  publisher: Publisher;
  /** End of the played time, exclusive. */
  untilMs: number;
  /** Seed of views, clicks and conversions. */
  seedOfEvents: number;
};

/** Impression of the forecast campaign. */
type OwnEvent = { isClicked: boolean; isConverted: boolean; paidMicros: number };

/** Plays visits with the real decisions and the real learner. Calls `note` for each visit and each impression. */
function playUntil(
  world: ForecastWorld,
  state: State,
  options: PlayOptions,
  note: (session: Visit, event: OwnEvent | null) => void,
): void {
  for (; state.next < world.visits.length; state.next++) {
    const session = world.visits[state.next] as Visit;
    if (session.atMs >= options.untilMs) return;
    // The learner fits more often than this; the forecast campaign is learned within hours of its start.
    const sinceMs = session.atMs - startMs;
    const everyMs = sinceMs >= 0 && sinceMs < 2 * dayMs ? 3 * hourMs : 2 * dayMs;
    if (session.atMs - state.learnedMs > everyMs) learn(state, session.atMs);
    note(session, null);
    for (const event of playVisit(world, state, session, options)) note(session, event);
  }
}

/** Plays a visit. Returns the impressions of the forecast campaign. */
function playVisit(
  world: ForecastWorld,
  state: State,
  session: Visit,
  { seed, publisher, seedOfEvents }: PlayOptions,
): OwnEvent[] {
  const { atMs } = session;
  const at = state.next;
  const context = world.contextOf(session);
  const key = context.userKey ?? null;
  const user: User | null = key === null ? null : (state.users.get(key) ?? { exposures: [], optOuts: {} });
  const decisionSeed = mix(seed, at);
  const totals = totalsAt(world, state, atMs);
  const history =
    user === null
      ? { exposures: [], optOuts: {} }
      : {
          exposures: user.exposures.filter((exposure) => exposure.atMs > atMs - 7 * dayMs),
          optOuts: { ...user.optOuts },
        };
  const input: DecisionInput = inputOf(publisher, {
    context,
    history,
    totals,
    model: state.model,
    seed: decisionSeed,
  });
  state.running = learnTraffic(state.model, 1, state.running, [hourOf(atMs), 1]);
  const ownEvents: OwnEvent[] = [];
  const offers = decide(input).offers.map(({ offer, position }) => {
    const draw = (salt: number): number => uniform(seedOfEvents * 31 + salt * 7 + position, at);
    const { id, payout, rules, advertiserId } = offer.campaign;
    const isSeen = draw(1) < world.viewRate(position);
    const isClicked = isSeen && draw(2) < world.clickRate(id - 1, session, position);
    const isDeclined = isSeen && !isClicked && draw(3) < world.declineRate;
    const isConverted = isClicked && draw(4) < world.conversionRate(id - 1);
    if (!isSeen) return { offerId: offer.id, isSeen, isClicked, isDeclined };
    const row = {
      id: at * 4 + position,
      offerId: offer.id,
      place: placeOf(1, session.placement),
      position,
      properties: propertiesOf(input.context, publisher),
      atMs,
    };
    const { fits, model } = state;
    addEvent(fits, model.sales, { what: 'seen', row, delayMs: null, sale: null });
    if (isClicked) addEvent(fits, model.sales, { what: 'clicked', row, delayMs: 3000, sale: null });
    if (isConverted) addEvent(fits, model.sales, { what: 'converted', row, delayMs: 60_000, sale: null });
    const { kind, amountMicros } = payout;
    const isPaid = kind === 'cpm' || (kind === 'cpc' ? isClicked : isConverted);
    const earned = !isPaid ? 0 : kind === 'cpm' ? amountMicros / 1000 : amountMicros;
    const paidMicros = earned > 0 ? spend(world, state, { id, micros: earned, atMs }) : 0;
    if (user !== null) {
      if (isDeclined) user.optOuts[id] = atMs / 1000 + 30 * 86_400;
      if (rules.frequency_caps !== undefined)
        user.exposures.push({ event: 'impression', offerId: offer.id, campaignId: id, advertiserId, atMs });
    }
    if (id === world.campaigns.length) ownEvents.push({ isClicked, isConverted, paidMicros });
    return { offerId: offer.id, isSeen, isClicked, isDeclined };
  });
  if (user !== null && key !== null) state.users.set(key, user);
  if (atMs < startMs && atMs > startMs - sampledDays * dayMs)
    state.log.push({
      context: input.context,
      themeId: null,
      history,
      totals,
      seed: decisionSeed,
      isEmptied: false,
      offers,
    });
  return ownEvents;
}

function totalsAt({ campaigns }: ForecastWorld, { usage }: State, atMs: number): Map<string, CapUsage> {
  const day = Math.floor(atMs / dayMs);
  const totals = new Map<string, CapUsage>();
  for (const { id, rules } of campaigns) {
    if (rules.total_caps === undefined) continue;
    const used = usage.get(id) ?? { day, byDay: 0, lifetime: 0 };
    totals.set(String(id), { budget: { day: used.day === day ? used.byDay : 0, lifetime: used.lifetime } });
  }
  return totals;
}

/** Books an amount within the campaign's budget. Returns the booked amount. */
function spend(
  { campaigns }: ForecastWorld,
  { usage }: State,
  { id, micros, atMs }: { id: number; micros: number; atMs: number },
): number {
  const [cap] = campaigns[id - 1]?.rules.total_caps ?? [];
  if (cap === undefined) return micros;
  const day = Math.floor(atMs / dayMs);
  const used = usage.get(id) ?? { day, byDay: 0, lifetime: 0 };
  if (used.day !== day) Object.assign(used, { day, byDay: 0 });
  const room = cap.limit * 1e6 - (cap.per === 'day' ? used.byDay : used.lifetime);
  const paid = Math.min(micros, Math.max(0, room));
  used.byDay += paid;
  used.lifetime += paid;
  usage.set(id, used);
  return paid;
}
