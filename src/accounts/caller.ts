import type { FastifyRequest } from 'fastify';
import type { CatalogStore } from '../catalog/store.ts';
import type { ApiKey, Publisher, Snapshot } from '../catalog/types.ts';
import { callOf } from '../management/http.ts';
import { operatorPermission } from '../management/unit-of-work.ts';
import type { Executor } from '../platform/db/pool.ts';
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
import type { Job } from '../platform/jobs.ts';
import { minuteMs } from '../platform/lib/time.ts';

/**
 * Publisher that owns the API key or SDK ID in a request. The whole request uses the same `snapshot`. `key` is null for
 * an SDK ID.
 */
export type Caller = { publisher: Publisher; snapshot: Snapshot; key: ApiKey | null };

/**
 * Permissions of an SDK ID. SDK IDs are public, because web pages contain them. They may therefore only fetch offers.
 */
const sdkPermissions: ReadonlySet<Permission> = new Set(['ads/offers']);

/**
 * Finds the caller by the hash of an API key, or by an SDK ID if no key matches.
 * @returns null if the secret is unknown or expired
 */
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

/** Returns the caller of a request that passed `requireKey`. */
export function callerOf(request: FastifyRequest): Caller {
  if (request.caller === null) throw new Error('the route has no requireKey hook');
  return request.caller as Caller;
}

/**
 * Creates a check that a request's key still has the permissions that `requireKey` found. Streams need this check,
 * because they stay open long after their request was authenticated.
 */
export function createKeyCheck(
  catalog: { current: () => Snapshot },
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

/**
 * Returns the caller whose key is in a request, regardless of the key's permissions. Returns null if there is no valid
 * key.
 */
export function findPresentedCaller(snapshot: Snapshot, request: FastifyRequest, nowMs: number): Caller | null {
  if (request.caller !== null) return callerOf(request);
  try {
    const secret = presentedKey(request);
    return secret === null ? null : (findCaller(snapshot, secret, nowMs)?.caller ?? null);
  } catch {
    return null; // a key that is not a string
  }
}

/** Returns the publisher that a management call applies to. Operators specify it in the query string. */
export function calledPublisher(request: FastifyRequest): Publisher {
  const { snapshot } = callerOf(request);
  return snapshot.publishers.get(callOf(request).publisherId) as Publisher;
}

/** Returns the publisher ID in the query string of an operator's call, or null if it contains none. */
function namedPublisher({ key }: Caller, { query }: KeySource): number | null {
  const { publisher_id: id } = query as { publisher_id?: unknown };
  const isNamed = typeof id === 'string' && key?.permissions.has(operatorPermission) === true;
  return isNamed && /^[1-9]\d{0,9}$/.test(id) ? Number(id) : null;
}

/** Loads the campaigns of a call's publishers if necessary, and returns the caller with a new snapshot. */
function prepareCaller(catalog: CatalogStore, caller: Caller, source: KeySource): Promise<Caller> | null {
  const namedId = namedPublisher(caller, source);
  const [own, other] = [catalog.ready(caller.publisher.id), namedId === null ? null : catalog.ready(namedId)];
  if (own === null && other === null) return null;
  return Promise.all([own, other]).then(() => {
    const snapshot = catalog.current();
    return { ...caller, snapshot, publisher: snapshot.publishers.get(caller.publisher.id) ?? caller.publisher };
  });
}

/** Creates an authenticator that checks keys against the current configuration snapshot. */
export const createKeyAuthenticator = (
  catalog: CatalogStore,
  now: () => number,
  uses: { note: (keyId: number) => void },
): Authenticator<Caller> =>
  createAuthenticator({
    findKey: (secret) => findCaller(catalog.current(), secret, now()),
    now,
    used: ({ key }) => {
      if (key !== null) uses.note(key.id);
    },
    prepare: (caller, source) => prepareCaller(catalog, caller, source),
  });

/**
 * Collects the last-used times of keys in memory and stores them once a minute, so that no request has to write to the
 * database.
 */
export type KeyUses = {
  note: (keyId: number) => void;
  /** Stores the collected times. If this fails, they are lost. */
  write: () => Promise<void>;
  job: Job;
};

export function createKeyUses(executor: Executor, now: () => number): KeyUses {
  let usedAtMs = new Map<number, number>();
  async function write(): Promise<void> {
    if (usedAtMs.size === 0) return;
    const collected = [...usedAtMs].sort(([first], [other]) => first - other);
    usedAtMs = new Map();
    await executor.query(
      `insert into api_key_uses (key_id, used_at)
      select id, date_trunc('minute', at) from unnest($1::integer[], $2::timestamptz[]) as used (id, at)
        join api_keys using (id)
      order by id
      on conflict (key_id) do update set used_at = excluded.used_at where api_key_uses.used_at < excluded.used_at`,
      [collected.map(([id]) => id), collected.map(([, atMs]) => new Date(atMs))],
    );
  }
  return {
    note: (keyId) => void usedAtMs.set(keyId, now()),
    write,
    job: {
      name: 'key uses',
      roles: ['api'],
      pauseMs: minuteMs,
      locks: 'rows of api_key_uses, in the order of their key',
      run: write,
      onStop: write,
    },
  };
}
