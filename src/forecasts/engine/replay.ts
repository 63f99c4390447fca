import { reachedFrequencyCap } from '../../budgets/cap-rules.ts';
import type { Offer, Publisher } from '../../catalog/types.ts';
import { buildIndex } from '../../decision/build-index.ts';
import { decide, indexOf } from '../../decision/decide.ts';
import type { Exclusion } from '../../decision/eligibility.ts';
import { type FailingRule, failingRules } from '../../decision/explain.ts';
import { prepareDecision } from '../../decision/prepare.ts';
import { uniform } from '../../decision/random.ts';
import type { DecisionContext, DecisionInput } from '../../decision/types.ts';
import {
  type Belief,
  beliefOf,
  hasBelief,
  peersBelief,
  type RateKind,
  withBelief,
} from '../../learning/assumed-rate.ts';
import type { Model } from '../../learning/model.ts';
import { relevantProperties, type Scope, scopedRateOf, scopeOf } from '../../learning/score.ts';
import { runAtOnce } from '../../platform/lib/slices.ts';
import { dayMs } from '../../platform/lib/time.ts';
import type { ConditionCount, ForecastInput, SampledSession } from './types.ts';

/** Rates at which decisions are repeated, as deviations from the expected rate in standard deviations. */
type Grid = readonly number[];

/** Session for which the campaign is eligible, with the expected outcome at each grid point. */
export type ReplayedSession = {
  userKey: string | null;
  atMs: number;
  /** Whether the user had reached a frequency cap of the campaign. */
  isCapped: boolean;
  /**
   * Expected impressions of the campaign in this session without frequency caps, by grid point. For new campaigns that
   * are not paid by impression, the last number applies to the start, when nothing has been learned yet.
   */
  impressions: Float64Array;
  /** Expected clicks at the expected rate, by grid point. */
  clicks: Float64Array;
};

export type Replay = {
  grid: Grid;
  sessions: readonly ReplayedSession[];
  /** Number of sessions in the campaign's schedule hours, how many of them match, and how many were repeated. */
  open: number;
  matching: number;
  conditions: readonly ConditionCount[];
  /** Standard deviations of the logarithm of the click rate and the conversion rate. */
  clickSd: number;
  conversionSd: number;
  /** Expected clicks per impression at the first position, and conversions per click. */
  clickRate: number;
  conversionRate: number;
  /** Variance of the logarithm of the rates at the start of a new campaign, or null if there is no such start. */
  startVariance: number | null;
  /** Share of impressions after which users opt out of the campaign. */
  declineRate: number;
};

/** Number of decisions to repeat for each grid point, if time permits. */
const maxDecisions = 1800;

/** Number of sessions whose users are simulated. */
export const simulatedUsers = 400;

/**
 * Number of repetitions of their decisions at the expected rate. A single repetition would show only whether the
 * campaign wins, not how likely it is to win.
 */
const userRuns = 6;

/** Average number of successes from which the rates of a new campaign are assumed to have been learned. */
const learnedSuccesses = 30;

/** Repeats the sampled decisions with the campaign in the catalogue. Pauses at each `yield`. */
export function* replay(input: ForecastInput): Generator<void, Replay> {
  const { campaign, publisher, model, sessions } = input;
  const matching = yield* findMatching(input);
  const click = beliefIn(input, 'click');
  yield;
  const beliefs = { click, conversion: beliefIn(input, 'conversion') };
  yield;
  const isPaidByConversion = campaign.payout.kind === 'cpa' || campaign.payout.kind === 'cps';
  const clickSd = campaign.payout.kind === 'cpm' ? 0 : Math.sqrt(beliefs.click.variance);
  const conversionSd = isPaidByConversion ? Math.sqrt(beliefs.conversion.variance) : 0;
  const sd = Math.hypot(clickSd, conversionSd);
  const grid: Grid = sd < 0.05 ? [0] : [-1.5, 0, 1.5];
  const models: Model[] = [];
  for (const at of grid) {
    const shifted = ({ mean, variance }: Belief, own: number): Belief => ({
      mean: mean + (sd === 0 ? 0 : (at * own * own) / sd),
      variance: campaign.liveSinceMs === null ? 1 / (1 / variance + learnedSuccesses) : variance,
    });
    const shiftedClick = shifted(beliefs.click, clickSd);
    const ids = campaign.offers.map(({ id }) => id);
    models.push(withBelief(model, ids, { click: shiftedClick, conversion: shifted(beliefs.conversion, conversionSd) }));
    yield;
  }
  const center = models[grid.indexOf(0)] as Model;
  const isNew = campaign.liveSinceMs === null && grid.length > 1;
  if (isNew) models.push(model);
  const positions = yield* fitPositions(sessions, input);
  const offerIds = new Set(campaign.offers.map(({ id }) => id));
  const replayed: ReplayedSession[] = [];
  const runs = Math.max(1, Math.min(6, Math.floor(maxDecisions / Math.max(1, matching.sessions.length))));
  const rates = { click: 0, conversion: 0, count: 0 };
  for (const session of matching.sessions) {
    if (replayed.length >= 50 && input.isLate()) break;
    const impressions = new Float64Array(models.length);
    const clicks = new Float64Array(models.length);
    const base = inputOf(session, input, shiftOf(session, input.nowMs, replayed.length));
    const scope = scopeIn(center, publisher, base.context);
    const isCapped = campaign.offers.some(
      (offer) =>
        reachedFrequencyCap(campaign.frequencyCaps, offer, base.history.exposures, base.context.nowMs) !== null,
    );
    for (const [at, gridModel] of models.entries()) {
      yield* prepareDecision({ ...base, model: gridModel });
      const isSimulated = gridModel === center && replayed.length < simulatedUsers;
      const repetitions = session.isEmptied ? 0 : isSimulated ? Math.max(runs, userRuns) : runs;
      for (let run = 0; run < repetitions; run++) {
        const seed = run === 0 ? session.seed : Math.floor(uniform(session.seed, run) * 2 ** 32);
        for (const { offer, position } of decide({ ...base, model: gridModel, seed }).offers) {
          if (!offerIds.has(offer.id)) continue;
          const view = positions.viewRate(position) / repetitions;
          impressions[at] = (impressions[at] as number) + view;
          clicks[at] = (clicks[at] as number) + view * rateOf(scope, offer, 'click') * positions.clickFactor(position);
        }
        yield;
      }
    }
    for (const offer of campaign.offers) {
      rates.click += rateOf(scope, offer, 'click');
      rates.conversion += rateOf(scope, offer, 'conversion');
      rates.count += 1;
    }
    replayed.push({ userKey: session.context.userKey, atMs: session.context.nowMs, isCapped, impressions, clicks });
  }
  return {
    grid,
    sessions: replayed,
    ...matching.counts,
    clickSd: Math.sqrt(beliefs.click.variance),
    conversionSd: Math.sqrt(beliefs.conversion.variance),
    clickRate: rates.click / Math.max(1, rates.count),
    conversionRate: rates.conversion / Math.max(1, rates.count),
    startVariance: isNew ? beliefOf(model[isPaidByConversion ? 'conversion' : 'click'], 0).variance : null,
    declineRate: positions.declineRate,
  };
}

/** Maximum number of other offers from which the rates of a new one are estimated. */
const maxPeers = 2000;

/** Returns the estimated rates of the campaign's best offer. Offers without data get those of other offers. */
function beliefIn({ model, publisher, campaign }: ForecastInput, kind: RateKind): Belief {
  const ids = campaign.offers.map(({ id }) => id);
  const candidates = indexOf(publisher).candidates.slice(0, maxPeers);
  const others = candidates.flatMap(({ offer: { id } }) => (ids.includes(id) ? [] : [id]));
  const peers = peersBelief(model[kind], others);
  const beliefs = ids.map((id) => (hasBelief(model[kind], id) ? beliefOf(model[kind], id) : peers));
  return beliefs.reduce((best, belief) => (belief.mean > best.mean ? belief : best), beliefs[0] ?? peers);
}

const rateOf = (scope: Scope, offer: Offer, kind: 'click' | 'conversion'): number =>
  Math.min(1, scopedRateOf(scope[kind], offer).mean);

const scopeIn = (model: Model, publisher: Publisher, context: DecisionContext): Scope =>
  scopeOf(model, publisher.id, context.placement, relevantProperties(model, context, publisher));

const weekMs = 7 * dayMs;

/** Number of weeks over which repeated decisions are spread. */
const spreadWeeks = 4;

/**
 * Returns how far to move a session in time, in milliseconds. Sessions move into the forecast period by whole weeks, so
 * that the schedules of competing campaigns apply as they will in that period.
 */
const shiftOf = ({ context }: SampledSession, nowMs: number, at: number): number =>
  (Math.max(0, Math.ceil((nowMs - context.nowMs) / weekMs)) + (at % spreadWeeks)) * weekMs;

/**
 * Builds the input of a repeated decision. For a campaign that is not live yet, past exposures and opt-outs are left
 * out, because its history begins with the forecast.
 */
function inputOf(
  session: SampledSession,
  { publisher, model, campaign }: ForecastInput,
  shiftMs: number,
): DecisionInput {
  const { context, history, totals, themeId, seed } = session;
  const isForgotten = (campaignId: number): boolean => campaign.liveSinceMs === null && campaignId === campaign.id;
  const exposures = history.exposures.filter(({ campaignId }) => !isForgotten(campaignId));
  const optOuts = Object.entries(history.optOuts).filter(([id]) => !isForgotten(Number(id)));
  return {
    publisher,
    theme: themeId === null ? null : (publisher.themes.get(themeId) ?? publisher.defaultTheme),
    context: { ...context, nowMs: context.nowMs + shiftMs },
    history: {
      optOuts: Object.fromEntries(optOuts.map(([id, untilS]) => [id, untilS && untilS + shiftMs / 1000])),
      exposures: exposures.map((exposure) => ({ ...exposure, atMs: exposure.atMs + shiftMs })),
    },
    totals,
    model,
    seed,
  };
}

/** Rules that are not reported as conditions, because they depend on competition or change from day to day. */
const notConditions: ReadonlySet<Exclusion['rule']> = new Set([
  'unit_off',
  'percentage',
  'campaign_id',
  'opted_out',
  'frequency_cap',
  'blocked_by_publisher',
]);

type Matching = {
  sessions: SampledSession[];
  counts: { open: number; matching: number; conditions: readonly ConditionCount[] };
};

/**
 * Finds the sessions for which the campaign is eligible, without competition and caps, and counts for each condition
 * how many sessions satisfy it.
 */
function* findMatching(input: ForecastInput): Generator<void, Matching> {
  const { publisher, campaign, sessions } = input;
  const { timeZone } = publisher;
  const index = runAtOnce(buildIndex({ publisher, offers: campaign.offers, timeZoneOf: () => timeZone }));
  const only = { ...publisher, index };
  const failed = new Map<string, number>();
  const matches: SampledSession[] = [];
  let open = 0;
  for (const [at, session] of sessions.entries()) {
    if (at % 20 === 0) yield;
    const request = { ...inputOf(session, input, 0), publisher: only };
    const failing = index.candidates.map(({ offer }) =>
      failingRules(request, offer.id).filter(({ rule }) => !notConditions.has(rule)),
    );
    const fewest = failing.reduce<FailingRule[] | null>(
      (best, rules) => (best === null || rules.length < best.length ? rules : best),
      null,
    );
    if (fewest === null) continue;
    const names = new Set(fewest.map(nameOf));
    if (!names.has('hours ')) open += 1;
    for (const name of names) failed.set(name, (failed.get(name) ?? 0) + 1);
    if (fewest.length === 0) matches.push(session);
  }
  const conditions = [...failed]
    .sort(([, a], [, b]) => b - a)
    .map(([name, count]): ConditionCount => {
      const [rule = '', key = ''] = name.split(' ');
      return { rule, key: key === '' ? null : key, matching: sessions.length - count };
    });
  return { sessions: matches, counts: { open, matching: matches.length, conditions } };
}

/** Returns a rule's name with the request property that it tests. */
const nameOf = ({ rule, reason }: FailingRule): string =>
  `${rule} ${rule === 'targeting' && typeof reason.values.key === 'string' ? reason.values.key : ''}`;

/** Rates that depend on the position of an offer, estimated from the events of sampled sessions. */
type Positions = {
  /** Returns the share of offers at a position that are seen. */
  viewRate: (position: number) => number;
  /** Returns the click rate at a position, relative to the rate that the model predicts for the first position. */
  clickFactor: (position: number) => number;
  declineRate: number;
};

/** Number of sessions whose clicks are compared with the predicted rates. */
const comparedSessions = 1500;

/** Weight of the assumption about a position, as a number of clicks. */
const assumedClicks = 15;

function* fitPositions(sessions: readonly SampledSession[], input: ForecastInput): Generator<void, Positions> {
  const { model, publisher } = input;
  const offersById = new Map(indexOf(publisher).candidates.map(({ offer }) => [offer.id, offer]));
  const cells: { servings: number; views: number; clicked: number; predicted: number }[] = [];
  let [viewCount, declined, servingCount] = [0, 0, 0];
  for (const [at, { context, offers }] of sessions.entries()) {
    if (at % 20 === 0) yield;
    const scope = at < comparedSessions && offers.length > 0 ? scopeIn(model, publisher, context) : null;
    for (const [index, { offerId, isSeen, isClicked, isDeclined }] of offers.entries()) {
      cells[index] ??= { servings: 0, views: 0, clicked: 0, predicted: 0 };
      const cell = cells[index] as (typeof cells)[number];
      cell.servings += 1;
      servingCount += 1;
      if (!isSeen) continue;
      cell.views += 1;
      viewCount += 1;
      if (isDeclined) declined += 1;
      const offer = offersById.get(offerId);
      if (scope === null || offer === undefined) continue;
      cell.predicted += rateOf(scope, offer, 'click');
      if (isClicked) cell.clicked += 1;
    }
  }
  const meanView = (viewCount + 1) / (servingCount + 1);
  return {
    viewRate: (position) => {
      const { servings, views } = cells[position - 1] ?? { servings: 0, views: 0 };
      return (views + 5 * meanView) / (servings + 5);
    },
    clickFactor: (position) => {
      const { clicked, predicted } = cells[position - 1] ?? { clicked: 0, predicted: 0 };
      return (clicked + assumedClicks / Math.sqrt(position)) / (predicted + assumedClicks);
    },
    declineRate: viewCount === 0 ? 0 : declined / viewCount,
  };
}
