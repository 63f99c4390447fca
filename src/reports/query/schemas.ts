import { Type } from '@sinclair/typebox';
import { errorAnswers } from '../../platform/http/schemas.ts';
import { sessionViewNames, viewNames } from '../view.ts';
import { activityQuery } from './request.ts';

const sessionMetric = Type.Union([Type.Number(), Type.Null()], {
  description: 'null: of several campaigns or offers together, whose sums cannot tell their sessions apart.',
});
const amount = Type.Union([Type.Number(), Type.Null()], {
  description: 'null: not exactly one currency occurs; see `revenue_by_currency`.',
});
const moneySums = Type.Array(
  Type.Object(
    { currency: Type.String(), revenue: Type.Number(), unbilled: Type.Number() },
    { title: 'RevenueOfCurrency' },
  ),
  { description: 'Different currencies are never added. `XXX`: amounts of earlier releases in unknown currencies.' },
);
const rowCurrency = Type.Union([Type.String(), Type.Null()], {
  description: 'Currency of `revenue` and `unbilled`; null: not exactly one occurs.',
});
const schemaOf = (name: string) => {
  if (name === 'revenue' || name === 'unbilled') return amount;
  return sessionViewNames.includes(name) ? sessionMetric : Type.Number();
};
const metrics = Type.Object({
  ...Object.fromEntries(viewNames.map((name) => [name, schemaOf(name)])),
  currency: rowCurrency,
  revenue_by_currency: moneySums,
});
const row = Type.Object(
  {
    date: Type.String({ format: 'date' }),
    hour: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'By the hour only: its start, with the offset of the time zone.',
      }),
    ),
    ...metrics.properties,
  },
  { additionalProperties: true, description: 'Each dimension grouped by is a field of its name.' },
);

const activityAnswer = Type.Object({
  data: Type.Object({
    from: Type.String({ format: 'date' }),
    to: Type.String({ format: 'date' }),
    time_zone: Type.String(),
    aggregated_by: Type.String(),
    group_by: Type.Array(Type.String()),
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
                description: 'First day of the latest rate used; null: nothing was in another currency.',
              }),
            },
            { title: 'ConvertedRevenue' },
          ),
          Type.Null(),
        ],
        { description: 'Only with a `reporting_currency`; null: a currency has no exchange rate on one of the days.' },
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
    dev_sessions: Type.Integer({ description: 'Not counted elsewhere.' }),
    offers_served: Type.Integer(),
    events: Type.Record(Type.String(), Type.Integer(), { description: 'Those that count, by kind.' }),
    suspicious: Type.Record(Type.String(), counts, { description: 'Those that do not count, by kind and reason.' }),
    offers_not_seen: Type.Integer(),
    impressions_not_clicked: Type.Integer(),
    balanced: Type.Boolean({ description: 'Offers served ≥ impressions ≥ clicks.' }),
  }),
});

export const activitySchema = {
  operationId: 'reportActivity',
  summary: 'Report activity',
  description:
    'JSON, or CSV with `format=csv` or `Accept: text/csv`. Rows are ordered by time; times without activity have none.',
  tags: ['Reports'],
  querystring: activityQuery,
  response: { 200: activityAnswer, ...errorAnswers(400, 401, 403) },
};

export const reconciliationSchema = {
  operationId: 'reconcileActivity',
  summary: 'Reconcile sessions, offers and events',
  description:
    'Of the sessions of UTC days (default: yesterday, at most 400), as of two seconds ago. ' +
    'Events belong to the day of their session.',
  tags: ['Reports'],
  querystring: Type.Pick(activityQuery, ['api_key', 'from', 'to']),
  response: { 200: reconciliationAnswer, ...errorAnswers(400, 401, 403) },
};
