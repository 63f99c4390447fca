import { Type } from '@sinclair/typebox';
import type { FastifyRequest } from 'fastify';
import type pg from 'pg';
import { type Caller, callerOf } from '../../accounts/caller.ts';
import { callOf, publisherIdParameter } from '../../management/http.ts';
import { notFound } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import type { Authenticator } from '../../platform/http/auth.ts';
import { errorAnswers, integerParameter, noNul } from '../../platform/http/schemas.ts';
import { type ActivityParameters, activityQuery, readActivity } from '../query/request.ts';
import type { ActivityQuery } from '../query/types.ts';
import { isReportKey, type ReportService } from '../service.ts';
import { frequencyOf } from '../view.ts';
import { countFrequency, countOverlap, manyImpressions } from './spread.ts';

const {
  group_by: _group,
  aggregated_by: _aggregation,
  metrics: _metrics,
  format: _format,
  ...filters
} = activityQuery.properties;

const querystring = <Own extends object>(own: Own) =>
  Type.Object(
    { ...filters, ...own, publisher_id: publisherIdParameter },
    { additionalProperties: Type.String({ maxLength: 2000, pattern: noNul }) },
  );

const range = { from: Type.String({ format: 'date' }), to: Type.String({ format: 'date' }) };
const margin = Type.Integer({
  description: 'Margin of error: the true number is within it with 95% probability. 0 if the number is exact.',
});
const exact = Type.Boolean({ description: 'Whether the number of users is exact. Otherwise, it is an estimate.' });

const frequencySchema = {
  operationId: 'reportFrequency',
  summary: 'Get the frequency distribution',
  description:
    'Counts unique users by their number of impressions in a range of days. For ranges before unique users were ' +
    'first recorded, and for filters on custom attributes, users are counted from raw events as long as these are ' +
    'stored. Otherwise, the error names the first day for which users can be counted.',
  tags: ['Reports'],
  querystring: querystring({}),
  response: {
    200: Type.Object({
      message: Type.String(),
      data: Type.Object({
        ...range,
        reach: Type.Integer({ description: 'Number of unique users with an impression.' }),
        exact,
        impressions: Type.Integer({ description: 'Impressions of these users.' }),
        frequency: Type.Union([Type.Number(), Type.Null()], { description: 'Impressions per user.' }),
        unknown_impressions: Type.Integer({ description: 'Impressions of sessions without a user ID.' }),
        distribution: Type.Array(
          Type.Object(
            {
              impressions: Type.Integer({
                description: `Impressions per user. ${manyImpressions} means ${manyImpressions} or more.`,
              }),
              users: Type.Integer(),
              margin,
            },
            { title: 'FrequencyOfUsers' },
          ),
        ),
      }),
    }),
    ...errorAnswers(400, 401, 403, 404),
  },
};

const [defaultCampaigns, maxCampaigns] = [10, 20];

const overlapSchema = {
  operationId: 'reportOverlap',
  summary: 'Get the overlap of campaigns',
  description:
    'Counts, for each pair of campaigns, the unique users who saw both in a range of days. Compares the campaigns in ' +
    '`campaign`, or else the campaigns with the most users. The ranges and filters are the same as for the frequency ' +
    'distribution.',
  tags: ['Reports'],
  querystring: querystring({
    limit: integerParameter(
      { minimum: 2, maximum: maxCampaigns },
      { pattern: '^([2-9]|1\\d|20)$', description: 'Number of campaigns to compare, 2 to 20. Defaults to 10.' },
    ),
  }),
  response: {
    200: Type.Object({
      message: Type.String(),
      data: Type.Object({
        ...range,
        campaigns: Type.Array(
          Type.Object({ campaign_id: Type.Integer(), reach: Type.Integer(), exact }, { title: 'ReachOfCampaign' }),
        ),
        pairs: Type.Array(
          Type.Object(
            {
              campaign_ids: Type.Array(Type.Integer(), { minItems: 2, maxItems: 2 }),
              users: Type.Integer({ description: 'Number of unique users who saw both campaigns.' }),
              margin,
            },
            { title: 'OverlapOfCampaigns' },
          ),
        ),
      }),
    }),
    ...errorAnswers(400, 401, 403, 404),
  },
};

type ReachRouteDeps = {
  pool: pg.Pool;
  auth: Authenticator<Caller>;
  now: () => number;
  reports: ReportService;
};

/** Registers the routes for the frequency and overlap of unique users (docs/guides/reports.md#reach-and-frequency). */
export async function reachRoutes(app: App, { pool, auth, now, reports }: ReachRouteDeps): Promise<void> {
  const preValidation = auth.requireKey('reports', 'accounts');

  async function queryOf(request: FastifyRequest, parameters: object): Promise<ActivityQuery> {
    const { publisherId } = callOf(request);
    const publisher = callerOf(request).snapshot.publishers.get(publisherId);
    if (publisher === undefined) throw notFound('publisher');
    const hasKey = (key: string): Promise<boolean> => isReportKey(pool, publisherId, key);
    const options = { publisher, nowMs: now(), hasKey, resources: null };
    return (await readActivity(parameters as ActivityParameters, options)).query;
  }

  app.get('/manage/v1/reports/reach/frequency', { schema: frequencySchema, preValidation }, async (request, reply) => {
    const { publisher_id: _id, ...parameters } = request.query;
    const query = await queryOf(request, parameters);
    const frequency = await reports.readUsers(
      query,
      (executor, source) => countFrequency(executor, query, source),
      request.signal,
    );
    const { users, impressions, unknown, isExact, distribution } = frequency;
    const mean = frequencyOf(frequency);
    reply.header('cache-control', 'no-store');
    return {
      message: 'Users counted.',
      data: {
        from: query.from,
        to: query.to,
        reach: users,
        exact: isExact,
        impressions,
        frequency: Number.isNaN(mean) ? null : mean,
        unknown_impressions: unknown,
        distribution: [...distribution],
      },
    };
  });

  app.get('/manage/v1/reports/reach/overlap', { schema: overlapSchema, preValidation }, async (request, reply) => {
    const { publisher_id: _id, limit, ...parameters } = request.query;
    const query = await queryOf(request, parameters);
    const { campaigns, pairs } = await reports.readUsers(
      query,
      (executor, source) => countOverlap(executor, query, { source, limit: Number(limit ?? defaultCampaigns) }),
      request.signal,
    );
    reply.header('cache-control', 'no-store');
    return {
      message: 'Users counted.',
      data: {
        from: query.from,
        to: query.to,
        campaigns: campaigns.map(({ campaign, users, isExact }) => ({
          campaign_id: campaign,
          reach: users,
          exact: isExact,
        })),
        pairs: pairs.map(({ campaigns: ids, users, margin }) => ({ campaign_ids: [...ids], users, margin })),
      },
    };
  });
}
