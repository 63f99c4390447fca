import { type Static, Type } from '@sinclair/typebox';
import { answerOf, rowAnswer } from '../../management/answers.ts';
import { forLimitedKeys, type ManagementHttp, post, publisherQuery, requirePermission } from '../../management/http.ts';
import { capital, pascal, type Resource } from '../../management/resource.ts';
import { idempotencyKey } from '../../management/resource-routes.ts';
import { refuseFields } from '../../management/strict-body.ts';
import type { App } from '../../platform/http/app.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import { type StopAction, setStopped } from './stop.ts';

const params = Type.Object({ id: Type.String() });
type StopRoute = { Params: Static<typeof params> };

const texts: Record<StopAction, { verb: string; done: string; description: string }> = {
  stop: {
    verb: 'Stop',
    done: 'stopped',
    description:
      'Applies the kill switch: the resource and everything in it is no longer shown. The change takes effect in ' +
      'all processes within about a second. Other fields stay unchanged, and repeating the call has no effect.',
  },
  resume: { verb: 'Resume', done: 'resumed', description: 'Ends the kill switch and restores the previous state.' },
};

/** Registers the routes `POST …/{id}/stop` and `/resume` for a resource with a kill switch. */
export function stopRoutes(app: App, http: ManagementHttp, resource: Resource): void {
  const noun = `${/^[aeio]/.test(resource.noun) ? 'an' : 'a'} ${resource.noun}`;
  for (const action of ['stop', 'resume'] as const) {
    const { verb, done, description } = texts[action];
    const schema = {
      operationId: `${action}${pascal(resource.noun)}`,
      summary: `${verb} ${noun}`,
      description,
      tags: [capital(resource.name)],
      params,
      querystring: publisherQuery,
      headers: idempotencyKey,
      response: { 200: answerOf(http, resource), ...errorAnswers(400, 401, 403, 404, 422) },
    };
    const hooks = {
      ...requirePermission(http, resource.permission),
      preHandler: refuseFields,
      ...(resource.within && forLimitedKeys),
    };
    app.post<StopRoute>(`/manage/v1/${resource.name}/:id/${action}`, { schema, ...hooks }, (request, reply) =>
      post(http, request, reply, async (work) => {
        const row = await setStopped(resource, work, request.params.id, action);
        return rowAnswer(http, resource, work, row, { message: `${capital(resource.noun)} ${done}.` });
      }),
    );
  }
}
