import { hash } from 'node:crypto';
import type { FastifyRequest, preValidationHookHandler } from 'fastify';
import { AppError } from '../errors.ts';
import { problem } from '../problem.ts';
import { createRateLimit, tooManyRequests } from './failure-limit.ts';
import { type KeyRestrictions, type RestrictedRequest, refusalOf } from './key-restrictions.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Caller that `requireKey` identified. Its type is defined by the catalogue (`callerOf`). */
    caller: unknown;
  }
}

/**
 * Name of an action that a key or user can be permitted to perform. Modules register their permissions
 * (management/unit-of-work.ts).
 */
export type Permission = string;

/**
 * Rate limit of the API key with this ID, in calls per second. The burst size is the same number. Other keys may share
 * the limit.
 */
export type KeyLimit = { id: number; perS: number };

/** Access that a key grants. Each call counts towards all of the key's rate limits. */
export type KeyGrant<Caller> = {
  permissions: ReadonlySet<Permission>;
  limits: readonly KeyLimit[];
  /** Restrictions in addition to the permissions, or null if none exists. */
  restrictions: KeyRestrictions | null;
  caller: Caller;
};

export type AuthDeps<Caller> = {
  /** Returns the grant for an API key secret, or null if the secret is unknown or expired. */
  findKey: (secret: string) => KeyGrant<Caller> | null;
  now: () => number;
  /** Called for every call that is accepted. */
  used: (caller: Caller) => void;
  /**
   * Loads data that routes need about a caller. Returns null if it is loaded already, or else the caller to use
   * afterwards.
   */
  prepare: (caller: Caller, source: KeySource) => Promise<Caller> | null;
};

/** Parts of a request that may contain a key. */
export type KeySource = Pick<FastifyRequest, 'query' | 'body' | 'headers'>;

export type Authenticator<Caller> = {
  /**
   * Returns the caller of a request.
   * @throws AppError missing_key, unknown_key, permission_denied, too_many_requests
   */
  identify: (source: KeySource & RestrictedRequest, permission: Permission, ...alternatives: Permission[]) => Caller;
  /**
   * Loads data that routes need about `request.caller`. Routes that call `identify` must also call this function.
   * @returns null if the data is loaded already, or else the caller to use afterwards
   */
  prepare: (request: KeySource & { caller: unknown }) => Promise<Caller> | null;
  /** Creates a hook that accepts keys with at least one of these permissions and sets `request.caller`. */
  requireKey: (permission: Permission, ...alternatives: Permission[]) => preValidationHookHandler;
};

/**
 * Creates an authenticator that looks for the key in this order, as described in
 * docs/reference/access-and-errors.md#api-keys: query `api_key`, query `accountId`, `Authorization: Bearer`, body
 * `key`, body `api_key`. The first match wins.
 */
export function createAuthenticator<Caller>({ findKey, now, used, prepare }: AuthDeps<Caller>): Authenticator<Caller> {
  const admitRequest = createRateLimit(now);

  function identify(
    source: KeySource & RestrictedRequest,
    permission: Permission,
    ...alternatives: Permission[]
  ): Caller {
    const secret = presentedKey(source);
    if (secret === null) throw new AppError('missing_key');
    const grant = findKey(secret);
    if (grant === null) throw new AppError('unknown_key');
    const { permissions, limits, restrictions, caller } = grant;
    if (!permissions.has(permission) && !alternatives.some((other) => permissions.has(other)))
      throw new AppError('permission_denied', { message: problem('permissionLacking', { permission }) });
    const refusal = restrictions === null ? null : refusalOf(restrictions, source);
    if (refusal !== null) throw refusal;
    for (const { id, perS } of limits) if (!admitRequest(String(id), { perS, burst: perS })) throw tooManyRequests();
    used(caller);
    return caller;
  }

  return {
    identify,
    prepare: (request) => prepare(request.caller as Caller, request),
    // The hook uses a callback, because an async hook's promise costs more than the check itself.
    requireKey:
      (permission, ...alternatives) =>
      (request, _reply, done) => {
        try {
          const caller = identify(request, permission, ...alternatives);
          request.caller = caller;
          const preparing = prepare(caller, request);
          if (preparing === null) return done();
          preparing.then((prepared) => {
            request.caller = prepared;
            done();
          }, done);
        } catch (err) {
          done(err as Error);
        }
      },
  };
}

/**
 * Returns the hash under which an API key is stored, in hex. A single fast hash is enough, because keys are long and
 * random.
 */
export const hashKey = (key: string): string => hash('sha256', key, 'hex');

/**
 * Returns the key in a request, or null if none exists.
 * @throws AppError unknown_key if the key is not a string
 */
export function presentedKey(source: KeySource): string | null {
  const query = source.query as Record<string, unknown>;
  const body = (typeof source.body === 'object' && source.body !== null ? source.body : {}) as Record<string, unknown>;
  const bearer = /^bearer +(\S+)$/i.exec(source.headers.authorization ?? '')?.[1];
  for (const candidate of [query.api_key, query.accountId, bearer, body.key, body.api_key]) {
    if (candidate === undefined || candidate === null || candidate === '') continue;
    if (typeof candidate !== 'string') throw new AppError('unknown_key');
    return candidate;
  }
  return null;
}
