import { type Static, Type } from '@sinclair/typebox';
import { answerOf, rowAnswer } from '../../management/answers.ts';
import { type ManagementHttp, post, publisherQuery, requirePermission } from '../../management/http.ts';
import { capital } from '../../management/resource.ts';
import { idempotencyKey, openManagementScope, resourceRoutes } from '../../management/resource-routes.ts';
import { refuseFields } from '../../management/strict-body.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import type { App } from '../../platform/ports.ts';
import { reportRoutes } from '../report/routes.ts';
import { experiments } from './experiments.ts';
import { startExperiment, stopExperiment } from './state.ts';

const params = Type.Object({ key: Type.String() });
type ActionRoute = { Params: Static<typeof params> };

const actions = {
  start: {
    run: startExperiment,
    done: 'started',
    description:
      'From now on, in every process within about a second, users are in its arms. One that touches the same setting ' +
      'at the same placement as another that runs is refused, unless both are of one layer.',
  },
  stop: {
    run: stopExperiment,
    done: 'stopped',
    description: 'From now on everybody gets the unit as it is. The numbers stay.',
  },
};

/** REST over experiments: `/manage/v1/experiments`. */
export async function experimentRoutes(app: App, http: ManagementHttp): Promise<void> {
  openManagementScope(app);
  resourceRoutes(app, http, experiments, ['list', 'create']);
  reportRoutes(app, http);
  for (const [action, { run, done, description }] of Object.entries(actions)) {
    const schema = {
      operationId: `${action}Experiment`,
      summary: `${capital(action)} an experiment`,
      description,
      tags: ['Experiments'],
      params,
      querystring: publisherQuery,
      headers: idempotencyKey,
      response: { 200: answerOf(http, experiments), ...errorAnswers(400, 401, 403, 404, 409, 422) },
    };
    const hooks = { ...requirePermission(http, experiments.permission), preHandler: refuseFields };
    app.post<ActionRoute>(`/manage/v1/experiments/:key/${action}`, { schema, ...hooks }, (request, reply) =>
      post(http, request, reply, async (work) => {
        const view = await run(work, request.params.key);
        return rowAnswer(http, experiments, work, view, { message: `Experiment ${done}.` });
      }),
    );
  }
  resourceRoutes(app, http, experiments, ['get', 'update', 'remove']);
}
