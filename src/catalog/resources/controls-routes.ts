import { type Static, Type } from '@sinclair/typebox';
import { warningSchema } from '../../management/answers.ts';
import {
  callOf,
  fieldsOf,
  type ManagementHttp,
  publisherIdParameter,
  publisherQuery,
  requirePermission,
  send,
} from '../../management/http.ts';
import { ifMatch } from '../../management/resource-routes.ts';
import { AppError } from '../../platform/errors.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import type { App } from '../../platform/ports.ts';
import type { CatalogStore } from '../store.ts';
import { controlsInput, controlsView, getControls, setControls } from './controls.ts';
import { publishers } from './publishers.ts';

const path = '/manage/v1/publishers/:id/controls';
const tags = ['Publishers'];
const params = Type.Object({ id: Type.String() });
const answer = Type.Object(
  { message: Type.String(), data: controlsView, warnings: warningSchema },
  { title: 'ControlsAnswer' },
);
type ControlsRoute = { Params: Static<typeof params>; Querystring: { dry_run?: unknown } };

/** What a publisher never shows, keeps apart, and shows only from a price on. */
export function controlsRoutes(app: App, http: ManagementHttp, store: Pick<CatalogStore, 'current'>): void {
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
      'says where they block every offer; `dry_run=true` only checks, and says what they would block.',
    tags,
    params,
    querystring: Type.Object({
      dry_run: Type.Optional(Type.String({ description: '`true`: nothing is saved.' })),
      publisher_id: publisherIdParameter,
    }),
    headers: ifMatch,
    body: Type.Partial(controlsInput),
    response: { 200: answer, ...errorAnswers(400, 401, 403, 404, 412) },
  };
  app.put<ControlsRoute>(path, { schema: putSchema, ...hooks }, async (request, reply) => {
    const { actor, publisherId } = callOf(request);
    const { dry_run: given } = request.query;
    if (given !== undefined && given !== 'true' && given !== 'false')
      throw new AppError('invalid_request', {
        details: [{ path: '/querystring/dry_run', message: 'must be true or false' }],
      });
    const mode = { ifMatch: request.headers['if-match'] ?? null, dryRun: given === 'true' };
    const { view, warnings, etag } = await http.management.write(actor, publisherId, (work) =>
      setControls(work, request.params.id, fieldsOf(request), mode, find),
    );
    const message = mode.dryRun ? 'Controls checked. Nothing was saved.' : 'Controls saved.';
    return send(reply, { status: 200, body: { message, data: view, warnings }, headers: { etag } });
  });
}
