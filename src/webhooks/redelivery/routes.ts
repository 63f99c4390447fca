import type { Static } from '@sinclair/typebox';
import type { AccountDeps } from '../../accounts/ports.ts';
import { callOf, publisherQuery } from '../../management/http.ts';
import { refuseFields, strictBody } from '../../management/strict-body.ts';
import { createFailFast } from '../../platform/db/fail-fast.ts';
import { type Executor, transaction } from '../../platform/db/pool.ts';
import { AppError } from '../../platform/errors.ts';
import { emptyBodyByDefault } from '../../platform/http/body-parsing.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import type { App } from '../../platform/ports.ts';
import type { DeliveryFilter } from '../deliveries/filter.ts';
import { deliveriesPath, deliveryParams } from '../deliveries/routes.ts';
import { redeliveryBody } from '../deliveries/schemas.ts';
import { webhookIdOf } from '../deliveries/view.ts';
import { readDeliveryId, readFilter } from '../delivery-filter.ts';
import type { EventTypes } from '../events.ts';
import { redeliveryJobRoutes } from './job-routes.ts';
import { countMatching, createJob, maxCounted } from './jobs.ts';
import { redeliverOne } from './redeliver-one.ts';
import { countAnswer, jobAnswer, redeliveredAnswer, viewOfJob } from './schemas.ts';

const tags = ['Deliveries'];

type RedeliveryDeps = AccountDeps & { events: EventTypes };

/** Redelivers one delivery, or all that match a filter (docs/interface.md#deliveries). */
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
          'The same `webhook-id` and bytes with a new signature and the whole retry schedule. The next attempt of a ' +
          'pending delivery is made now.',
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
        summary: 'Redeliver all deliveries that match',
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
