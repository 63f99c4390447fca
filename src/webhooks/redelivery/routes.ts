import { type Static, Type } from '@sinclair/typebox';
import { callOf, publisherQuery } from '../../catalog/management/http.ts';
import type { CatalogDeps } from '../../catalog/ports.ts';
import { createFailFast } from '../../platform/db/fail-fast.ts';
import { type Executor, transaction } from '../../platform/db/pool.ts';
import { AppError } from '../../platform/errors.ts';
import { emptyBodyByDefault } from '../../platform/http/body-parsing.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import { isUuid7 } from '../../platform/lib/uuid7.ts';
import type { App } from '../../platform/ports.ts';
import type { DeliveryFilter } from '../deliveries/filter.ts';
import { readDeliveryId, readFilter } from '../deliveries/request.ts';
import { deliveriesPath, deliveryParams } from '../deliveries/routes.ts';
import { redeliveryBody } from '../deliveries/schemas.ts';
import { findDelivery } from '../deliveries/store.ts';
import { webhookIdOf } from '../deliveries/view.ts';
import { orNull } from '../endpoints/schemas.ts';
import type { EventTypes } from '../events.ts';
import { cancelJob, countMatching, createJob, findJob, listJobs, maxCounted, type RedeliveryJob } from './jobs.ts';
import { lockOpenEndpoints, requeue } from './requeue.ts';

const redeliveriesPath = '/manage/v1/replays';
const tags = ['Deliveries'];

const jobView = Type.Object({
  id: Type.String({ format: 'uuid' }),
  status: Type.Union([Type.Literal('running'), Type.Literal('done'), Type.Literal('cancelled')]),
  total: Type.Integer({ description: 'Deliveries that matched when it was made, counted up to 1,000,000.' }),
  queued: Type.Integer({ description: 'Queued again by now.' }),
  created_at: Type.String({ format: 'date-time' }),
  finished_at: orNull(Type.String({ format: 'date-time' })),
});
const jobAnswer = Type.Object({ message: Type.String(), data: jobView });
const countAnswer = Type.Object({
  message: Type.String(),
  data: Type.Object({
    dry_run: Type.Literal(true),
    count: Type.Integer({ description: 'Deliveries that would be redelivered, counted up to 1,000,000.' }),
    capped: Type.Boolean({ description: 'There are more.' }),
  }),
});
const redeliveredAnswer = Type.Object({
  message: Type.String(),
  data: Type.Object({ id: Type.String(), webhook_id: Type.String(), status: Type.Literal('pending') }),
});
const jobParams = Type.Object({ id: Type.String() });

/** Redelivers one delivery, or all that match a filter (docs/interface.md#deliveries). */
export async function redeliveryRoutes(
  app: App,
  { events, ...deps }: CatalogDeps & { events: EventTypes },
): Promise<void> {
  const { pool, now } = deps;
  const guarded = createFailFast(deps.dbHealth);
  const write = <T>(work: (executor: Executor) => Promise<T>): Promise<T> => guarded(() => transaction(pool, work));
  app.addHook('preValidation', emptyBodyByDefault);
  app.addHook('preValidation', deps.auth.requireKey('configurations', 'accounts'));
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('cache-control', 'no-store');
  });

  app.post(
    `${deliveriesPath}/:id/replay`,
    {
      schema: {
        summary: 'Redeliver a delivery',
        description:
          'The same `webhook-id` and bytes with a new signature and the whole retry schedule. Not while it is pending.',
        tags,
        params: deliveryParams,
        querystring: publisherQuery,
        response: { 202: redeliveredAnswer, ...errorAnswers(401, 403, 404, 409) },
      },
    },
    async (request, reply) => {
      const id = readDeliveryId(request.params.id, now());
      if (id === null) throw new AppError('delivery_not_found');
      await write((executor) => redeliverOne(executor, callOf(request).publisherId, id, now()));
      reply.code(202);
      return {
        message: 'The delivery is queued again.',
        data: { id, webhook_id: webhookIdOf(id), status: 'pending' as const },
      };
    },
  );

  app.post(
    `${deliveriesPath}/replay`,
    {
      schema: {
        summary: 'Redeliver all deliveries that match',
        tags,
        querystring: publisherQuery,
        body: redeliveryBody(events),
        response: { 200: countAnswer, 202: jobAnswer, ...errorAnswers(400, 401, 403, 404, 409) },
      },
    },
    async (request, reply) => {
      const { endpoint, status, dry_run: dryRun } = request.body;
      const narrowed = { endpointId: endpoint ?? null, statuses: status };
      const filter = readFilter(request.body, narrowed, callOf(request).publisherId, now());
      if (dryRun) return reply.code(200).send(await guarded(() => countOf(pool, filter, now())));
      const job = await write((executor) => createJob(executor, filter, now()));
      return reply.code(202).send({ message: 'The redelivery has started.', data: viewOf(job) });
    },
  );

  app.get(
    redeliveriesPath,
    {
      schema: {
        summary: 'List the newest redeliveries',
        tags,
        querystring: publisherQuery,
        response: {
          200: Type.Object({ message: Type.String(), data: Type.Array(jobView) }),
          ...errorAnswers(401, 403, 404),
        },
      },
    },
    async (request) => {
      const jobs = await guarded(() => listJobs(pool, callOf(request).publisherId));
      return { message: 'Redeliveries found.', data: jobs.map(viewOf) };
    },
  );

  app.get(
    `${redeliveriesPath}/:id`,
    {
      schema: {
        summary: 'Show the progress of a redelivery',
        tags,
        params: jobParams,
        querystring: publisherQuery,
        response: { 200: jobAnswer, ...errorAnswers(401, 403, 404) },
      },
    },
    async (request) => {
      const job = await guarded(() => requireJob(pool, callOf(request).publisherId, request.params.id));
      return { message: 'Redelivery found.', data: viewOf(job) };
    },
  );

  app.post(
    `${redeliveriesPath}/:id/cancel`,
    {
      schema: {
        summary: 'Cancel a redelivery; what is queued already is sent',
        tags,
        params: jobParams,
        querystring: publisherQuery,
        response: { 200: jobAnswer, ...errorAnswers(401, 403, 404, 409) },
      },
    },
    async (request) => {
      const publisherId = callOf(request).publisherId;
      const job = await write(async (executor) => {
        const { id } = await requireJob(executor, publisherId, request.params.id);
        if (!(await cancelJob(executor, publisherId, id, now()))) throw new AppError('replay_finished');
        return requireJob(executor, publisherId, id);
      });
      return { message: 'Redelivery cancelled.', data: viewOf(job) };
    },
  );
}

/** @throws AppError `delivery_not_found`, `delivery_pending`, `delivery_erased`, `endpoint_disabled` */
export async function redeliverOne(executor: Executor, publisherId: number, id: string, nowMs: number): Promise<void> {
  const endpointIds = await lockOpenEndpoints(executor, publisherId);
  const found = await findDelivery(executor, publisherId, id);
  if (found === null) throw new AppError('delivery_not_found');
  if (found.erased_at !== null) throw new AppError('delivery_erased');
  if (found.status === 'pending') throw new AppError('delivery_pending');
  if (!endpointIds.includes(found.endpoint_id)) throw new AppError('endpoint_disabled');
  const statuses = ['delivered', 'failed', 'held'] as const;
  const queued = await requeue(executor, { publisherId, keys: [{ id, day: found.day }], endpointIds, statuses, nowMs });
  // Another call was first.
  if (queued === 0) throw new AppError('delivery_pending');
}

async function countOf(executor: Executor, filter: DeliveryFilter, nowMs: number): Promise<Static<typeof countAnswer>> {
  const count = await countMatching(executor, filter, nowMs);
  return { message: 'Nothing was sent.', data: { dry_run: true, count, capped: count === maxCounted } };
}

/** @throws AppError `replay_not_found` */
async function requireJob(executor: Executor, publisherId: number, id: string): Promise<RedeliveryJob> {
  const job = isUuid7(id) ? await findJob(executor, publisherId, id) : null;
  if (job === null) throw new AppError('replay_not_found');
  return job;
}

const viewOf = ({ id, status, total, queued, createdAt, finishedAt }: RedeliveryJob) => ({
  id,
  status,
  total,
  queued,
  created_at: createdAt.toISOString(),
  finished_at: finishedAt?.toISOString() ?? null,
});
