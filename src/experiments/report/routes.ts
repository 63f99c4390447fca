import { type Static, Type } from '@sinclair/typebox';
import { callOf, type ManagementHttp, publisherIdParameter, publisherQuery, send } from '../../management/http.ts';
import { getRow } from '../../management/rows.ts';
import { operatorPermission } from '../../management/unit-of-work.ts';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import { errorAnswers, integerParameter } from '../../platform/http/schemas.ts';
import { type Problem, problem } from '../../platform/problem.ts';
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
    description:
      'Estimate with a confidence interval that is valid at any time. `null` for the control, or if there are too ' +
      'few users.',
  },
);

const metric = Type.Object(
  {
    value: Type.Number(),
    difference: estimate,
    lift: estimate,
    is_significant: Type.Boolean({ description: 'Whether the interval of the difference excludes 0.' }),
    probability_best: Type.Number({ description: 'Bayesian probability that this arm is the best, from 0 to 1.' }),
  },
  { title: 'ExperimentMetric' },
);

const arm = Type.Object(
  {
    arm: Type.String({
      description: 'Key of the arm. `outside` for users outside the experiment, if no arm is the control.',
    }),
    users: Type.Integer(),
    sessions: Type.Integer(),
    would_have_seen: Type.Object(
      { users: Type.Integer(), sessions: Type.Integer() },
      {
        description:
          'Users who saw an offer, or would have seen one. If a campaign is held out: an offer of this campaign.',
      },
    ),
    revenue_by_currency: Type.Array(
      Type.Object(
        {
          currency: Type.String(),
          revenue: Type.Number(),
          not_converted: Type.Number({
            description:
              'Part of the revenue that is missing in the metrics because there was no exchange rate for the day.',
          }),
        },
        { title: 'ExperimentRevenue' },
      ),
      { description: 'Booked revenue by currency. Different currencies are never added.' },
    ),
    metrics: Type.Record(Type.String(), metric, {
      description:
        'Revenue, perks, clicks and conversions per 1,000 sessions. Revenue is in `currency`. It is omitted if ' +
        'an earlier release added several currencies.',
    }),
    outcomes: Type.Record(Type.String(), metric, {
      description: "Metrics per user of the publisher's outcomes, and of own events as `own:` and their name.",
    }),
  },
  { title: 'ExperimentArmReport' },
);

const segments = Type.Object(
  {
    by: Type.String(),
    comparisons: Type.Integer({
      description: 'Number of simultaneous intervals. They are widened so that all of them hold at the same time.',
    }),
    values: Type.Array(
      Type.Object({
        value: Type.String({ description: 'Value of the segment; empty if it is unknown.' }),
        arms: Type.Array(
          Type.Object({
            arm: Type.String(),
            users: Type.Integer(),
            lift: estimate,
            value: Type.Number({ description: 'Revenue per 1,000 sessions.' }),
          }),
        ),
      }),
    ),
  },
  { title: 'ExperimentSegments' },
);

const ratio = Type.Object(
  {
    is_wrong: Type.Boolean({
      description: 'Whether the numbers of users differ so much from the planned shares that the results are invalid.',
    }),
    odds: Type.Number({ description: 'Odds against the planned shares. 1,000 or more indicates a problem.' }),
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
    population: Type.String({ description: 'Users that are compared: `all` or `would_have_seen`.' }),
    sample_ratio: ratio,
    seen_ratio: Type.Union([ratio, Type.Null()], {
      description:
        'The same check for users who saw an offer or would have seen one. It fails if an arm changes who sees ' +
        'offers. `null` if all users are compared.',
    }),
    before_exposure: Type.Object(
      { is_wrong: Type.Boolean(), arms: Type.Array(Type.String()) },
      { description: 'Arms whose users already differed from those of the control before the experiment.' },
    ),
    currency: Type.Union([Type.String(), Type.Null()], {
      description:
        'Currency of revenue for the whole version: the reporting currency at its start, or else the base of the ' +
        "publisher's exchange rates, or else the currency of the most frequent revenue. Other amounts are " +
        'converted at the rate of the day. `null` if there is no revenue yet, or if an earlier release added several ' +
        'currencies.',
    }),
    is_enough: Type.Boolean({
      description: 'Whether there is enough data to tell if revenue differs by at least `smallest_lift`.',
    }),
    users_needed: Type.Union([Type.Integer(), Type.Null()], {
      description: 'Number of users in all arms that are needed to detect `smallest_lift`.',
    }),
    users_counted: Type.Integer({ description: 'Number of users of the population in all arms.' }),
    explained_by_history: Type.Number({
      description: "Share of the variance of revenue that is explained by the users' history, from 0 to 1.",
    }),
    smallest_lift: Type.Number(),
    days_left: Type.Union([Type.Integer(), Type.Null()], {
      description: 'Estimated number of days until there is enough data, for a running experiment. `null` if unknown.',
    }),
    erased_users: Type.Integer({ description: 'Number of users of all versions whose data was erased.' }),
    arms: Type.Array(arm, { description: 'Results by arm, control first.' }),
    over_time: Type.Array(
      Type.Object({
        day: Type.String({
          description: 'UTC time. The last entry is the current time, or the end of the experiment.',
        }),
        is_enough: Type.Boolean(),
        arms: Type.Array(Type.Object({ arm: Type.String(), lift: estimate })),
      }),
      { description: 'Lift in revenue at the end of each of the last 120 days.' },
    ),
    enough_since: Type.Union([Type.String(), Type.Null()], { description: 'First day with enough data, or `null`.' }),
    segments: Type.Union([segments, Type.Null()], { description: 'Results by segment, if `segment` is set.' }),
  },
  { title: 'ExperimentReport' },
);

const params = Type.Object({ key: Type.String() });

const querystring = Type.Object({
  version: integerParameter({ minimum: 1 }, { description: 'Version of the experiment. Defaults to the current one.' }),
  population: Type.Optional(
    Type.String({
      description:
        'Users to compare: `all` or `would_have_seen`. Defaults to `would_have_seen` for experiments with a ' +
        'hold-out.',
    }),
  ),
  segment: Type.Optional(Type.String({ description: "Segment: `device` or `country` of each user's first session." })),
  publisher_id: publisherIdParameter,
});

type ReportRoute = { Params: Static<typeof params>; Querystring: Static<typeof querystring> };

const plan = Type.Object(
  {
    lift: Type.Number({ description: 'The `smallest_lift` of the experiment.' }),
    users_per_day: Type.Integer({
      description: 'Number of users per day at the placements of the experiment, from the last week.',
    }),
    users_needed: Type.Union([Type.Integer(), Type.Null()], {
      description:
        'Number of users in all arms needed to detect the lift with a power of 80%. `null` if there is no estimate.',
    }),
    days: Type.Union([Type.Integer(), Type.Null()], { description: 'Number of days needed at the current traffic.' }),
  },
  { title: 'ExperimentPlan' },
);

/** Dependencies of the experiment routes. `userKeyMark` is the prefix of user keys (`pepperMark`). */
export type ExperimentHttp = ManagementHttp & { userKeyMark: string };

/** Registers `GET /manage/v1/experiments/{key}/report` and `/plan`. */
export function reportRoutes(app: App, { management, auth, userKeyMark }: ExperimentHttp): void {
  const schema = {
    operationId: 'reportExperiment',
    summary: 'Get the report of an experiment',
    description:
      'Compares each arm with the control. The intervals are valid at any time, so you can check the report as ' +
      'often as you like.',
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
    return send(reply, { status: 200, body: { message: 'Experiment report found.', data }, headers: {} });
  });
  const planSchema = {
    operationId: 'planExperiment',
    summary: 'Plan an experiment',
    description:
      'Estimates the number of users and days needed to detect `smallest_lift`, from a sample of the last week.',
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
      return send(reply, { status: 200, body: { message: 'Experiment plan found.', data }, headers: {} });
    },
  );
}

const refuse = (name: string, message: Problem): AppError =>
  new AppError('invalid_request', { details: [{ path: `/querystring/${name}`, message }] });

function readVersion(text: string | undefined): number | null {
  if (text === undefined) return null;
  if (!/^[1-9]\d{0,5}$/.test(text)) throw refuse('version', problem('numberFromOne'));
  return Number(text);
}

function readPopulation(text: string | undefined): Population | null {
  if (text === undefined || text === 'all' || text === 'would_have_seen') return text ?? null;
  throw refuse('population', problem('oneOf', { choices: 'all, would_have_seen' }));
}

function readSegment(text: string | undefined): Segment | null {
  if (text === undefined || text === 'device' || text === 'country') return text ?? null;
  throw refuse('segment', problem('oneOf', { choices: 'device, country' }));
}
