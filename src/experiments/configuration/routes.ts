import { type Static, Type } from '@sinclair/typebox';
import { answerOf, rowAnswer } from '../../management/answers.ts';
import { post, publisherQuery, requirePermission } from '../../management/http.ts';
import type { View } from '../../management/resource.ts';
import { idempotencyKey, openManagementScope, resourceRoutes } from '../../management/resource-routes.ts';
import { refuseFields, strictBody } from '../../management/strict-body.ts';
import type { Work } from '../../management/unit-of-work.ts';
import type { App } from '../../platform/http/app.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import { type ExperimentHttp, reportRoutes } from '../report/routes.ts';
import { adoptArm, undoAdoption } from './adopt.ts';
import { experiments } from './experiments.ts';
import { startExperiment, stopExperiment } from './state.ts';

const params = Type.Object({ key: Type.String() });

const adoptBody = Type.Object(
  { arm: Type.String({ description: 'Key of the arm. `holdout` turns the unit off.' }) },
  { title: 'ExperimentAdoptionInput', additionalProperties: false },
);

type ActionRoute = { Params: Static<typeof params>; Body: unknown };
type Action = {
  summary: string;
  description: string;
  body?: typeof adoptBody;
  run: (work: Work, key: string, body: unknown) => Promise<View>;
  done: string;
};

const actions: Readonly<Record<string, Action>> = {
  start: {
    summary: 'Start an experiment',
    run: startExperiment,
    done: 'Experiment started.',
    description:
      'Assigns users to the arms, in all processes within about a second. The call fails if another running ' +
      'experiment changes the same setting at the same placement, unless both are in the same layer.',
  },
  stop: {
    summary: 'Stop an experiment',
    run: stopExperiment,
    done: 'Experiment stopped.',
    description: 'All users get the unchanged unit again. The results stay available.',
  },
  adopt: {
    summary: 'Make an arm permanent',
    body: adoptBody,
    run: (work, key, body) => adoptArm(work, key, (body as Static<typeof adoptBody>).arm),
    done: 'The arm is permanent.',
    description:
      'Writes the changes of the arm into placements, themes and revenue floors, and stops the experiment. ' +
      '`undo` restores the previous values.',
  },
  undo: {
    summary: 'Undo a permanent arm',
    run: undoAdoption,
    done: 'Undone.',
    description:
      'Restores the values from before an arm was made permanent, except for values that were changed since.',
  },
};

/** Registers the REST routes for experiments: `/manage/v1/experiments`. */
export async function experimentRoutes(app: App, http: ExperimentHttp): Promise<void> {
  openManagementScope(app);
  resourceRoutes(app, http, experiments, ['list', 'create']);
  reportRoutes(app, http);
  for (const [action, { run, done, summary, description, body }] of Object.entries(actions)) {
    const schema = {
      operationId: `${action}Experiment`,
      summary,
      description,
      tags: ['Experiments'],
      params,
      querystring: publisherQuery,
      headers: idempotencyKey,
      ...(body && { body }),
      response: { 200: answerOf(http, experiments), ...errorAnswers(400, 401, 403, 404, 409, 422) },
    };
    const reads = body === undefined ? { preHandler: refuseFields } : strictBody;
    const hooks = { ...requirePermission(http, experiments.permission), ...reads };
    app.post<ActionRoute>(`/manage/v1/experiments/:key/${action}`, { schema, ...hooks }, (request, reply) =>
      post(http, request, reply, async (work) => {
        const view = await run(work, request.params.key, request.body);
        return rowAnswer(http, experiments, work, view, { message: done });
      }),
    );
  }
  resourceRoutes(app, http, experiments, ['get', 'update', 'remove']);
}
