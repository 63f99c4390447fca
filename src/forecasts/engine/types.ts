import type { Hours, Totals, UserHistory } from '../../budgets/caps.ts';
import type { CapMetric, CapPeriod, FrequencyCap, Pacing, TotalCap } from '../../catalog/rules.ts';
import type { Offer, Payout, Publisher } from '../../catalog/types.ts';
import type { DecisionContext } from '../../decision/types.ts';
import type { Model } from '../../learning/model.ts';

/** Session from the decision log, with the events of its offers. */
export type SampledSession = {
  context: DecisionContext;
  themeId: number | null;
  history: UserHistory;
  totals: Totals;
  seed: number;
  /** Whether the session got no offers because it was late or held out. */
  isEmptied: boolean;
  /** Shown offers in the order of display. */
  offers: readonly ShownOffer[];
};

type ShownOffer = { offerId: number; isSeen: boolean; isClicked: boolean; isDeclined: boolean };

/** Number of sessions in a past hour. Hours without sessions can be absent. */
export type HourlySessions = { startMs: number; sessions: number };

/** Campaign to forecast, as it would be served. */
export type ForecastCampaign = {
  id: number;
  /** Offers of the campaign. Their rules contain no dates or caps, because the simulation applies these. */
  offers: readonly Offer[];
  payout: Payout;
  startMs: number;
  endMs: number;
  frequencyCaps: readonly FrequencyCap[];
  totalCaps: readonly TotalCap[];
  /** Time zone of the periods of total caps. */
  zone: string;
  pacing: Pacing;
  optOutDays: number | null;
  /** Usage in the current period of each total cap, as a count or, for budgets, an amount in millionths. */
  used: (metric: CapMetric, per: CapPeriod) => number;
  /** Time since which the campaign has been shown unchanged, or null if it is not shown yet. */
  liveSinceMs: number | null;
  /** Events of the campaign in recent weeks, if it is shown. */
  recent: { impressions: number; clicks: number; conversions: number };
  /** Impressions by week since the campaign has been edited, oldest week first. The times are full hours. */
  delivered: readonly { fromMs: number; untilMs: number; impressions: number }[];
};

/** Recent sessions, visits and traffic of a publisher. */
export type PublisherSample = {
  /** Random sample of sessions, in random order. */
  sessions: readonly SampledSession[];
  /** Session times of the sampled users in the last `visitDays` days, by user key. */
  visits: ReadonlyMap<string, readonly number[]>;
  visitDays: number;
  /** Sessions of the publisher by hour, oldest first. */
  hours: readonly HourlySessions[];
};

export type ForecastInput = PublisherSample & {
  /** Publisher with the index in which the campaign competes. */
  publisher: Publisher;
  campaign: ForecastCampaign;
  /** Schedule hours of the campaign, or null if it has none. */
  schedule: Hours | null;
  model: Model;
  nowMs: number;
  seed: number;
  /** Returns whether the time for repeating decisions is used up. */
  isLate: () => boolean;
};

/** Median, and the bounds of the 80% interval. */
export type Interval = { low: number; mid: number; high: number };

export const metrics = ['sessions', 'matching', 'impressions', 'clicks', 'spend'] as const;
export type ForecastMetric = (typeof metrics)[number];

/** Targeting condition with the number of sampled sessions that satisfy it. */
export type ConditionCount = { rule: string; key: string | null; matching: number };

export type ForecastNote =
  | 'no_history'
  | 'short_history'
  | 'nothing_matches'
  | 'never_wins'
  | 'ended'
  | 'not_started'
  | 'budget_spent'
  | 'budget_limits'
  | 'no_offers'
  | 'goal_ignored';

export type ForecastDay = { date: string } & Record<ForecastMetric, Interval>;

/** Forecast for the next 30 days. `spend` is in millionths of the payout currency. */
export type Forecast = {
  days: readonly ForecastDay[];
  totals: Record<ForecastMetric | 'users', Interval>;
  currency: string;
  sample: { sessions: number; matching: number; days: number };
  /** Conditions that exclude sessions, most restrictive first. */
  conditions: readonly ConditionCount[];
  notes: readonly ForecastNote[];
};

/** Number of days that a forecast covers. */
export const horizonDays = 30;
