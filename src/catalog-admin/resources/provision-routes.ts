import { Type } from '@sinclair/typebox';
import {
  callOf,
  fieldsOf,
  forLimitedKeys,
  type ManagementHttp,
  publisherQuery,
  requirePermission,
  send,
} from '../../management/http.ts';
import type { Values } from '../../management/resource.ts';
import { ifMatch, operatorOnly } from '../../management/resource-routes.ts';
import { etagOf } from '../../management/rows.ts';
import type { App } from '../../platform/http/app.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import { listProvisions, provisionInput, setProvision } from './provisions.ts';

const path = '/manage/v1/campaigns/:id/publishers';
const tags = ['Campaigns'];
const view = Type.Object(
  { campaign_id: Type.Integer(), publisher_id: Type.Integer(), ...provisionInput.properties },
  { title: 'Provision' },
);

/**
 * Registers the routes that define which publishers run a campaign. Only operators may assign a campaign to publishers
 * other than its owner.
 */
export function provisionRoutes(app: App, http: ManagementHttp): void {
  const hooks = { ...requirePermission(http, 'offers/management'), ...forLimitedKeys };

  const listSchema = {
    operationId: 'listProvisions',
    summary: 'List the publishers of a campaign',
    description: 'Returns the publishers that the campaign is provisioned to.',
    tags,
    params: Type.Object({ id: Type.String() }),
    querystring: publisherQuery,
    response: { 200: Type.Object({ data: Type.Array(view) }), ...errorAnswers(401, 403, 404) },
  };
  app.get(path, { schema: listSchema, ...hooks }, async (request, reply) => {
    const { actor, publisherId } = callOf(request);
    const { id } = request.params as { id: string };
    const data = await http.management.read(actor, publisherId, (work) => listProvisions(work, id));
    return send(reply, { status: 200, body: { data }, headers: {} });
  });

  const putSchema = {
    operationId: 'setProvision',
    security: operatorOnly,
    summary: 'Provision a campaign',
    description:
      "Provisions the campaign to the publisher in the path. `publisher_id` in the query is the campaign's owner.",
    tags,
    params: Type.Object({ id: Type.String(), publisher_id: Type.String() }),
    querystring: publisherQuery,
    headers: ifMatch,
    body: Type.Partial(provisionInput),
    response: { 200: Type.Object({ message: Type.String(), data: view }), ...errorAnswers(400, 401, 403, 404, 412) },
  };
  app.put(`${path}/:publisher_id`, { schema: putSchema, ...hooks }, async (request, reply) => {
    const { actor, publisherId } = callOf(request);
    const { id, publisher_id } = request.params as { id: string; publisher_id: string };
    const match = request.headers['if-match'] ?? null;
    const data = await http.management.write(actor, publisherId, (work) =>
      setProvision(work, id, publisher_id, (fieldsOf(request) ?? {}) as Values, match),
    );
    return send(reply, { status: 200, body: { message: 'Provision saved.', data }, headers: { etag: etagOf(data) } });
  });
}
