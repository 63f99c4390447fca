import { type Static, Type } from '@sinclair/typebox';
import { callOf, type ManagementHttp, publisherIdParameter, publisherQuery, send } from '../../management/http.ts';
import { getRow } from '../../management/rows.ts';
import { operatorPermission } from '../../management/unit-of-work.ts';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import { errorAnswers, integerParameter } from '../../platform/http/schemas.ts';
import { experiments } from '../configuration/experiments.ts';
import type { ExperimentView } from '../configuration/view.ts';
import { planFor, reportFor } from './find.ts';
import type { Population, Segment } from './sums.ts';

const estimate = Type.Union(
  [
    Type.Object({
      estimate: Type.Number(),
      low: Type.Number(),
      high: Type.Number(),
    }),
    Type.Null(),
  ],
  {
    title: 'ExperimentEstimate',
    description: 'With its interval, which holds at all times; null: the control, or too few users.',
  },
);

const metric = Type.Object(
  {
    value: Type.Number(),
    difference: estimate,
    lift: estimate,
    is_significant: Type.Boolean({ description: 'The interval of the difference leaves out 0.' }),
    probability_best: Type.Number({ description: 'Of this arm, by Bayes.' }),
  },
  { title: 'ExperimentMetric' },
);

const arm = Type.Object(
  {
    arm: Type.String({ description: '`outside`: those outside, where no arm is the control.' }),
    users: Type.Integer(),
    sessions: Type.Integer(),
    would_have_seen: Type.Object(
      { users: Type.Integer(), sessions: Type.Integer() },
      { description: 'Who was shown an offer, or would have been; where a campaign is held out, one of it.' },
    ),
    revenue_by_currency: Type.Array(
      Type.Object(
        {
          currency: Type.String(),
          revenue: Type.Number(),
          not_converted: Type.Number({
            description: 'Part of it that is not in the metrics: there was no exchange rate of the day.',
          }),
        },
        { title: 'ExperimentRevenue' },
      ),
      { description: 'What was booked, by currency. Different currencies are never added.' },
    ),
    metrics: Type.Record(Type.String(), metric, {
      description:
        'By 1,000 sessions: revenue, perks, clicks, conversions. Revenue is in `currency`; it is left out where an ' +
        'earlier release has summed several currencies.',
    }),
    outcomes: Type.Record(Type.String(), metric, {
      description: "The publisher's own, and own events as `own:` with their names, by user.",
    }),
  },
  { title: 'ExperimentArmReport' },
);

const segments = Type.Object(
  {
    by: Type.String(),
    comparisons: Type.Integer({
      description: 'Intervals of the segments, which hold together: each is wider for the others.',
    }),
    values: Type.Array(
      Type.Object({
        value: Type.String({ description: 'Empty: unknown.' }),
        arms: Type.Array(
          Type.Object({
            arm: Type.String(),
            users: Type.Integer(),
            lift: estimate,
            value: Type.Number({ description: 'Revenue of 1,000 sessions.' }),
          }),
        ),
      }),
    ),
  },
  { title: 'ExperimentSegments' },
);

const ratio = Type.Object(
  {
    is_wrong: Type.Boolean({ description: 'Users were lost or counted twice in some arm: the numbers mislead.' }),
    odds: Type.Number({ description: 'Against the planned shares; 1,000 is the alarm.' }),
  },
  { title: 'ExperimentShares' },
);

const report = Type.Object(
  {
    key: Type.String(),
    state: Type.String(),
    version: Type.Integer(),
    from: Type.Union([Type.String(), Type.Null()]),
    control: Type.String(),
    population: Type.String({ description: '`all` or `would_have_seen`.' }),
    sample_ratio: ratio,
    seen_ratio: Type.Union([ratio, Type.Null()], {
      description:
        'The same of those who saw an offer, or would have: an arm changes who does; null: all are compared.',
    }),
    before_exposure: Type.Object(
      { is_wrong: Type.Boolean(), arms: Type.Array(Type.String()) },
      { description: 'Arms whose users differed from those of the control before they were in the experiment.' },
    ),
    currency: Type.Union([Type.String(), Type.Null()], {
      description:
        'Of revenue, and the same for the whole version: the reporting currency when it began, or else the base of ' +
        "the publisher's exchange rates, or else the currency that it earns in most often. Other amounts are " +
        'converted at the rate of the day. null: nothing was earned yet, or an earlier release summed several.',
    }),
    is_enough: Type.Boolean({ description: 'The data answer whether revenue differs by `smallest_lift` at least.' }),
    users_needed: Type.Union([Type.Integer(), Type.Null()], { description: 'Of all arms, to see `smallest_lift`.' }),
    users_counted: Type.Integer({ description: 'Of the population, in all arms.' }),
    explained_by_history: Type.Number({
      description: 'Part of the variance of revenue that is explained by what users did before, 0 to 1.',
    }),
    smallest_lift: Type.Number(),
    days_left: Type.Union([Type.Integer(), Type.Null()], {
      description: 'Of one that runs, until there is enough, at the pace so far; null: unknown as yet.',
    }),
    erased_users: Type.Integer({ description: 'Users whose sums were erased, of all versions.' }),
    arms: Type.Array(arm, { description: 'The control first.' }),
    over_time: Type.Array(
      Type.Object({
        day: Type.String({ description: 'UTC; the last one is now, or that of the end.' }),
        is_enough: Type.Boolean(),
        arms: Type.Array(Type.Object({ arm: Type.String(), lift: estimate })),
      }),
      { description: 'The lift in revenue as it stood at the end of each day, of the last 120.' },
    ),
    enough_since: Type.Union([Type.String(), Type.Null()], { description: 'Day; null: there is not enough.' }),
    segments: Type.Union([segments, Type.Null()], { description: 'Where `segment` asks for it.' }),
  },
  { title: 'ExperimentReport' },
);

const params = Type.Object({ key: Type.String() });

const querystring = Type.Object({
  version: integerParameter({ minimum: 1 }, { description: 'Default: the present one.' }),
  population: Type.Optional(
    Type.String({ description: '`all` or `would_have_seen`; default: the latter where there is a hold-out.' }),
  ),
  segment: Type.Optional(Type.String({ description: '`device` or `country` of the first session of users.' })),
  publisher_id: publisherIdParameter,
});

type ReportRoute = { Params: Static<typeof params>; Querystring: Static<typeof querystring> };

const plan = Type.Object(
  {
    lift: Type.Number({ description: "The experiment's `smallest_lift`." }),
    users_per_day: Type.Integer({ description: 'At its placements, by the last week.' }),
    users_needed: Type.Union([Type.Integer(), Type.Null()], {
      description: 'Of all arms, to see the difference in revenue with a probability of 80 %; null: there is none.',
    }),
    days: Type.Union([Type.Integer(), Type.Null()], { description: 'Until then, at this traffic.' }),
  },
  { title: 'ExperimentPlan' },
);

/** `userKeyMark`: prefix of user keys (`pepperMark`). */
export type ExperimentHttp = ManagementHttp & { userKeyMark: string };

/** `GET /manage/v1/experiments/{key}/report` and `/plan`. */
export function reportRoutes(app: App, { management, auth, userKeyMark }: ExperimentHttp): void {
  const schema = {
    operationId: 'reportExperiment',
    summary: 'Report an experiment',
    description: 'What each arm does against the control. Looking often does no harm: the intervals hold at all times.',
    tags: ['Experiments'],
    params,
    querystring,
    response: { 200: Type.Object({ message: Type.String(), data: report }), ...errorAnswers(400, 401, 403, 404) },
  };
  const preValidation = auth.requireKey('reports', 'configurations', operatorPermission);
  app.get<ReportRoute>('/manage/v1/experiments/:key/report', { schema, preValidation }, async (request, reply) => {
    const { actor, publisherId } = callOf(request);
    const { version, population, segment } = request.query;
    const options = {
      version: readVersion(version),
      population: readPopulation(population),
      segment: readSegment(segment),
    };
    const data = await management.readMoment(actor, publisherId, (work) =>
      reportFor(work, request.params.key, options),
    );
    return send(reply, { status: 200, body: { message: 'Report of the experiment.', data }, headers: {} });
  });
  const planSchema = {
    operationId: 'planExperiment',
    summary: 'Plan an experiment',
    description: 'How many users and days it takes to see its smallest lift, by a sample of the last week.',
    tags: ['Experiments'],
    params,
    querystring: publisherQuery,
    response: { 200: Type.Object({ message: Type.String(), data: plan }), ...errorAnswers(400, 401, 403, 404) },
  };
  app.get<ReportRoute>(
    '/manage/v1/experiments/:key/plan',
    { schema: planSchema, preValidation },
    async (request, reply) => {
      const { actor, publisherId } = callOf(request);
      const data = await management.read(actor, publisherId, async (work) =>
        planFor(work, (await getRow(experiments, work, request.params.key)) as ExperimentView, userKeyMark),
      );
      return send(reply, { status: 200, body: { message: 'Plan of the experiment.', data }, headers: {} });
    },
  );
}

const refuse = (name: string, message: string): AppError =>
  new AppError('invalid_request', { details: [{ path: `/querystring/${name}`, message }] });

function readVersion(text: string | undefined): number | null {
  if (text === undefined) return null;
  if (!/^[1-9]\d{0,5}$/.test(text)) throw refuse('version', 'must be a number from 1');
  return Number(text);
}

function readPopulation(text: string | undefined): Population | null {
  if (text === undefined || text === 'all' || text === 'would_have_seen') return text ?? null;
  throw refuse('population', 'must be all or would_have_seen');
}

function readSegment(text: string | undefined): Segment | null {
  if (text === undefined || text === 'device' || text === 'country') return text ?? null;
  throw refuse('segment', 'must be device or country');
}
