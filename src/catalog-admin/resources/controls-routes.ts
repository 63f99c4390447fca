import { type Static, Type } from '@sinclair/typebox';
import type { FastifyRequest } from 'fastify';
import { type ControlsEffect, ruleKey } from '../../catalog/controls.ts';
import type { PageExtensions } from '../../catalog/pages.ts';
import type { CatalogStore } from '../../catalog/store.ts';
import type { Publisher } from '../../catalog/types.ts';
import { warningSchema } from '../../management/answers.ts';
import {
  callOf,
  fieldsOf,
  flagOf,
  type ManagementHttp,
  publisherIdParameter,
  publisherQuery,
  requirePermission,
  send,
} from '../../management/http.ts';
import { ifMatch } from '../../management/resource-routes.ts';
import { isOperator } from '../../management/unit-of-work.ts';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import { booleanParameter, errorAnswers } from '../../platform/http/schemas.ts';
import { fromMicros } from '../../platform/money.ts';
import { blockedOfferRoutes, type RouteHooks } from './blocked-offers-routes.ts';
import { controlsInput, controlsView, getControls, setControls } from './controls.ts';
import { publishers } from './publishers.ts';

const path = '/manage/v1/publishers/:id/controls';
const tags = ['Publishers'];
const params = Type.Object({ id: Type.String() });
const share = (description: string) => Type.Number({ minimum: 0, maximum: 1, description });
const effectFields = {
  changed: share('Share of the sampled decisions that would have been different.'),
  emptied: share('Share of the sampled decisions that would have returned no offers.'),
  revenue: Type.Array(Type.Object({ currency: Type.String(), amount: Type.Number() }), {
    description:
      'Estimated change in the booked revenue in the period, by currency: booked revenue times the relative ' +
      'change of expected revenue. A loss never exceeds the booked revenue.',
  }),
  is_enough: Type.Boolean({
    description: 'Whether the data is sufficient in all currencies. If false, amounts are missing in `revenue`.',
  }),
};
const sampleFields = {
  days: Type.Integer({ description: 'Length of the period, in days.' }),
  sessions: Type.Integer({ description: 'Approximate number of sessions in the period.' }),
  sampled: Type.Integer({ description: 'Number of randomly chosen decisions that were repeated.' }),
};
const effectView = Type.Object({ ...sampleFields, ...effectFields }, { title: 'ControlsEffect' });
const ruleCost = Type.Object(
  {
    by: Type.String(),
    value: Type.String(),
    placement: Type.Union([Type.String(), Type.Null()], {
      title: 'ControlsRulePlacement',
      description: 'Placement that the rule applies to, or `null` for all placements.',
    }),
    note: Type.String({ description: 'Reason for the rule.' }),
    ends_at: Type.Union([Type.String(), Type.Null()], {
      title: 'ControlsRuleCostEnd',
      description: 'Time from which the rule no longer applies.',
    }),
    ...effectFields,
  },
  { title: 'ControlsRuleCost' },
);
const costView = Type.Object(
  {
    ...sampleFields,
    rules: Type.Array(ruleCost, {
      description: 'Estimated effect of removing each active rule. 0 means no difference.',
    }),
    rest: Type.Integer({ description: 'Number of rules that were not evaluated. At most 100 are.' }),
  },
  { title: 'ControlsCost' },
);
const answer = Type.Object(
  { message: Type.String(), data: controlsView, warnings: warningSchema, effect: Type.Optional(effectView) },
  { title: 'ControlsAnswer' },
);
type ControlsRoute = { Params: Static<typeof params>; Querystring: { dry_run?: unknown } };

/**
 * Registers the routes for block rules, which define the offers that a publisher never shows, keeps apart, or shows
 * only above a minimum revenue.
 */
export function controlsRoutes(
  app: App,
  http: ManagementHttp,
  { store, extensions }: { store: CatalogStore; extensions: PageExtensions },
): void {
  const find = (id: number) => store.current().publishers.get(id);
  /** Loads the publisher in the path. Only operators can name one that is not the publisher of the call. */
  const loadNamed = async (request: FastifyRequest): Promise<void> => {
    const { id } = request.params as Static<typeof params>;
    if (isOperator(callOf(request).actor) && /^[1-9]\d{0,9}$/.test(id)) await store.ready(Number(id));
  };
  const hooks = { ...requirePermission(http, publishers.permission), preHandler: loadNamed };

  const getSchema = {
    operationId: 'getControls',
    summary: "Get a publisher's block rules",
    description: 'Returns blocked, allowed and separated offers, and revenue floors, with an ETag.',
    tags,
    params,
    querystring: publisherQuery,
    response: { 200: answer, ...errorAnswers(401, 403, 404) },
  };
  app.get<ControlsRoute>(path, { schema: getSchema, ...hooks }, async (request, reply) => {
    const { actor, publisherId } = callOf(request);
    const { view, warnings, etag } = await http.management.read(actor, publisherId, (work) =>
      getControls(work, request.params.id, find),
    );
    const body = { message: 'Block rules found.', data: view, warnings };
    return send(reply, { status: 200, body, headers: { etag } });
  });

  const putSchema = {
    operationId: 'setControls',
    summary: "Replace a publisher's block rules",
    description:
      'Replaces all block rules; omitted parts become empty. The rules take effect in all processes within about ' +
      'a second. A rule with `ends_at` in `rule_details` no longer applies from that time. `warnings` lists the ' +
      'placements at which every offer is blocked. `dry_run=true` saves nothing ' +
      'and returns what the rules would block, and in `effect` the share of recent responses that would change.',
    tags,
    params,
    querystring: Type.Object({
      dry_run: booleanParameter('`true` saves nothing.'),
      publisher_id: publisherIdParameter,
    }),
    headers: ifMatch,
    body: Type.Partial(controlsInput),
    response: { 200: answer, ...errorAnswers(400, 401, 403, 404, 412) },
  };
  app.put<ControlsRoute>(path, { schema: putSchema, ...hooks }, async (request, reply) => {
    const { actor, publisherId } = callOf(request);
    const mode = { ifMatch: request.headers['if-match'] ?? null, dryRun: flagOf(request, 'dry_run') };
    const { view, inForce, warnings, etag } = await http.management.write(actor, publisherId, (work) =>
      setControls(work, request.params.id, fieldsOf(request), mode, find),
    );
    if (!mode.dryRun)
      return send(reply, {
        status: 200,
        body: { message: 'Block rules saved.', data: view, warnings },
        headers: { etag },
      });
    const publisher = find(view.publisher_id);
    const effect = publisher && (await extensions.controlsEffects?.of(publisher, inForce));
    const message = 'Controls checked. Nothing was saved.';
    const body = { message, data: view, warnings, ...(effect !== undefined && { effect: effectOf(effect) }) };
    return send(reply, { status: 200, body, headers: { etag } });
  });

  costRoute(app, http, { find, extensions, hooks });
  blockedOfferRoutes(app, http, { find, hooks });
}

type Cost = { find: (id: number) => Publisher | undefined; extensions: PageExtensions; hooks: RouteHooks };

function costRoute(app: App, http: ManagementHttp, { find, extensions, hooks }: Cost): void {
  const costSchema = {
    operationId: 'getControlsCost',
    summary: 'Get the cost of each block rule',
    description: 'Repeats a random sample of decisions of the last 7 days without each rule.',
    tags,
    params,
    querystring: publisherQuery,
    response: {
      200: Type.Object({ message: Type.String(), data: costView }, { title: 'ControlsCostAnswer' }),
      ...errorAnswers(401, 403, 404, 429),
    },
  };
  app.get<ControlsRoute>(`${path}/cost`, { schema: costSchema, ...hooks }, async (request) => {
    const { actor, publisherId } = callOf(request);
    const { view } = await http.management.read(actor, publisherId, (work) =>
      getControls(work, request.params.id, find),
    );
    const publisher = find(view.publisher_id);
    const cost = publisher && (await extensions.controlsEffects?.cost(publisher));
    if (cost === undefined) throw new AppError('resource_not_found');
    const details = new Map(view.rule_details.map((detail) => [ruleKey(detail), detail]));
    const { days, sessions, sampled, rules, rest } = cost;
    const data = {
      days,
      sessions,
      sampled,
      rest,
      rules: rules.map((rule) => {
        const { note = '', ends_at = null } = details.get(ruleKey(rule)) ?? {};
        return { by: rule.by, value: rule.value, placement: rule.placement, note, ends_at, ...changesOf(rule.effect) };
      }),
    };
    return { message: 'Cost of block rules estimated.', data };
  });
}

const changesOf = ({ changed, emptied, revenue, isEnough }: ControlsEffect) => ({
  changed,
  emptied,
  revenue: revenue.map(({ currency, micros }) => ({ currency, amount: fromMicros(micros) })),
  is_enough: isEnough,
});

const effectOf = (effect: ControlsEffect) => {
  const { days, sessions, sampled } = effect;
  return { days, sessions, sampled, ...changesOf(effect) };
};
