import type { Static } from '@sinclair/typebox';
import type pg from 'pg';
import type { Caller } from '../../accounts/caller.ts';
import { callOf, publisherQuery } from '../../management/http.ts';
import { refuseFields, strictBody } from '../../management/strict-body.ts';
import { createFailFast, type DatabaseHealth } from '../../platform/db/health.ts';
import { type Executor, transaction } from '../../platform/db/pool.ts';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import type { Authenticator } from '../../platform/http/auth.ts';
import { emptyBodyByDefault } from '../../platform/http/body-parsing.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import { isUuid7 } from '../../platform/lib/uuid7.ts';
import type { DeliveryFilter } from '../deliveries/filter.ts';
import { deliveriesPath, deliveryParams } from '../deliveries/routes.ts';
import { redeliveryBody } from '../deliveries/schemas.ts';
import { webhookIdOf } from '../deliveries/view.ts';
import { readDeliveryId, readFilter } from '../delivery-filter.ts';
import type { EventTypes } from '../events.ts';
import { cancelJob, countMatching, createJob, findJob, listJobs, maxCounted, type RedeliveryJob } from './jobs.ts';
import { redeliverOne } from './requeue.ts';
import { countAnswer, jobAnswer, jobListAnswer, jobParams, redeliveredAnswer, viewOfJob } from './schemas.ts';

const tags = ['Deliveries'];

type RedeliveryDeps = {
  pool: pg.Pool;
  dbHealth: DatabaseHealth;
  auth: Authenticator<Caller>;
  events: EventTypes;
  /** Returns the current time in epoch milliseconds. */
  now: () => number;
};

/**
 * Registers the routes that redeliver either a single delivery or all deliveries matching a filter
 * (docs/reference/webhooks.md#deliveries).
 */
export async function redeliveryRoutes(app: App, deps: RedeliveryDeps): Promise<void> {
  app.addHook('preValidation', emptyBodyByDefault);
  app.addHook('preValidation', deps.auth.requireKey('configurations', 'accounts'));
  app.addHook('preValidation', refuseFields);
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('cache-control', 'no-store');
  });
  createRoutes(app, deps);
  redeliveryJobRoutes(app, deps);
}

function createRoutes(app: App, { pool, dbHealth, now, events }: RedeliveryDeps): void {
  const failFast = createFailFast(dbHealth);
  const write = <T>(work: (executor: Executor) => Promise<T>): Promise<T> => failFast(() => transaction(pool, work));

  app.post(
    `${deliveriesPath}/:id/replay`,
    {
      schema: {
        operationId: 'redeliver',
        summary: 'Redeliver a delivery',
        description:
          'Sends the same `webhook-id` and bytes again, with a new signature and the whole retry schedule. For a ' +
          'pending delivery, the next attempt is made now.',
        tags,
        params: deliveryParams,
        querystring: publisherQuery,
        response: { 202: redeliveredAnswer, ...errorAnswers(400, 401, 403, 404, 409) },
      },
    },
    async (request, reply) => {
      const id = readDeliveryId(request.params.id, now());
      if (id === null) throw new AppError('delivery_not_found');
      await write((executor) => redeliverOne(executor, callOf(request).publisherId, id, now()));
      reply.code(202);
      const data = { id, webhook_id: webhookIdOf(id), status: 'pending' as const };
      return { message: 'The delivery is queued again.', data };
    },
  );

  app.post(
    `${deliveriesPath}/replay`,
    {
      schema: {
        operationId: 'createRedelivery',
        summary: 'Redeliver deliveries',
        description:
          'Starts a job that sends all matching deliveries again, with lower priority than new ones. `dry_run` ' +
          'only counts them.',
        tags,
        querystring: publisherQuery,
        body: redeliveryBody(events),
        response: { 200: countAnswer, 202: jobAnswer, ...errorAnswers(400, 401, 403, 404, 409) },
      },
      ...strictBody,
    },
    async (request, reply) => {
      const { endpoint, status, dry_run: dryRun } = request.body;
      const scope = { endpointId: endpoint ?? null, statuses: status };
      const filter = readFilter(request.body, scope, callOf(request).publisherId, now());
      if (dryRun) return reply.code(200).send(await failFast(() => dryRunOf(pool, filter, now())));
      const job = await write((executor) => createJob(executor, filter, now()));
      return reply.code(202).send({ message: 'The redelivery has started.', data: viewOfJob(job) });
    },
  );
}

async function dryRunOf(
  executor: Executor,
  filter: DeliveryFilter,
  nowMs: number,
): Promise<Static<typeof countAnswer>> {
  const count = await countMatching(executor, filter, nowMs);
  return { message: 'Nothing was sent.', data: { dry_run: true, count, capped: count === maxCounted } };
}

const path = '/manage/v1/replays';

/** Registers the routes that list, show and cancel redelivery jobs (docs/reference/webhooks.md#deliveries). */
function redeliveryJobRoutes(app: App, { pool, dbHealth, now }: RedeliveryDeps): void {
  const failFast = createFailFast(dbHealth);

  app.get(
    path,
    {
      schema: {
        operationId: 'listRedeliveries',
        summary: 'List redeliveries',
        description: 'Returns redelivery jobs with their state and progress.',
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
        summary: 'Get the progress of a redelivery',
        description: 'Returns the state of the job and the number of queued deliveries.',
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
        summary: 'Cancel a redelivery',
        description: 'Stops the job. Deliveries that are already queued are still sent.',
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

/**
 * Cancels a running redelivery job.
 * @throws AppError `replay_not_found`, `replay_finished`
 */
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

/**
 * Returns a redelivery job of the publisher.
 * @throws AppError `replay_not_found`
 */
async function requireJob(executor: Executor, publisherId: number, id: string): Promise<RedeliveryJob> {
  const job = isUuid7(id) ? await findJob(executor, publisherId, id) : null;
  if (job === null) throw new AppError('replay_not_found');
  return job;
}
