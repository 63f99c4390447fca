import type { FastifyRequest } from 'fastify';
import { callOf } from '../../catalog/management/http.ts';
import { createFailFast } from '../../platform/db/fail-fast.ts';
import { type Executor, transaction } from '../../platform/db/pool.ts';
import { AppError } from '../../platform/errors.ts';
import type { EndpointDeps } from '../ports.ts';
import { changeEndpoint } from './audit.ts';
import type { EndpointKey } from './changes.ts';
import { type Endpoint, listEndpoints } from './store.ts';
import { viewOfEndpoint, viewOfState } from './view.ts';

/** `stored`: the endpoint before the change, locked; null: there is none. */
export type Change<T> = (executor: Executor, key: EndpointKey, stored: Endpoint | null) => Promise<T>;

type EndpointServiceDeps = Pick<EndpointDeps, 'pool' | 'secretBox' | 'now' | 'dbHealth'>;

export type EndpointService = ReturnType<typeof createEndpointService>;

/** What the routes do with the endpoints of a caller's publisher. */
export function createEndpointService({ pool, secretBox, now, dbHealth }: EndpointServiceDeps) {
  const failFast = createFailFast(dbHealth);
  const list = (request: FastifyRequest, event: string | null) =>
    failFast(() => listEndpoints(pool, callOf(request).publisherId, event));
  return {
    /** Every endpoint with its state. */
    list: async (request: FastifyRequest) =>
      (await list(request, null)).map(({ endpoint, health }) => ({
        ...viewOfEndpoint(endpoint, secretBox),
        state: viewOfState(endpoint, health),
      })),
    /** The endpoint of an event with its state. @throws AppError `endpoint_not_found` */
    show: async (request: FastifyRequest, event: string) => {
      const [found] = await list(request, event);
      if (found === undefined) throw new AppError('endpoint_not_found');
      return { ...viewOfEndpoint(found.endpoint, secretBox), state: viewOfState(found.endpoint, found.health) };
    },
    /**
     * Changes the endpoint of an event, in one transaction with its entry in the audit log.
     * @throws AppError `endpoint_not_found`, and those of `change`
     */
    change: <T>(request: FastifyRequest, event: string, change: Change<T>): Promise<T> => {
      const { actor, publisherId } = callOf(request);
      return failFast(() =>
        transaction(pool, (executor) =>
          changeEndpoint({ actor, publisherId, nowMs: now(), executor }, event, secretBox, (key, stored) =>
            change(executor, key, stored),
          ),
        ),
      );
    },
    /** An endpoint as an answer shows it; `secret` only where it is new. */
    view: (endpoint: Endpoint, secret: string | null = null) => ({
      ...viewOfEndpoint(endpoint, secretBox),
      ...(secret !== null && { secret }),
    }),
  };
}
