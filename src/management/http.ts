import { Type } from '@sinclair/typebox';
import type { FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify';
import { AppError } from '../platform/errors.ts';
import { type Authenticator, type Permission, presentedKey } from '../platform/http/auth.ts';
import { integerParameter } from '../platform/http/schemas.ts';
import type { SecretBox } from '../platform/security/secret-box.ts';
import type { Signer } from '../platform/security/tracking-token.ts';
import type { AllAdditions } from './additions.ts';
import { type Answer, once } from './idempotency.ts';
import type { Resource } from './resource.ts';
import { type Actor, isOperator, type Management, operatorPermission, type Work } from './unit-of-work.ts';

/** What every management route works with. */
export type ManagementHttp = {
  management: Management;
  auth: Authenticator<unknown>;
  secretBox: SecretBox;
  /** Signs the cursors of lists. */
  cursors: Signer;
  additions: AllAdditions;
};

/** The key that calls, as the authenticator left it (accounts/caller.ts). `key` null: an SDK id. */
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
  { description: 'The publisher to act for; another than the own for operators only.' },
);

/** The query of routes that ask for nothing else. */
export const publisherQuery = Type.Object({ publisher_id: publisherIdParameter });

/** The key that calls, as the audit log knows it. */
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

/** Who calls, and for which publisher. Another publisher than the own exists for operators only. */
export function callOf(request: FastifyRequest): { actor: Actor; publisherId: number } {
  const { publisher, snapshot } = callerOf(request);
  const actor = keyActorOf(request);
  const asked = (request.query as { publisher_id?: unknown }).publisher_id;
  if (asked === undefined || asked === String(publisher.id)) return { actor, publisherId: publisher.id };
  const other = typeof asked === 'string' && /^[1-9]\d{0,9}$/.test(asked) ? Number(asked) : 0;
  if (!snapshot.publishers.has(other) || !isOperator(actor))
    throw new AppError('resource_not_found', { message: 'Publisher not found.' });
  return { actor, publisherId: other };
}

/** A parameter of the query; absent: false. @throws AppError: a misspelt `dry_run` must not write */
export function flagOf({ query }: Pick<FastifyRequest, 'query'>, name: string): boolean {
  const given = (query as Record<string, unknown>)[name];
  if (given === undefined || given === 'true' || given === 'false') return given === 'true';
  throw new AppError('invalid_request', {
    details: [{ path: `/querystring/${name}`, message: 'must be true or false' }],
  });
}

/** Members of a route's options that open it to keys that are limited to some campaigns or placements. */
export const forLimitedKeys = { config: { keepsToResources: true } } as const;

/** The hooks of a management route. Operators need no further permission. */
export const requirePermission = (
  { auth }: { auth: Authenticator<unknown> },
  permission: Permission,
): Pick<RouteShorthandOptions, 'preValidation'> => ({
  preValidation: auth.requireKey(permission, operatorPermission),
});

/** Sends a response that must not be cached. */
export function send(reply: FastifyReply, { status, body, headers }: Answer): FastifyReply {
  return reply
    .code(status)
    .headers({ 'cache-control': 'no-store', ...headers })
    .send(body);
}

/** A call that makes something: in one transaction, and once for each `Idempotency-Key`. */
export async function post(
  { management, secretBox }: { management: Management; secretBox: SecretBox },
  request: FastifyRequest,
  reply: FastifyReply,
  make: (work: Work) => Promise<Answer>,
  body?: string,
) {
  const { actor, publisherId } = callOf(request);
  const key = request.headers['idempotency-key'];
  const answer = await management.write(actor, publisherId, (work) => {
    if (key === undefined) return make(work);
    const given = body ?? JSON.stringify(request.body ?? null);
    const text = `${request.routeOptions.url}\n${JSON.stringify(request.params)}\n${given}`;
    return once(work, { key: String(key), request: text, box: secretBox }, () => make(work));
  });
  return send(reply, answer);
}

/**
 * The fields of a body, without an API key that came in it.
 * @param resource the kind of row whose fields they are: one with a field `key` keeps it where it is not the API key
 */
export function fieldsOf({ body, query, headers }: Sent, resource?: Resource): unknown {
  const fields = withoutApiKey(body);
  const { key } = (body ?? {}) as { key?: unknown };
  const isField = resource?.input.properties.key !== undefined && presentedKey({ query, headers, body: null }) !== null;
  return isField && key !== undefined && fields !== body ? { ...(fields as object), key } : fields;
}

/** Members of a body (count): far beyond the fields of any call, and few enough to be copied at once. */
const maxMembers = 1000;

/**
 * A body without the API key that may have come in it; what is no object is given back as it is.
 * @throws AppError invalid_request for one with more members than could be looked at without keeping others waiting
 */
export function withoutApiKey(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  if (Object.keys(body).length > maxMembers)
    throw new AppError('invalid_request', {
      details: [{ path: '/', message: `must have at most ${maxMembers} members` }],
    });
  const { key: _key, api_key: _apiKey, ...fields } = body as Record<string, unknown>;
  return fields;
}

type Sent = Pick<FastifyRequest, 'body' | 'query' | 'headers'>;
