import { type Static, Type } from '@sinclair/typebox';
import type { ControlsEffect } from '../../catalog/controls.ts';
import type { PageExtensions } from '../../catalog/pages.ts';
import type { Publisher, Snapshot } from '../../catalog/types.ts';
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
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import { booleanParameter, errorAnswers } from '../../platform/http/schemas.ts';
import { fromMicros } from '../../platform/money.ts';
import { controlsInput, controlsView, getControls, setControls, storedOf } from './controls.ts';
import { publishers } from './publishers.ts';

const path = '/manage/v1/publishers/:id/controls';
const tags = ['Publishers'];
const params = Type.Object({ id: Type.String() });
const share = (description: string) => Type.Number({ minimum: 0, maximum: 1, description });
const effectFields = {
  changed: share('Share of the decisions that would have shown something else.'),
  emptied: share('Share of those that would have shown nothing.'),
  revenue: Type.Array(Type.Object({ currency: Type.String(), amount: Type.Number() }), {
    description:
      'Change of the revenue that was booked in these days, by currency: booked revenue times the relative change of ' +
      'what is expected. A loss is never more than what was booked.',
  }),
  is_enough: Type.Boolean({
    description: 'Whether there is enough data for amounts in all currencies; else some are missing in `revenue`.',
  }),
};
const sampleFields = {
  days: Type.Integer({ description: 'How far back decisions are looked at.' }),
  sessions: Type.Integer({ description: 'How many there were, about.' }),
  sampled: Type.Integer({ description: 'How many of them, chosen by chance, were made again.' }),
};
const effectView = Type.Object({ ...sampleFields, ...effectFields }, { title: 'ControlsEffect' });
const ruleCost = Type.Object(
  {
    by: Type.String(),
    value: Type.String(),
    placement: Type.Union([Type.String(), Type.Null()], {
      title: 'ControlsRulePlacement',
      description: 'null: it holds at all of them.',
    }),
    ...effectFields,
  },
  { title: 'ControlsRuleCost' },
);
const costView = Type.Object(
  {
    ...sampleFields,
    rules: Type.Array(ruleCost, {
      description: 'What would have been without each rule that was in force; 0 where it made no difference.',
    }),
    rest: Type.Integer({ description: 'Rules that were not looked at, of more than a hundred.' }),
  },
  { title: 'ControlsCost' },
);
const answer = Type.Object(
  { message: Type.String(), data: controlsView, warnings: warningSchema, effect: Type.Optional(effectView) },
  { title: 'ControlsAnswer' },
);
type ControlsRoute = { Params: Static<typeof params>; Querystring: { dry_run?: unknown } };

/** Routes of block rules: what a publisher never shows, keeps apart, and shows only above a floor. */
export function controlsRoutes(
  app: App,
  http: ManagementHttp,
  { store, extensions }: { store: { current: () => Snapshot }; extensions: PageExtensions },
): void {
  const hooks = requirePermission(http, publishers.permission);
  const find = (id: number) => store.current().publishers.get(id);

  const getSchema = {
    operationId: 'getControls',
    summary: "Show a publisher's block rules",
    description: 'What it never shows, what it keeps apart, and its floors. With an ETag.',
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
    const body = { message: 'Controls found.', data: view, warnings };
    return send(reply, { status: 200, body, headers: { etag } });
  });

  const putSchema = {
    operationId: 'setControls',
    summary: "Set a publisher's block rules",
    description:
      'Replaces all of them; what is left out is empty. Effective in every process within about a second. `warnings` ' +
      'says where they block every offer; `dry_run=true` only checks, and says what they would block, and what share ' +
      'of the answers of the last days they would change (`effect`).',
    tags,
    params,
    querystring: Type.Object({
      dry_run: booleanParameter('`true`: nothing is saved.'),
      publisher_id: publisherIdParameter,
    }),
    headers: ifMatch,
    body: Type.Partial(controlsInput),
    response: { 200: answer, ...errorAnswers(400, 401, 403, 404, 412) },
  };
  app.put<ControlsRoute>(path, { schema: putSchema, ...hooks }, async (request, reply) => {
    const { actor, publisherId } = callOf(request);
    const mode = { ifMatch: request.headers['if-match'] ?? null, dryRun: flagOf(request, 'dry_run') };
    const { view, warnings, etag } = await http.management.write(actor, publisherId, (work) =>
      setControls(work, request.params.id, fieldsOf(request), mode, find),
    );
    if (!mode.dryRun)
      return send(reply, {
        status: 200,
        body: { message: 'Controls saved.', data: view, warnings },
        headers: { etag },
      });
    const publisher = find(view.publisher_id);
    const effect = publisher && (await extensions.controlsEffects?.of(publisher, storedOf(view)));
    const message = 'Controls checked. Nothing was saved.';
    const body = { message, data: view, warnings, ...(effect !== undefined && { effect: effectOf(effect) }) };
    return send(reply, { status: 200, body, headers: { etag } });
  });

  costRoute(app, http, { find, extensions });
}

type Cost = { find: (id: number) => Publisher | undefined; extensions: PageExtensions };

function costRoute(app: App, http: ManagementHttp, { find, extensions }: Cost): void {
  const costSchema = {
    operationId: 'getControlsCost',
    summary: 'Show what each block rule costs',
    description: 'Decisions of the last seven days, chosen by chance, are made again without each rule.',
    tags,
    params,
    querystring: publisherQuery,
    response: {
      200: Type.Object({ message: Type.String(), data: costView }, { title: 'ControlsCostAnswer' }),
      ...errorAnswers(401, 403, 404, 429),
    },
  };
  const permitted = requirePermission(http, publishers.permission);
  app.get<ControlsRoute>(`${path}/cost`, { schema: costSchema, ...permitted }, async (request) => {
    const { actor, publisherId } = callOf(request);
    const { view } = await http.management.read(actor, publisherId, (work) =>
      getControls(work, request.params.id, find),
    );
    const publisher = find(view.publisher_id);
    const cost = publisher && (await extensions.controlsEffects?.cost(publisher));
    if (cost === undefined) throw new AppError('resource_not_found');
    const { days, sessions, sampled, rules, rest } = cost;
    const data = {
      days,
      sessions,
      sampled,
      rest,
      rules: rules.map(({ by, value, placement, effect }) => ({ by, value, placement, ...changesOf(effect) })),
    };
    return { message: 'Decisions made again.', data };
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
