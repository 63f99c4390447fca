import { Type } from '@sinclair/typebox';
import { errorAnswers } from '../../platform/http/schemas.ts';
import { sessionViewNames, viewNames } from '../view.ts';
import { activityQuery } from './request.ts';

const sessionMetric = Type.Union([Type.Number(), Type.Null()], {
  description: '`null` for totals of several campaigns or offers, because one session can count for each of them.',
});
const amount = Type.Union([Type.Number(), Type.Null()], {
  description: '`null` unless exactly one currency occurs. See `revenue_by_currency`.',
});
const moneySums = Type.Array(
  Type.Object(
    { currency: Type.String(), revenue: Type.Number(), unbilled: Type.Number() },
    { title: 'RevenueOfCurrency' },
  ),
  {
    description:
      'Amounts by currency. Different currencies are never added. `XXX` contains amounts of earlier releases ' +
      'without a known currency.',
  },
);
const rowCurrency = Type.Union([Type.String(), Type.Null()], {
  description: 'Currency of `revenue` and `unbilled`. `null` unless exactly one occurs.',
});
const schemaOf = (name: string) => {
  if (name === 'revenue' || name === 'unbilled') return amount;
  return sessionViewNames.includes(name) ? sessionMetric : Type.Number();
};
const metrics = Type.Object({
  ...Object.fromEntries(viewNames.map((name) => [name, schemaOf(name)])),
  reach: Type.Optional(
    Type.Number({
      description:
        'Number of unique users with an impression. Only with `metrics=reach`. Does not add up across rows, because ' +
        'the totals count each user once. Exact up to 32,768 users. Above that, the standard error is 0.6%.',
    }),
  ),
  frequency: Type.Optional(
    Type.Union([Type.Number(), Type.Null()], {
      description: 'Impressions per unique user. `null` if there are no users.',
    }),
  ),
  unknown_impressions: Type.Optional(
    Type.Number({ description: 'Impressions of sessions without a user ID, which `reach` does not count.' }),
  ),
  currency: rowCurrency,
  revenue_by_currency: moneySums,
});
const row = Type.Object(
  {
    date: Type.String({ format: 'date' }),
    hour: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'Start of the hour with the offset of the time zone. Only in hourly reports.',
      }),
    ),
    ...metrics.properties,
  },
  { additionalProperties: true, description: 'Row of the report. Each dimension in `group_by` is a field.' },
);

const activityAnswer = Type.Object({
  data: Type.Object({
    from: Type.String({ format: 'date' }),
    to: Type.String({ format: 'date' }),
    time_zone: Type.String(),
    aggregated_by: Type.String(),
    group_by: Type.Array(Type.String()),
    as_of: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'Time up to which the report contains all data. Present only if it was read from a replica.',
      }),
    ),
    currency: rowCurrency,
    revenue_by_currency: moneySums,
    revenue_converted: Type.Optional(
      Type.Union(
        [
          Type.Object(
            {
              currency: Type.String(),
              revenue: Type.Number(),
              unbilled: Type.Number(),
              rates_as_of: Type.Union([Type.String({ format: 'date' }), Type.Null()], {
                description: 'First day of the latest exchange rate used. `null` if no amount was converted.',
              }),
            },
            { title: 'ConvertedRevenue' },
          ),
          Type.Null(),
        ],
        {
          description:
            'Converted totals, only with a `reporting_currency`. `null` if a currency has no exchange rate for one ' +
            'of the days.',
        },
      ),
    ),
    rows: Type.Array(row),
    totals: metrics,
  }),
});

const counts = Type.Record(Type.String(), Type.Integer());

const reconciliationAnswer = Type.Object({
  data: Type.Object({
    from: Type.String({ format: 'date' }),
    to: Type.String({ format: 'date' }),
    sessions: Type.Integer(),
    filled_sessions: Type.Integer(),
    empty_sessions: Type.Integer(),
    empty_reasons: counts,
    dev_sessions: Type.Integer({ description: 'Number of test sessions. They are not counted anywhere else.' }),
    offers_served: Type.Integer(),
    events: Type.Record(Type.String(), Type.Integer(), { description: 'Number of counted events by kind.' }),
    suspicious: Type.Record(Type.String(), counts, {
      description: 'Number of suspicious events, which are not counted, by kind and reason.',
    }),
    offers_not_seen: Type.Integer(),
    impressions_not_clicked: Type.Integer(),
    balanced: Type.Boolean({ description: 'Whether offers served ≥ impressions ≥ clicks.' }),
  }),
});

export const activitySchema = {
  operationId: 'reportActivity',
  summary: 'Get an activity report',
  description:
    'Returns JSON, or CSV with `format=csv` or `Accept: text/csv`. Rows are ordered by time. Periods without ' +
    'activity are omitted.',
  tags: ['Reports'],
  querystring: activityQuery,
  response: { 200: activityAnswer, ...errorAnswers(400, 401, 403) },
};

export const reconciliationSchema = {
  operationId: 'reconcileActivity',
  summary: 'Reconcile sessions, offers and events',
  description:
    'Counts sessions, offers and events of UTC days (default: yesterday, at most 400 days), up to two seconds ' +
    'ago. An event belongs to the day of its session.',
  tags: ['Reports'],
  querystring: Type.Pick(activityQuery, ['api_key', 'from', 'to']),
  response: { 200: reconciliationAnswer, ...errorAnswers(400, 401, 403) },
};
