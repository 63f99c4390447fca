import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { dayMs } from '../platform/lib/time.ts';
import { fromMicros } from '../platform/money.ts';
import { type ForecastMetric, type ForecastNote, horizonDays, type Interval, metrics } from './engine/types.ts';
import type { TrackRecord } from './record.ts';
import type { DatedForecast } from './service.ts';

const orNull = <Schema extends TSchema>(schema: Schema, options: object) => Type.Union([schema, Type.Null()], options);

const interval = Type.Object(
  {
    low: Type.Number({ description: 'Lower bound of the 80% interval.' }),
    mid: Type.Number({ description: 'Median.' }),
    high: Type.Number({ description: 'Upper bound of the 80% interval.' }),
  },
  { title: 'ForecastInterval' },
);

const dayFigures = {
  sessions: interval,
  matching: interval,
  impressions: interval,
  clicks: interval,
  spend: interval,
};

const figureRecord = Type.Object(
  {
    inside: Type.Integer({ description: 'Number of forecasts whose interval contained the actual value.' }),
    median_error: Type.Number({
      description: 'Median relative error: deviation of `mid` from the actual value, as a share of the actual value.',
    }),
  },
  { title: 'ForecastFigureRecord' },
);

/** Notes with their meanings, as documented for the API. */
export const noteTexts: Record<ForecastNote, string> = {
  no_history: 'the publisher had no sessions in the last 7 days',
  short_history: 'the traffic history is shorter than a week, so the interval is wide',
  nothing_matches: 'no sampled session matches; see `conditions`',
  never_wins: 'sessions match, but other campaigns took all positions',
  ended: 'the campaign has ended',
  not_started: 'the campaign starts after the forecast period',
  budget_spent: 'budgets or total caps are used up',
  budget_limits: 'budgets or total caps limit delivery',
  no_offers: 'the campaign has no offers yet, so a typical offer is assumed',
  goal_ignored: 'the priority that a goal has over revenue is not simulated',
};

const noteCodes = Object.keys(noteTexts) as ForecastNote[];

export const forecastSchema = Type.Object(
  {
    from: Type.String({ format: 'date-time', description: 'Start of the forecast period: the next full hour.' }),
    until: Type.String({ format: 'date-time' }),
    currency: Type.String({ description: 'Payout currency of the amounts in `spend`.' }),
    totals: Type.Object(
      { ...dayFigures, users: interval },
      {
        title: 'ForecastTotals',
        description:
          '`sessions` counts all sessions of the publisher, and `matching` those that match the targeting, schedule ' +
          'and conditions. `users` counts identified users who see the campaign at least once.',
      },
    ),
    days: Type.Array(Type.Object({ date: Type.String({ format: 'date' }), ...dayFigures }, { title: 'ForecastDay' }), {
      description: "24-hour periods from `from` on. `date` is the day in the publisher's time zone when each begins.",
    }),
    sample: Type.Object(
      {
        sessions: Type.Integer({ description: 'Number of sampled sessions of the last 7 days.' }),
        matching: Type.Integer({ description: 'Number of sampled sessions that match the campaign.' }),
        days: Type.Integer({ description: 'Number of full days of traffic history, at most 56.' }),
      },
      { title: 'ForecastSample' },
    ),
    conditions: Type.Array(
      Type.Object(
        {
          rule: Type.String({ description: 'Rule, with the same name as in decision explanations.' }),
          key: orNull(Type.String(), {
            title: 'ForecastConditionKey',
            description: 'Key of the targeting list, such as `countries`. `null` for other rules.',
          }),
          matching_sessions: Type.Integer({ description: 'Number of sampled sessions that satisfy the condition.' }),
        },
        { title: 'ForecastCondition' },
      ),
      { description: 'Conditions that exclude sampled sessions, most restrictive first.' },
    ),
    notes: Type.Array(Type.Union(noteCodes.map((code) => Type.Literal(code))), {
      description: `Remarks: ${noteCodes.map((code) => `\`${code}\`: ${noteTexts[code]}`).join('; ')}.`,
    }),
    record: orNull(
      Type.Object({
        forecasts: Type.Integer({ description: 'Number of compared forecasts: the last 12 that have ended.' }),
        impressions: figureRecord,
        clicks: figureRecord,
        spend: figureRecord,
      }),
      {
        title: 'ForecastRecord',
        description:
          "Comparison of the publisher's latest forecasts with actual results. `null` if no forecast has ended yet.",
      },
    ),
  },
  { title: 'Forecast' },
);

export type ForecastView = Static<typeof forecastSchema>;

/** Converts a forecast to API format. Counts are rounded, and amounts are in the payout currency. */
export function forecastView(forecast: DatedForecast, record: TrackRecord | null): ForecastView {
  const { fromMs, totals, days, currency, sample, conditions, notes } = forecast;
  const figures = (of: Record<ForecastMetric, Interval>) =>
    Object.fromEntries(
      metrics.map((metric) => [metric, metric === 'spend' ? amounts(of[metric]) : counts(of[metric])]),
    ) as Record<ForecastMetric, Interval>;
  return {
    from: new Date(fromMs).toISOString(),
    until: new Date(fromMs + horizonDays * dayMs).toISOString(),
    currency,
    totals: { ...figures(totals), users: counts(totals.users) },
    days: days.map(({ date, ...day }) => ({ date, ...figures(day) })),
    sample,
    conditions: conditions.map(({ rule, key, matching }) => ({ rule, key, matching_sessions: matching })),
    notes: [...notes],
    record: record && {
      forecasts: record.compared.length,
      impressions: recordView(record.impressions),
      clicks: recordView(record.clicks),
      spend: recordView(record.spend),
    },
  };
}

const mapped = ({ low, mid, high }: Interval, of: (value: number) => number): Interval => ({
  low: of(low),
  mid: of(mid),
  high: of(high),
});
const counts = (figure: Interval): Interval => mapped(figure, Math.round);
const amounts = (figure: Interval): Interval => mapped(figure, (micros) => fromMicros(Math.round(micros)));

const recordView = ({ inside, medianError }: TrackRecord['impressions']) => ({
  inside,
  median_error: Number(medianError.toFixed(4)),
});
