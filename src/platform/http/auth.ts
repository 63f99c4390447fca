import { hash } from 'node:crypto';
import type { FastifyRequest, preValidationHookHandler } from 'fastify';
import type { ApiKey, Permission, Publisher, Snapshot } from '../../catalog/snapshot/types.ts';
import { AppError } from '../errors.ts';
import { createRateLimit, tooManyRequests } from './failure-limit.ts';

/** Who calls: set on the request by `requireKey`. The snapshot is the one the whole request works with. */
export type Caller = { publisher: Publisher; snapshot: Snapshot; key: ApiKey | null };

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | null;
  }
}

export type AuthDeps = { catalog: { current: () => Snapshot }; now: () => number };

/** Where a key may be. */
export type Asked = Pick<FastifyRequest, 'query' | 'body' | 'headers'>;

export type Authenticator = {
  /**
   * Who asks, with a key that has one of these permissions. @throws AppError missing_key, unknown_key,
   * permission_denied, too_many_requests
   */
  identify: (asked: Asked, permission: Permission, ...others: Permission[]) => Caller;
  /**
   * A hook that admits keys with this permission, or one of the others (and, for `ads/offers`, SDK ids), and sets
   * `request.caller`.
   */
  requireKey: (permission: Permission, ...others: Permission[]) => preValidationHookHandler;
};

/**
 * Key checks of docs/interface.md#fetch-offers: query `api_key`, `Authorization: Bearer`, body `key`, body `api_key`;
 * first found
 * wins.
 */
export function createAuthenticator({ catalog, now }: AuthDeps): Authenticator {
  const takeFromKey = createRateLimit(now);

  function identify(asked: Asked, permission: Permission, ...others: Permission[]): Caller {
    const secret = presentedKey(asked);
    if (secret === null) throw new AppError('missing_key');
    const snapshot = catalog.current();
    const key = snapshot.keys.get(hashKey(secret));
    if (key === undefined) return identifySdk(secret, permission, snapshot);
    const publisher = snapshot.publishers.get(key.publisherId);
    if (publisher === undefined || (key.expiresAtMs !== null && key.expiresAtMs <= now()))
      throw new AppError('unknown_key');
    if (!key.permissions.has(permission) && !others.some((other) => key.permissions.has(other)))
      throw permissionDenied(permission);
    if (
      key.rateLimitPerS !== null &&
      !takeFromKey(String(key.id), { perS: key.rateLimitPerS, burst: key.rateLimitPerS })
    )
      throw tooManyRequests();
    return { publisher, snapshot, key };
  }

  return {
    identify,
    // With a callback: the promise of an async hook costs more than the check.
    requireKey:
      (permission, ...others) =>
      (request, _reply, done) => {
        try {
          request.caller = identify(request, permission, ...others);
          done();
        } catch (err) {
          done(err as Error);
        }
      },
  };
}

/** The hex digest under which a key is stored. Keys are long and random, so one fast hash is enough. */
export const hashKey = (key: string): string => hash('sha256', key, 'hex');

/** The caller of a request that passed `requireKey`. */
export function callerOf(request: FastifyRequest): Caller {
  if (request.caller === null) throw new Error('the route has no requireKey hook');
  return request.caller;
}

function identifySdk(sdkId: string, permission: Permission, snapshot: Snapshot): Caller {
  const publisher = snapshot.publishersBySdkId.get(sdkId);
  if (publisher === undefined) throw new AppError('unknown_key');
  if (permission !== 'ads/offers') throw permissionDenied(permission);
  return { publisher, snapshot, key: null };
}

const permissionDenied = (permission: Permission): AppError =>
  new AppError('permission_denied', { message: `The key lacks the permission ${permission}.` });

function presentedKey(asked: Asked): string | null {
  const query = asked.query as Record<string, unknown>;
  const body = (typeof asked.body === 'object' && asked.body !== null ? asked.body : {}) as Record<string, unknown>;
  const bearer = /^bearer +(\S+)$/i.exec(asked.headers.authorization ?? '')?.[1];
  for (const candidate of [query.api_key, bearer, body.key, body.api_key]) {
    if (candidate === undefined || candidate === '') continue;
    if (typeof candidate !== 'string') throw new AppError('unknown_key');
    return candidate;
  }
  return null;
}
