import type { FastifyRequest } from 'fastify';
import type { CatalogStore } from '../catalog/store.ts';
import type { ApiKey, Publisher, Snapshot } from '../catalog/types.ts';
import { callOf } from '../management/http.ts';
import {
  type Authenticator,
  createAuthenticator,
  hashKey,
  type KeyGrant,
  type KeySource,
  type Permission,
  presentedKey,
} from '../platform/http/auth.ts';
import { refusalOf } from '../platform/http/key-restrictions.ts';
import type { KeyUses } from './key-uses.ts';

/** The owner of the presented key. `snapshot` serves the whole request. `key` null: an SDK id. */
export type Caller = { publisher: Publisher; snapshot: Snapshot; key: ApiKey | null };

/** An SDK id is public: it stands in pages, and may only fetch offers. */
const sdkPermissions: ReadonlySet<Permission> = new Set(['ads/offers']);

/** @returns null where the key or SDK id is unknown or expired */
function findCaller(snapshot: Snapshot, secret: string, nowMs: number): KeyGrant<Caller> | null {
  const key = snapshot.keys.get(hashKey(secret));
  if (key === undefined) {
    const publisher = snapshot.publishersBySdkId.get(secret);
    if (publisher === undefined) return null;
    return { permissions: sdkPermissions, limits: [], restrictions: null, caller: { publisher, snapshot, key: null } };
  }
  const publisher = snapshot.publishers.get(key.publisherId);
  if (publisher === undefined || (key.expiresAtMs !== null && key.expiresAtMs <= nowMs)) return null;
  const { permissions, limits, restrictions } = key;
  return { permissions, limits, restrictions, caller: { publisher, snapshot, key } };
}

/** The caller of a request that passed `requireKey`. */
export function callerOf(request: FastifyRequest): Caller {
  if (request.caller === null) throw new Error('the route has no requireKey hook');
  return request.caller as Caller;
}

/**
 * Whether the key of a request that passed `requireKey` still has what it had then: for streams, which outlive their
 * request.
 */
export function createKeyCheck(
  catalog: Pick<CatalogStore, 'current'>,
  now: () => number,
): (request: FastifyRequest) => () => boolean {
  return (request) => {
    const { publisher, key } = callerOf(request);
    const [secret, publisherId] = [presentedKey(request) ?? '', publisher.id];
    const permissions = [...(key?.permissions ?? [])];
    return () => {
      const grant = findCaller(catalog.current(), secret, now());
      if (grant?.caller.publisher.id !== publisherId) return false;
      if (grant.restrictions !== null && refusalOf(grant.restrictions, request) !== null) return false;
      return permissions.every((permission) => grant.permissions.has(permission));
    };
  };
}

/** The publisher whose key a request presents, whatever the key may do; null: none, or nobody's. */
export function findOwner(snapshot: Snapshot, source: KeySource, nowMs: number): Publisher | null {
  try {
    const secret = presentedKey(source);
    return secret === null ? null : (findCaller(snapshot, secret, nowMs)?.caller.publisher ?? null);
  } catch {
    return null; // a key that is no text
  }
}

/** The publisher that a management call acts for; operators name it in the query. */
export function calledPublisher(request: FastifyRequest): Publisher {
  const { snapshot } = callerOf(request);
  return snapshot.publishers.get(callOf(request).publisherId) as Publisher;
}

/** Authenticates keys by the snapshot of the moment. */
export const createKeyAuthenticator = (
  catalog: Pick<CatalogStore, 'current'>,
  now: () => number,
  uses: Pick<KeyUses, 'note'>,
): Authenticator<Caller> =>
  createAuthenticator({
    findKey: (secret) => findCaller(catalog.current(), secret, now()),
    now,
    used: ({ key }) => {
      if (key !== null) uses.note(key.id);
    },
  });
