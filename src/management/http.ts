import { Type } from '@sinclair/typebox';
import type { FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify';
import { AppError, notFound } from '../platform/errors.ts';
import { type Authenticator, type Permission, presentedKey } from '../platform/http/auth.ts';
import { integerParameter } from '../platform/http/schemas.ts';
import { problem } from '../platform/problem.ts';
import type { SecretBox } from '../platform/security/secret-box.ts';
import type { Signer } from '../platform/security/tracking-token.ts';
import type { AllAdditions } from './additions.ts';
import { once, type StoredResponse } from './idempotency.ts';
import type { Resource } from './resource.ts';
import { type Actor, isOperator, type Management, operatorPermission, type Work } from './unit-of-work.ts';

/** Shared dependencies of all management routes. */
export type ManagementHttp = {
  management: Management;
  auth: Authenticator<unknown>;
  secretBox: SecretBox;
  /** Signer for list cursors. */
  cursors: Signer;
  additions: AllAdditions;
};

/**
 * Caller of a request, set by the authenticator (accounts/caller.ts). `key` is null if the request was authenticated
 * with an SDK ID.
 */
type KeyCaller = {
  publisher: { id: number };
  snapshot: { publishers: ReadonlyMap<number, unknown> };
  key:
    | null
    | (Pick<Actor, 'id' | 'permissions' | 'expiresAtMs' | 'restrictions'> & {
        name: string;
        rateLimitPerS: Actor['ratePerS'];
      });
};

function callerOf(request: FastifyRequest): KeyCaller {
  if (request.caller === null) throw new Error('the route requires no permission');
  return request.caller as KeyCaller;
}

export const publisherIdParameter = integerParameter(
  { minimum: 1 },
  { description: 'ID of the publisher to act for. Only operators can act for another publisher.' },
);

/** Query schema for routes that have no other query parameters. */
export const publisherQuery = Type.Object({ publisher_id: publisherIdParameter });

/** Returns the calling API key as an audit log actor. */
function keyActorOf(request: FastifyRequest): Actor {
  const { publisher, key } = callerOf(request);
  if (key === null) throw new AppError('permission_denied');
  return {
    kind: 'key',
    id: key.id,
    label: key.name,
    permissions: key.permissions,
    expiresAtMs: key.expiresAtMs,
    ratePerS: key.rateLimitPerS,
    restrictions: key.restrictions,
    publisherId: publisher.id,
  };
}

/** Returns the actor and the publisher of a call. Only operators can specify a publisher other than their own. */
export function callOf(request: FastifyRequest): { actor: Actor; publisherId: number } {
  const { publisher, snapshot } = callerOf(request);
  const actor = keyActorOf(request);
  const requestedId = (request.query as { publisher_id?: unknown }).publisher_id;
  if (requestedId === undefined || requestedId === String(publisher.id)) return { actor, publisherId: publisher.id };
  const other = typeof requestedId === 'string' && /^[1-9]\d{0,9}$/.test(requestedId) ? Number(requestedId) : 0;
  if (!snapshot.publishers.has(other) || !isOperator(actor)) throw notFound('publisher');
  return { actor, publisherId: other };
}

/**
 * Parses a boolean query parameter. The default is false.
 * @throws AppError invalid_request for any other value, because a misspelt `dry_run` value would otherwise write data
 */
export function flagOf({ query }: Pick<FastifyRequest, 'query'>, name: string): boolean {
  const text = (query as Record<string, unknown>)[name];
  if (text === undefined || text === 'true' || text === 'false') return text === 'true';
  throw new AppError('invalid_request', {
    details: [{ path: `/querystring/${name}`, message: problem('isBoolean') }],
  });
}

/** Route options that also allow API keys limited to certain campaigns or placements. */
export const forLimitedKeys = { config: { keepsToResources: true } } as const;

/** Returns the hooks for a management route that requires a permission. Operators always have access. */
export const requirePermission = (
  { auth }: { auth: Authenticator<unknown> },
  permission: Permission,
): Pick<RouteShorthandOptions, 'preValidation'> => ({
  preValidation: auth.requireKey(permission, operatorPermission),
});

/** Sends a response with headers that prevent caching. */
export function send(reply: FastifyReply, { status, body, headers }: StoredResponse): FastifyReply {
  return reply
    .code(status)
    .headers({ 'cache-control': 'no-store', ...headers })
    .send(body);
}

/** Runs a create call in one transaction. With an `Idempotency-Key`, it runs only once per key. */
export async function post(
  { management, secretBox }: { management: Management; secretBox: SecretBox },
  request: FastifyRequest,
  reply: FastifyReply,
  make: (work: Work) => Promise<StoredResponse>,
  body?: string,
) {
  const { actor, publisherId } = callOf(request);
  const key = request.headers['idempotency-key'];
  const answer = await management.write(actor, publisherId, (work) => {
    if (key === undefined) return make(work);
    const content = body ?? JSON.stringify(request.body ?? null);
    const text = `${request.routeOptions.url}\n${JSON.stringify(request.params)}\n${content}`;
    return once(work, { key: String(key), request: text, box: secretBox }, () => make(work));
  });
  return send(reply, answer);
}

/**
 * Returns the fields of a request body without the API key.
 * @param resource resource that the fields belong to; if it has a `key` field, that field is removed only if its value
 * is the API key
 */
export function fieldsOf({ body, query, headers }: Sent, resource?: Resource): unknown {
  const fields = withoutApiKey(body);
  const { key } = (body ?? {}) as { key?: unknown };
  const isField = resource?.input.properties.key !== undefined && presentedKey({ query, headers, body: null }) !== null;
  return isField && key !== undefined && fields !== body ? { ...(fields as object), key } : fields;
}

/**
 * Maximum number of members in a body. No legitimate call has that many, and copying that many does not block the event
 * loop.
 */
const maxMembers = 1000;

/**
 * Returns a request body without the API key. Values other than objects are returned unchanged.
 * @throws AppError invalid_request if the body has too many members to inspect without blocking other requests
 */
export function withoutApiKey(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  if (Object.keys(body).length > maxMembers)
    throw new AppError('invalid_request', {
      details: [{ path: '/', message: problem('maxMembers', { max: maxMembers }) }],
    });
  const { key: _key, api_key: _apiKey, ...fields } = body as Record<string, unknown>;
  return fields;
}

type Sent = Pick<FastifyRequest, 'body' | 'query' | 'headers'>;
