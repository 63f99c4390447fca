import type { CapUsage, Exposure } from '../../src/budgets/caps.ts';
import type { Publisher } from '../../src/catalog/types.ts';
import { decide } from '../../src/decision/decide.ts';
import { mix, uniform } from '../../src/decision/random.ts';
import type { DecisionInput } from '../../src/decision/types.ts';
import { competitorOf } from '../../src/forecasts/competitor.ts';
import { forecast } from '../../src/forecasts/engine/forecast.ts';
import type { Forecast, SampledSession } from '../../src/forecasts/engine/types.ts';
import { addEvent, createFits, fitAndPublish } from '../../src/learning/fit/fit-rates.ts';
import { createModel, type Model, placeOf } from '../../src/learning/model.ts';
import { propertiesOf } from '../../src/learning/properties.ts';
import { type HourCount, hourOf, learnTraffic } from '../../src/learning/traffic.ts';
import { runAtOnce } from '../../src/platform/lib/slices.ts';
import { dayMs, hourMs } from '../../src/platform/lib/time.ts';
import { inputOf, offersOf, publisherWith } from '../../test/decision/support.ts';
import { type ForecastWorld, startMs, type Visit } from './world.ts';

/** Events in the 30 days after the forecast. `spend` is in millionths. */
export type Truth = Record<'impressions' | 'clicks' | 'spend' | 'users' | 'sessions', number>;

export type Played = { truth: Truth; forecast: Forecast; tookMs: number };

/** Number of sessions that the forecast gets, and days from which they are drawn. */
const [sampled, sampledDays, visitDays] = [2000, 7, 28];

/** Plays a world with the real decisions and the real learner, and forecasts its last campaign in between. */
export function playForecast(world: ForecastWorld, seed: number): Played {
  const offers = offersOf(...world.campaigns);
  const own = world.campaigns.at(-1) as (typeof world.campaigns)[number];
  const others = publisherWith(offers.slice(0, -1), { offersPerResponse: world.offersPerResponse });
  const all = publisherWith(offers, { offersPerResponse: world.offersPerResponse });
  const fits = createFits();
  let model: Model = createModel();
  const users = new Map<string, { exposures: Exposure[]; optOuts: Record<string, number | null> }>();
  const usage = new Map<number, { day: number; byDay: number; lifetime: number }>();
  const log: SampledSession[] = [];
  const truth: Truth = { impressions: 0, clicks: 0, spend: 0, users: 0, sessions: 0 };
  const reached = new Set<number>();
  let running: HourCount | undefined;
  const recent = { impressions: 0, clicks: 0, conversions: 0 };

  const totalsAt = (atMs: number): Map<string, CapUsage> => {
    const day = Math.floor(atMs / dayMs);
    const totals = new Map<string, CapUsage>();
    for (const { id, rules } of world.campaigns) {
      if (rules.total_caps === undefined) continue;
      const used = usage.get(id) ?? { day, byDay: 0, lifetime: 0 };
      const byDay = used.day === day ? used.byDay : 0;
      totals.set(String(id), { budget: { day: byDay, lifetime: used.lifetime } });
    }
    return totals;
  };
  const spend = (id: number, micros: number, atMs: number): number => {
    const campaign = world.campaigns[id - 1] as (typeof world.campaigns)[number];
    const [cap] = campaign.rules.total_caps ?? [];
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
  };

  function visit(at: number, session: Visit, publisher: Publisher, isTruth: boolean): void {
    const { atMs } = session;
    const context = world.contextOf(session);
    const key = context.userKey ?? null;
    const user = key === null ? null : (users.get(key) ?? { exposures: [], optOuts: {} });
    const decisionSeed = mix(seed, at);
    const totals = totalsAt(atMs);
    const history =
      user === null
        ? { exposures: [], optOuts: {} }
        : {
            exposures: user.exposures.filter((exposure) => exposure.atMs > atMs - 7 * dayMs),
            optOuts: { ...user.optOuts },
          };
    const input: DecisionInput = inputOf(publisher, { context, history, totals, model, seed: decisionSeed });
    running = learnTraffic(model, 1, running, [hourOf(atMs), 1]);
    const decision = decide(input);
    const shownOffers = decision.offers.map(({ offer, position }) => {
      const draw = (salt: number): number => uniform(seed * 31 + salt * 7 + position, at);
      const id = offer.campaign.id;
      const isSeen = draw(1) < world.viewRate(position);
      const isClicked = isSeen && draw(2) < world.clickRate(id - 1, session, position);
      const isDeclined = isSeen && !isClicked && draw(3) < world.declineRate;
      if (isSeen) {
        const row = {
          id: at * 4 + position,
          offerId: offer.id,
          place: placeOf(1, session.placement),
          position,
          properties: propertiesOf(input.context, publisher),
          atMs,
        };
        addEvent(fits, model.sales, { what: 'seen', row, delayMs: null, sale: null });
        if (isClicked) addEvent(fits, model.sales, { what: 'clicked', row, delayMs: 3000, sale: null });
        const isConverted = isClicked && draw(4) < world.conversionRate(id - 1);
        if (isConverted) addEvent(fits, model.sales, { what: 'converted', row, delayMs: 60_000, sale: null });
        const { kind, amountMicros } = offer.campaign.payout;
        const earned =
          kind === 'cpm'
            ? amountMicros / 1000
            : kind === 'cpc'
              ? isClicked
                ? amountMicros
                : 0
              : isConverted
                ? amountMicros
                : 0;
        const paid = earned > 0 ? spend(id, earned, atMs) : 0;
        if (user !== null) {
          if (isDeclined) user.optOuts[id] = atMs / 1000 + 30 * 86_400;
          if (offer.campaign.rules.frequency_caps !== undefined)
            user.exposures.push({
              event: 'impression',
              offerId: offer.id,
              campaignId: id,
              advertiserId: offer.campaign.advertiserId,
              atMs,
            });
        }
        if (id === own.id && !isTruth && atMs > startMs - visitDays * dayMs) {
          recent.impressions += 1;
          if (isClicked) recent.clicks += 1;
          if (isConverted) recent.conversions += 1;
        }
        if (isTruth && id === own.id) {
          truth.impressions += 1;
          if (isClicked) truth.clicks += 1;
          truth.spend += paid;
          if (session.user >= 0) reached.add(session.user);
        }
      }
      return { offerId: offer.id, isSeen, isClicked, isDeclined };
    });
    if (user !== null && key !== null) users.set(key, user);
    if (isTruth) truth.sessions += 1;
    else if (atMs > startMs - sampledDays * dayMs)
      log.push({
        context: input.context,
        themeId: null,
        history,
        totals,
        seed: decisionSeed,
        isEmptied: false,
        offers: shownOffers,
      });
  }

  const learn = (atMs: number): void => {
    fitAndPublish(fits, model, atMs);
    model = { ...model, version: model.version + 1 };
  };
  let result: { forecast: Forecast; tookMs: number } | null = null;
  let learnedMs = 0;
  for (const [at, session] of world.visits.entries()) {
    const isTruth = session.atMs >= startMs;
    if (isTruth && result === null) {
      learn(startMs);
      result = forecastNow();
    }
    // The learner fits more often than this; the forecast campaign is learned within hours of its start.
    const everyMs = Math.abs(session.atMs - startMs) < 2 * dayMs && isTruth ? 3 * hourMs : 2 * dayMs;
    if (session.atMs - learnedMs > everyMs) {
      learn(session.atMs);
      learnedMs = session.atMs;
    }
    visit(at, session, isTruth || world.isRunning ? all : others, isTruth);
  }
  truth.users = reached.size;
  if (result === null) throw new Error('the world has no future');
  return { truth, ...result };

  function forecastNow(): { forecast: Forecast; tookMs: number } {
    const began = performance.now();
    const order = log.map((_, at) => at).sort((a, b) => mix(seed, a) - mix(seed, b));
    const sessions = order.slice(0, sampled).map((at) => log[at] as SampledSession);
    const keys = new Set(sessions.map(({ context }) => context.userKey));
    const days = Math.min(visitDays, world.historyDays);
    const visits = new Map<string, number[]>();
    const hours = new Map<number, number>();
    for (const past of world.visits) {
      if (past.atMs >= startMs) break;
      const hour = Math.floor(past.atMs / hourMs) * hourMs;
      hours.set(hour, (hours.get(hour) ?? 0) + 1);
      const key = `user-${past.user}`;
      if (past.atMs > startMs - days * dayMs && keys.has(key)) visits.set(key, [...(visits.get(key) ?? []), past.atMs]);
    }
    const used = usage.get(own.id);
    const today = Math.floor(startMs / dayMs);
    const draft = {
      campaign: own,
      offers: offers.slice(-1),
      used: (_metric: string, per: string): number =>
        used === undefined ? 0 : per === 'lifetime' ? used.lifetime : used.day === today ? used.byDay : 0,
      recent,
      liveSinceMs: world.isRunning ? startMs - world.historyDays * dayMs : null,
    };
    const competitor = runAtOnce(competitorOf(draft, world.isRunning ? all : others, () => 'UTC'));
    const forecastResult = runAtOnce(
      forecast({
        ...competitor,
        model,
        sessions,
        visits,
        visitDays: days,
        hours: [...hours].map(([hourStartMs, count]) => ({ startMs: hourStartMs, sessions: count })),
        nowMs: startMs,
        seed,
        isLate: () => false,
      }),
    );
    return { forecast: forecastResult, tookMs: performance.now() - began };
  }
}
