import { type Static, Type } from '@sinclair/typebox';
import { findAdvertiser } from '../accounts/advertisers.ts';
import {
  callOf,
  forLimitedKeys,
  type ManagementHttp,
  publisherIdParameter,
  requirePermission,
  send,
} from '../management/http.ts';
import { AppError, notFound } from '../platform/errors.ts';
import type { App } from '../platform/http/app.ts';
import { errorAnswers } from '../platform/http/schemas.ts';
import { dayMs, dayOf } from '../platform/lib/time.ts';
import { fromMicros } from '../platform/money.ts';
import { problem } from '../platform/problem.ts';
import { counts, type ReportGroup, type ReportLine, readReport, readReportScope, reportGroups } from './report.ts';

type Deps = Parameters<typeof readReport>[0] & { http: ManagementHttp; now: () => number };

const defaultDays = 30;
const day = (description: string) => Type.Optional(Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$', description }));

const query = Type.Object({
  publisher_id: publisherIdParameter,
  from: day('First day, such as 2026-11-01, in the time zone of each publisher. Defaults to 29 days before today.'),
  to: day('Last day. Defaults to today.'),
  by: Type.Optional(
    Type.Unsafe<ReportGroup>({
      type: 'string',
      enum: [...reportGroups],
      description: 'Dimension to group by. Defaults to campaign.',
    }),
  ),
});

const row = Type.Object(
  {
    id: Type.Union([Type.Integer(), Type.Null()], {
      description: 'ID of the campaign or publisher, or `null` for a day.',
    }),
    name: Type.String({ description: 'Name of the campaign or publisher, or the day.' }),
    currency: Type.String(),
    ...Object.fromEntries(counts.map((name) => [name, Type.Integer()])),
    spent: Type.Number({ description: 'Billed amount.' }),
    unbilled: Type.Number({ description: 'Amount that was not billed because the budget was exhausted.' }),
  },
  { title: 'AdvertiserReportRow' },
);

const schema = {
  operationId: 'getAdvertiserReport',
  summary: 'Get an advertiser report',
  description:
    "Reports the results of the advertiser's campaigns at all publishers that run them. A key that is limited " +
    'to campaigns sees only these campaigns.',
  tags: ['Reports'],
  params: Type.Object({ id: Type.String() }),
  querystring: query,
  response: {
    200: Type.Object({
      data: Type.Object(
        { from: Type.String(), to: Type.String(), by: Type.String(), rows: Type.Array(row) },
        { title: 'AdvertiserReport' },
      ),
    }),
    ...errorAnswers(400, 401, 403, 404, 503),
  },
};

/** Registers the advertiser report route for API keys (docs/reference/management.md#reports). */
export function reportRoute(app: App, { http, now, ...sources }: Deps): void {
  const hooks = { ...requirePermission(http, 'reports'), ...forLimitedKeys };
  type Call = { Params: { id: string }; Querystring: Static<typeof query> };
  app.get<Call>('/manage/v1/advertisers/:id/report', { schema, ...hooks }, async (request, reply) => {
    const { actor, publisherId } = callOf(request);
    const id = /^[1-9]\d{0,8}$/.test(request.params.id) ? Number(request.params.id) : 0;
    const limit = actor.restrictions?.resources ?? null;
    if (limit !== null && limit.placements !== null)
      throw new AppError('permission_denied', {
        message: problem('keyOfPlacements'),
      });
    const scope = await http.management.read(actor, publisherId, async (work) => {
      const scope = await readReportScope(work, id);
      const owner = (await findAdvertiser(work.executor, id))?.publisherId;
      if (owner !== publisherId || (limit !== null && scope.campaigns.size === 0)) throw notFound('advertiser');
      return scope;
    });
    const { by = 'campaign', to = dayOf(now()), from = dayOf(now() - (defaultDays - 1) * dayMs) } = request.query;
    const lines = await readReport(sources, scope, { by, from, to }, request.signal);
    return send(reply, { status: 200, body: { data: { from, to, by, rows: lines.map(view) } }, headers: {} });
  });
}

const view = ({ sums: { revenue_micros, unbilled_micros, ...sums }, ...line }: ReportLine) => ({
  ...line,
  ...sums,
  spent: fromMicros(revenue_micros),
  unbilled: fromMicros(unbilled_micros),
});
