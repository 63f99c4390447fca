import { callOf, publisherQuery } from '../../management/http.ts';
import { createFailFast } from '../../platform/db/fail-fast.ts';
import { type Executor, transaction } from '../../platform/db/pool.ts';
import { AppError } from '../../platform/errors.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import { isUuid7 } from '../../platform/lib/uuid7.ts';
import type { App, PlatformDeps } from '../../platform/ports.ts';
import { cancelJob, findJob, listJobs, type RedeliveryJob } from './jobs.ts';
import { jobAnswer, jobListAnswer, jobParams, viewOfJob } from './schemas.ts';

const path = '/manage/v1/replays';
const tags = ['Deliveries'];

/** Lists, shows and cancels redeliveries (docs/interface.md#deliveries). */
export function redeliveryJobRoutes(app: App, { pool, dbHealth, now }: PlatformDeps): void {
  const failFast = createFailFast(dbHealth);

  app.get(
    path,
    {
      schema: {
        operationId: 'listRedeliveries',
        summary: 'List the newest redeliveries',
        tags,
        querystring: publisherQuery,
        response: { 200: jobListAnswer, ...errorAnswers(401, 403, 404) },
      },
    },
    async (request) => {
      const jobs = await failFast(() => listJobs(pool, callOf(request).publisherId));
      return { message: 'Redeliveries found.', data: jobs.map(viewOfJob) };
    },
  );

  app.get(
    `${path}/:id`,
    {
      schema: {
        operationId: 'getRedelivery',
        summary: 'Show the progress of a redelivery',
        tags,
        params: jobParams,
        querystring: publisherQuery,
        response: { 200: jobAnswer, ...errorAnswers(401, 403, 404) },
      },
    },
    async (request) => {
      const job = await failFast(() => requireJob(pool, callOf(request).publisherId, request.params.id));
      return { message: 'Redelivery found.', data: viewOfJob(job) };
    },
  );

  app.post(
    `${path}/:id/cancel`,
    {
      schema: {
        operationId: 'cancelRedelivery',
        summary: 'Cancel a redelivery; what is queued already is sent',
        tags,
        params: jobParams,
        querystring: publisherQuery,
        response: { 200: jobAnswer, ...errorAnswers(400, 401, 403, 404, 409) },
      },
    },
    async (request) => {
      const { publisherId } = callOf(request);
      const job = await failFast(() =>
        transaction(pool, (executor) => cancelRunning(executor, publisherId, request.params.id, now())),
      );
      return { message: 'Redelivery cancelled.', data: viewOfJob(job) };
    },
  );
}

/** @throws AppError `replay_not_found`, `replay_finished` */
async function cancelRunning(
  executor: Executor,
  publisherId: number,
  jobId: string,
  nowMs: number,
): Promise<RedeliveryJob> {
  const { id } = await requireJob(executor, publisherId, jobId);
  if (!(await cancelJob(executor, publisherId, id, nowMs))) throw new AppError('replay_finished');
  return requireJob(executor, publisherId, id);
}

/** @throws AppError `replay_not_found` */
async function requireJob(executor: Executor, publisherId: number, id: string): Promise<RedeliveryJob> {
  const job = isUuid7(id) ? await findJob(executor, publisherId, id) : null;
  if (job === null) throw new AppError('replay_not_found');
  return job;
}
