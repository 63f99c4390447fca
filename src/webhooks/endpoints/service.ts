import type { FastifyRequest } from 'fastify';
import type pg from 'pg';
import { callOf } from '../../management/http.ts';
import type { Work } from '../../management/unit-of-work.ts';
import { createFailFast, type DatabaseHealth } from '../../platform/db/health.ts';
import { type Executor, transaction } from '../../platform/db/pool.ts';
import { AppError } from '../../platform/errors.ts';
import type { SecretBox } from '../../platform/security/secret-box.ts';
import type { EndpointKey, Saved } from '../endpoint-changes.ts';
import { type Endpoint, type EndpointRef, listEndpoints } from '../endpoint-store.ts';
import { changeEndpoint, createEndpoint } from './audit.ts';
import { viewOfEndpoint, viewOfState } from './view.ts';

/** Function that changes an endpoint. `stored` is the locked endpoint before the change, or null for a new endpoint. */
export type Change<T> = (executor: Executor, key: EndpointKey, stored: Endpoint | null) => Promise<T>;

type ServiceDeps = { pool: pg.Pool; dbHealth: DatabaseHealth; secretBox: SecretBox; now: () => number };

export type EndpointService = ReturnType<typeof createEndpointService>;

/** Creates the service that the routes use to access the endpoints of the caller's publisher. */
export function createEndpointService({ pool, secretBox, now, dbHealth }: ServiceDeps) {
  const failFast = createFailFast(dbHealth);
  const list = (request: FastifyRequest, ref: EndpointRef | null) =>
    failFast(() => listEndpoints(pool, callOf(request).publisherId, ref));
  const work = <T>(request: FastifyRequest, run: (work: Work) => Promise<T>): Promise<T> => {
    const { actor, publisherId } = callOf(request);
    return failFast(() => transaction(pool, (executor) => run({ actor, publisherId, nowMs: now(), executor })));
  };
  return {
    /** Lists all endpoints of the publisher with their state. */
    list: async (request: FastifyRequest) =>
      (await list(request, null)).map(({ endpoint, health }) => ({
        ...viewOfEndpoint(endpoint, secretBox),
        state: viewOfState(endpoint, health),
      })),
    /**
     * Returns an endpoint of the publisher with its state.
     * @throws AppError `endpoint_not_found`
     */
    show: async (request: FastifyRequest, ref: EndpointRef) => {
      const [stored] = await list(request, ref);
      if (stored === undefined) throw new AppError('endpoint_not_found');
      return { ...viewOfEndpoint(stored.endpoint, secretBox), state: viewOfState(stored.endpoint, stored.health) };
    },
    /**
     * Changes an endpoint and writes the audit entry, in one transaction.
     * @throws AppError `endpoint_not_found`, and the errors of `change`
     */
    change: <T>(request: FastifyRequest, ref: EndpointRef, change: Change<T>): Promise<T> =>
      work(request, (unit) =>
        changeEndpoint(unit, ref, secretBox, (key, stored) => change(unit.executor, key, stored)),
      ),
    /**
     * Creates an endpoint for a list of event types and stores the audit entry.
     * @throws AppError `too_many_endpoints`
     */
    create: (request: FastifyRequest, create: (work: Work) => Promise<Saved>): Promise<Saved> =>
      work(request, (unit) => createEndpoint(unit, secretBox, () => create(unit))),
    /** Returns an endpoint in the response format. `secret` is set only for a new endpoint. */
    view: (endpoint: Endpoint, secret: string | null = null) => ({
      ...viewOfEndpoint(endpoint, secretBox),
      ...(secret !== null && { secret }),
    }),
  };
}
