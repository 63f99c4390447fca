import { type Static, Type } from '@sinclair/typebox';
import type { Caller } from '../../accounts/caller.ts';
import { callOf, publisherIdParameter } from '../../management/http.ts';
import { createFailFast, type DatabaseHealth } from '../../platform/db/health.ts';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import type { Authenticator } from '../../platform/http/auth.ts';
import { errorAnswers, integerParameter } from '../../platform/http/schemas.ts';
import { type Alternative, alternatives } from './alternatives.ts';
import { intervalOf } from './estimate.ts';
import type { CheckRanking, RankingCheck } from './ranking-check.ts';

const query = Type.Object({
  publisher_id: publisherIdParameter,
  ranking: Type.Union(
    alternatives.map((name) => Type.Literal(name)),
    {
      description:
        'Ranking to evaluate. `weights`: by weight only. `no_context`: by the learned rates of offers, without ' +
        'properties of users. `without_campaign`: without `campaign_id`.',
    },
  ),
  campaign_id: integerParameter(
    { minimum: 1 },
    { pattern: '^[1-9]\\d{0,9}$', description: 'Id of the campaign that is left out. Only with `without_campaign`.' },
  ),
});

const orNull = (description: string) => Type.Union([Type.Number(), Type.Null()], { description });

const answer = Type.Object({
  message: Type.String(),
  data: Type.Object({
    ranking: Type.String(),
    campaign_id: Type.Union([Type.Integer(), Type.Null()]),
    from: Type.String({ format: 'date-time' }),
    to: Type.String({ format: 'date-time' }),
    sessions: Type.Integer({ description: 'Number of randomly chosen sessions whose decisions were repeated.' }),
    effective_sessions: Type.Integer({
      description:
        'Effective sample size: number of sessions of the other ranking with the same statistical information.',
    }),
    coverage: Type.Number({
      description: "Share of the other ranking's offers that were also shown at least occasionally.",
    }),
    is_enough: Type.Boolean({ description: 'Whether there is enough data for an estimate.' }),
    actual: orNull('Actual revenue per 1,000 sessions, or `null` without sessions.'),
    estimated: orNull('Estimated revenue per 1,000 sessions with the other ranking, or `null` without enough data.'),
    lift: Type.Union(
      [
        Type.Object(
          { estimate: Type.Number(), low: Type.Number(), high: Type.Number() },
          {
            title: 'RankingLift',
            description:
              'Relative difference of the estimated revenue, with its 95 % confidence interval. 0.1 is 10 % more.',
          },
        ),
        Type.Null(),
      ],
      { description: 'Estimated lift, or `null` without enough data.' },
    ),
  }),
});

type RankingCheckDeps = { dbHealth: DatabaseHealth; auth: Authenticator<Caller>; check: CheckRanking };

/** Route that estimates the earnings of another ranking (docs/guides/how-a-decision-is-made.md#another-ranking). */
export async function rankingCheckRoutes(app: App, { dbHealth, auth, check }: RankingCheckDeps): Promise<void> {
  const failFast = createFailFast(dbHealth);
  const schema = {
    operationId: 'checkRanking',
    summary: 'Estimate the revenue of another ranking',
    description:
      'Estimates revenue from stored decisions of the last 7 days, without showing the other ranking to users. ' +
      'Results are cached for 10 minutes.',
    tags: ['Decisions'],
    querystring: query,
    response: { 200: answer, ...errorAnswers(400, 401, 403) },
  };
  const preValidation = auth.requireKey('reports', 'configurations');
  app.get('/manage/v1/ranking-check', { schema, preValidation }, async (request) => {
    const { publisherId } = callOf(request);
    const other = alternativeOf(request.query);
    return viewOf(other, await failFast(() => check(publisherId, other)));
  });
}

function alternativeOf({ ranking, campaign_id: campaignId }: Static<typeof query>): Alternative {
  if ((ranking === 'without_campaign') === (campaignId !== undefined))
    return { ranking, campaignId: campaignId === undefined ? null : Number(campaignId) };
  throw new AppError('invalid_request', { message: 'campaign_id goes with ranking=without_campaign, and only there.' });
}

const thousandSessions = (micros: number): number => Math.round(micros / 10) / 100;

const viewOf = ({ ranking, campaignId }: Alternative, check: RankingCheck) => ({
  message: check.isEnough ? 'Estimated.' : 'Too little data.',
  data: {
    ranking,
    campaign_id: campaignId,
    from: new Date(check.fromMs).toISOString(),
    to: new Date(check.toMs).toISOString(),
    sessions: check.sessions,
    effective_sessions: Math.round(check.effectiveSessions),
    coverage: check.coverage,
    is_enough: check.isEnough,
    actual: check.sessions === 0 ? null : thousandSessions(check.actualMicros),
    estimated: check.isEnough ? thousandSessions(check.otherMicros) : null,
    lift: check.isEnough ? intervalOf(check) : null,
  },
});
