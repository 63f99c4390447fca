import { Type } from '@sinclair/typebox';
import type pg from 'pg';
import type { Caller } from '../../accounts/caller.ts';
import type { Config } from '../../config.ts';
import { callOf, publisherQuery } from '../../management/http.ts';
import { createFailFast, type DatabaseHealth } from '../../platform/db/health.ts';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import type { Authenticator } from '../../platform/http/auth.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import { readCursor, writeCursor } from '../../platform/http/uuid7-cursor.ts';
import { readDeliveryId, readFilter } from '../delivery-filter.ts';
import { findAttempts, findDelivery, readDeliveries } from '../delivery-store.ts';
import type { EventTypes } from '../events.ts';
import { reconciliationRoute } from './reconciliation-route.ts';
import { deliveryAnswer, listAnswer, listQuery } from './schemas.ts';
import { viewOfDelivery, viewOfWholeDelivery } from './view.ts';
import { findPage } from './walk.ts';

export const deliveriesPath = '/manage/v1/deliveries';
export const deliveryParams = Type.Object({
  id: Type.String({ description: 'ID of the delivery, or the `webhook-id` of its attempts.' }),
});
const tags = ['Deliveries'];
const defaultLimit = 50;

type DeliveryDeps = {
  pool: pg.Pool;
  dbHealth: DatabaseHealth;
  config: Config;
  auth: Authenticator<Caller>;
  events: EventTypes;
  /** Returns the current time in epoch milliseconds. */
  now: () => number;
};

/**
 * Registers the routes for a publisher's deliveries: the list, the reconciliation, and a single delivery with its
 * attempts (docs/reference/webhooks.md#deliveries).
 */
export async function deliveryRoutes(app: App, deps: DeliveryDeps): Promise<void> {
  const { pool, now, events } = deps;
  const failFast = createFailFast(deps.dbHealth);
  app.addHook('preValidation', deps.auth.requireKey('configurations', 'accounts'));
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('cache-control', 'no-store');
  });

  app.get(
    deliveriesPath,
    {
      schema: {
        operationId: 'listDeliveries',
        summary: 'List deliveries',
        description:
          'Returns deliveries, newest first. All filters must match. `next_cursor` leads to older deliveries.',
        tags,
        querystring: listQuery(events),
        response: { 200: listAnswer, ...errorAnswers(400, 401, 403, 404) },
      },
    },
    async (request) => {
      const { query } = request;
      const scope = {
        endpointId: query.endpoint === undefined ? null : Number(query.endpoint),
        statuses: query.status === undefined ? null : [query.status],
      };
      const filter = readFilter(query, scope, callOf(request).publisherId, now());
      const below = query.cursor === undefined ? null : readCursor(query.cursor, now());
      const limit = Number(query.limit ?? defaultLimit);
      const { rows, next } = await failFast(async () => {
        const page = await findPage(pool, filter, below, limit);
        return { rows: await readDeliveries(pool, page.keys), next: page.next };
      });
      const data = { deliveries: rows.map(viewOfDelivery), next_cursor: next === null ? null : writeCursor(next) };
      return { message: 'Deliveries found.', data };
    },
  );

  reconciliationRoute(app, deps);

  app.get(
    `${deliveriesPath}/:id`,
    {
      schema: {
        operationId: 'getDelivery',
        summary: 'Get a delivery',
        description: 'Returns the body as it was signed, and the time, status and response of each attempt.',
        tags,
        params: deliveryParams,
        querystring: publisherQuery,
        response: { 200: deliveryAnswer, ...errorAnswers(401, 403, 404) },
      },
    },
    async (request) => {
      const id = readDeliveryId(request.params.id, now());
      const delivery = id === null ? null : await failFast(() => findDelivery(pool, callOf(request).publisherId, id));
      if (delivery === null) throw new AppError('delivery_not_found');
      const attempts = await failFast(() => findAttempts(pool, delivery.id));
      return { message: 'Delivery found.', data: viewOfWholeDelivery(delivery, attempts) };
    },
  );
}
