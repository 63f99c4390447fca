import { type TSchema, Type } from '@sinclair/typebox';
import { contradictionsIn } from '../catalog/conditions.ts';
import { type CampaignRules, checkRules } from '../catalog/rules.ts';
import type { CatalogStore } from '../catalog/store.ts';
import { warningSchema } from '../management/answers.ts';
import { callOf, fieldsOf, type ManagementHttp, publisherQuery, requirePermission, send } from '../management/http.ts';
import type { Resource, Values } from '../management/resource.ts';
import { getRow } from '../management/rows.ts';
import { strictBody } from '../management/strict-body.ts';
import { conditionText } from '../offers/condition-text.ts';
import type { Offers } from '../offers/module.ts';
import { AppError, notFound } from '../platform/errors.ts';
import type { App } from '../platform/http/app.ts';
import { errorAnswers } from '../platform/http/schemas.ts';
import { inLanguage } from '../platform/i18n/reader.ts';

const tags = ['Campaigns'];
const path = '/manage/v1/campaigns';

const orNull = <Schema extends TSchema>(schema: Schema, options: object) => Type.Union([schema, Type.Null()], options);

const conditionFields = {
  rule: Type.String({ description: 'Name of the rule, as in decision explanations.' }),
  key: orNull(Type.String(), {
    title: 'TargetingConditionKey',
    description:
      'For `targeting`, the list, such as `countries`. For `conditions`, the index of the condition among those that ' +
      'must all be met. `null` for other rules.',
  }),
  text: Type.String({ description: 'The condition in words.' }),
};

const view = Type.Object(
  {
    days: Type.Integer({ description: 'Length of the period, in days.' }),
    is_sampled: Type.Boolean({ description: 'Whether the counts are estimates from a random sample of the sessions.' }),
    sessions: Type.Integer({ description: 'Number of sessions of the publisher in the period.' }),
    matching: Type.Integer({
      description: 'Number of sessions that match the targeting, schedule hours and conditions.',
    }),
    conditions: Type.Array(
      Type.Object(
        {
          ...conditionFields,
          excluded: Type.Integer({ description: 'Number of sessions that the condition excludes.' }),
          only: Type.Integer({ description: 'Number of sessions that only this condition excludes.' }),
        },
        { title: 'TargetingCondition' },
      ),
      { description: 'Conditions that exclude sessions, most restrictive first.' },
    ),
    unseen: Type.Array(
      Type.Object(
        { kind: Type.Union([Type.Literal('attribute'), Type.Literal('audience')]), key: Type.String() },
        { title: 'UnseenTargeting' },
      ),
      { description: 'Custom attributes and audiences that the rules use, but that no recent session had.' },
    ),
    examples: Type.Array(
      Type.Object(
        {
          at: Type.String({ format: 'date-time' }),
          placement: Type.String(),
          country: orNull(Type.String(), { title: 'ExampleCountry' }),
          device: orNull(Type.String(), { title: 'ExampleDevice' }),
          unmet: Type.Array(Type.Object(conditionFields, { title: 'UnmetCondition' }), {
            description: 'Conditions that the session does not meet. Empty if it matches.',
          }),
        },
        { title: 'TargetingExample' },
      ),
      { description: 'Examples of recent sessions: up to three that match, and up to three that almost match.' },
    ),
  },
  { title: 'TargetingCheck' },
);

const answer = Type.Object(
  { message: Type.String(), data: view, warnings: warningSchema },
  { title: 'TargetingCheckAnswer' },
);

type RouteDeps = {
  http: ManagementHttp;
  campaigns: Resource;
  catalog: CatalogStore;
  checkTargeting: Offers['checkTargeting'];
  now: () => number;
};

/**
 * Registers the routes that compare the targeting of a campaign with recent sessions
 * (docs/guides/forecasts.md#check-the-targeting).
 */
export async function targetingRoutes(app: App, deps: RouteDeps): Promise<void> {
  const { http, campaigns, catalog, checkTargeting, now } = deps;
  const permitted = requirePermission(http, campaigns.permission);

  async function bodyFor(publisherId: number, { rules: values = {}, is_loyalty: isLoyalty }: Values) {
    const details = checkRules(values).map(({ path, message }) => ({ path: `/rules${path}`, message }));
    if (details.length > 0) throw new AppError('invalid_request', { details });
    const rules = values as CampaignRules;
    const publisher = catalog.current().publishers.get(publisherId);
    if (publisher === undefined) throw notFound('publisher');
    const check = await checkTargeting(publisher, { rules, isLoyalty: isLoyalty === true });
    const data = inLanguage('en', () => viewOf(check, rules));
    return { message: 'Targeting checked.', data, warnings: contradictionsIn(rules, now()) };
  }

  const draftSchema = {
    operationId: 'checkTargetingDraft',
    summary: 'Check the targeting of a draft campaign',
    description:
      'Compares targeting rules with the sessions of the last 7 days, and returns how many sessions each condition ' +
      'excludes. Start and end dates, caps and other campaigns are ignored. `warnings` lists rules that contradict ' +
      'each other. Does not store anything.',
    tags,
    querystring: publisherQuery,
    body: Type.Object(
      {
        rules: Type.Optional(campaigns.input.properties.rules as TSchema),
        is_loyalty: Type.Optional(campaigns.input.properties.is_loyalty as TSchema),
      },
      { title: 'TargetingDraft', additionalProperties: false },
    ),
    response: { 200: answer, ...errorAnswers(400, 401, 403, 404) },
  };
  app.post(`${path}/targeting`, { schema: draftSchema, ...permitted, ...strictBody }, async (request, reply) => {
    const { publisherId } = callOf(request);
    const body = await bodyFor(publisherId, fieldsOf(request) as Values);
    return send(reply, { status: 200, body, headers: {} });
  });

  const storedSchema = {
    operationId: 'checkTargeting',
    summary: 'Check the targeting of a campaign',
    description: 'Compares the targeting of a stored campaign with the sessions of the last 7 days.',
    tags,
    params: Type.Object({ id: Type.String() }),
    querystring: publisherQuery,
    response: { 200: answer, ...errorAnswers(400, 401, 403, 404) },
  };
  app.get(`${path}/:id/targeting`, { schema: storedSchema, ...permitted }, async (request, reply) => {
    const { actor, publisherId } = callOf(request);
    const { id } = request.params as { id: string };
    const row = await http.management.read(actor, publisherId, (work) => getRow(campaigns, work, id));
    return send(reply, { status: 200, body: await bodyFor(publisherId, row), headers: {} });
  });
}

type Check = Awaited<ReturnType<Offers['checkTargeting']>>;

/** Converts a check to API format. */
function viewOf({ isSampled, conditions, examples, ...check }: Check, rules: CampaignRules) {
  const withText = <Condition extends { rule: string; key: string | null }>(condition: Condition) => ({
    ...condition,
    text: conditionText(condition, rules),
  });
  return {
    ...check,
    is_sampled: isSampled,
    conditions: conditions.map(withText),
    examples: examples.map(({ context: { nowMs, placement, geo, device }, unmet }) => ({
      at: new Date(nowMs).toISOString(),
      placement,
      country: geo.country,
      device,
      unmet: unmet.map(withText),
    })),
  };
}
