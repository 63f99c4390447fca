import { Type } from '@sinclair/typebox';
import {
  callOf,
  fieldsOf,
  forLimitedKeys,
  type ManagementHttp,
  publisherQuery,
  requirePermission,
  send,
} from '../management/http.ts';
import { createBody, type Resource, type Values } from '../management/resource.ts';
import { openManagementScope } from '../management/resource-routes.ts';
import { completeRow, getRow } from '../management/rows.ts';
import type { App } from '../platform/http/app.ts';
import { errorAnswers } from '../platform/http/schemas.ts';
import { readRecord } from './record.ts';
import type { Forecasts } from './service.ts';
import { forecastSchema, forecastView } from './view.ts';

const tags = ['Campaigns'];
const path = '/manage/v1/campaigns';
const answer = Type.Object({ message: Type.String(), data: forecastSchema }, { title: 'ForecastAnswer' });

/** Required campaign fields that do not affect a forecast, with the values to use if a draft omits them. */
const irrelevant: Values = { name: 'Draft', landing_url: 'https://shop.example/' };

type RouteDeps = { http: ManagementHttp; forecasts: Forecasts; campaigns: Resource };

/** Registers the routes that forecast a campaign (docs/guides/forecasts.md). */
export async function forecastRoutes(app: App, { http, forecasts, campaigns }: RouteDeps): Promise<void> {
  openManagementScope(app);
  const permitted = requirePermission(http, campaigns.permission);
  const input = createBody(campaigns);
  const properties = Object.fromEntries(
    Object.entries(input.properties).map(([name, schema]) => [
      name,
      name in irrelevant ? Type.Optional(schema) : schema,
    ]),
  );
  const draftSchema = {
    operationId: 'forecastDraft',
    summary: 'Forecast a draft campaign',
    description:
      'Forecasts the next 30 days of a campaign with the given fields, as if it were live. Repeats a sample of ' +
      'recent decisions with the campaign in the catalogue. Does not store anything.',
    tags,
    querystring: publisherQuery,
    body: Type.Object(properties, { title: 'ForecastDraft', additionalProperties: false }),
    response: { 200: answer, ...errorAnswers(400, 401, 403, 404) },
  };
  app.post(`${path}/forecast`, { schema: draftSchema, ...permitted }, async (request, reply) => {
    const { actor, publisherId } = callOf(request);
    const fields = fieldsOf(request, campaigns);
    const values = await http.management.read(actor, publisherId, (work) =>
      completeRow(campaigns, work, isObject(fields) ? { ...irrelevant, ...fields } : fields),
    );
    const forecast = await forecasts.of(publisherId, values, null);
    const record = await http.management.read(actor, publisherId, (work) => readRecord(work.executor, publisherId));
    const body = { message: 'Draft forecast.', data: forecastView(forecast, record) };
    return send(reply, { status: 200, body, headers: {} });
  });

  const storedSchema = {
    operationId: 'forecastCampaign',
    summary: 'Forecast a campaign',
    description:
      'Forecasts the next 30 days of a campaign. For a paused campaign, assumes that it is resumed now. Returns 429 ' +
      'if another forecast is being calculated for the publisher. Results are cached for up to 10 minutes.',
    tags,
    params: Type.Object({ id: Type.String() }),
    querystring: publisherQuery,
    response: { 200: answer, ...errorAnswers(401, 403, 404) },
  };
  app.get(`${path}/:id/forecast`, { schema: storedSchema, ...permitted, ...forLimitedKeys }, async (request, reply) => {
    const { actor, publisherId } = callOf(request);
    const { id } = request.params as { id: string };
    const { row, record } = await http.management.read(actor, publisherId, async (work) => ({
      row: await getRow(campaigns, work, id),
      record: await readRecord(work.executor, publisherId),
    }));
    const forecast = await forecasts.of(publisherId, row, row);
    const body = { message: 'Campaign forecast.', data: forecastView(forecast, record) };
    return send(reply, { status: 200, body, headers: {} });
  });
}

const isObject = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
