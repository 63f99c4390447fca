import { hash } from 'node:crypto';
import type { FastifyRequest, preValidationHookHandler } from 'fastify';
import { AppError } from '../errors.ts';
import { createRateLimit, tooManyRequests } from './failure-limit.ts';
import { type KeyRestrictions, type RestrictedRequest, refusalOf } from './key-restrictions.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by `requireKey`; its type is the catalogue's (`callerOf`). */
    caller: unknown;
  }
}

/** Names what keys and users may do. Modules hand theirs in (management/unit-of-work.ts). */
export type Permission = string;

/** The rate limit of the key with this id: calls a second, and as many at once. Other keys may share it. */
export type KeyLimit = { id: number; perS: number };

/** What a key is good for. A call counts against all of its limits. */
export type KeyGrant<Caller> = {
  permissions: ReadonlySet<Permission>;
  limits: readonly KeyLimit[];
  /** null: none but its permissions. */
  restrictions: KeyRestrictions | null;
  caller: Caller;
};

export type AuthDeps<Caller> = {
  /** The grant of a presented secret; null where it is unknown or expired. */
  findKey: (secret: string) => KeyGrant<Caller> | null;
  now: () => number;
  /** Is told of each call that is admitted. */
  used: (caller: Caller) => void;
};

/** Where a key may be presented. */
export type KeySource = Pick<FastifyRequest, 'query' | 'body' | 'headers'>;

export type Authenticator<Caller> = {
  /** @throws AppError missing_key, unknown_key, permission_denied, too_many_requests */
  identify: (source: KeySource & RestrictedRequest, permission: Permission, ...alternatives: Permission[]) => Caller;
  /** A hook that admits keys with one of these permissions and sets `request.caller`. */
  requireKey: (permission: Permission, ...alternatives: Permission[]) => preValidationHookHandler;
};

/**
 * Key checks of docs/reference/access-and-errors.md#api-keys: query `api_key`, query `accountId`, `Authorization:
 * Bearer`, body `key`, body `api_key`; the first one wins.
 */
export function createAuthenticator<Caller>({ findKey, now, used }: AuthDeps<Caller>): Authenticator<Caller> {
  const takeFromKey = createRateLimit(now);

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
      throw new AppError('permission_denied', { message: `The key lacks the permission ${permission}.` });
    const refusal = restrictions === null ? null : refusalOf(restrictions, source);
    if (refusal !== null) throw refusal;
    for (const { id, perS } of limits) if (!takeFromKey(String(id), { perS, burst: perS })) throw tooManyRequests();
    used(caller);
    return caller;
  }

  return {
    identify,
    // With a callback: the promise of an async hook costs more than the check.
    requireKey:
      (permission, ...alternatives) =>
      (request, _reply, done) => {
        try {
          request.caller = identify(request, permission, ...alternatives);
          done();
        } catch (err) {
          done(err as Error);
        }
      },
  };
}

/** The hex digest under which an API key is stored. Keys are long and random, so one fast hash is enough. */
export const hashKey = (key: string): string => hash('sha256', key, 'hex');

/** @throws AppError unknown_key where it is no text */
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
