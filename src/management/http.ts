import { Type } from '@sinclair/typebox';
import type { FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify';
import { callerOf } from '../accounts/caller.ts';
import type { CatalogDeps } from '../catalog/ports.ts';
import type { Permission, Publisher } from '../catalog/snapshot/types.ts';
import { AppError } from '../platform/errors.ts';
import { presentedKey } from '../platform/http/auth.ts';
import { type Answer, once } from './idempotency.ts';
import type { Resource } from './resource.ts';
import type { Management } from './service.ts';
import { type Actor, isOperator, type Work } from './unit-of-work.ts';

/** What every management route works with. */
export type Door = { management: Management; deps: CatalogDeps };

export const publisherIdParameter = Type.Optional(
  Type.String({ description: 'The publisher to act for; another than the own for operators only.' }),
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
    publisherId: publisher.id,
  };
}

/** Who calls, and for which publisher. Another publisher than the own exists for operators only. */
export function callOf(request: FastifyRequest): { actor: Actor; publisher: Publisher; publisherId: number } {
  const { publisher, snapshot } = callerOf(request);
  const actor = keyActorOf(request);
  const asked = (request.query as { publisher_id?: unknown }).publisher_id;
  if (asked === undefined || asked === String(publisher.id)) return { actor, publisher, publisherId: publisher.id };
  const other =
    typeof asked === 'string' && /^[1-9]\d{0,9}$/.test(asked) ? snapshot.publishers.get(Number(asked)) : undefined;
  if (other === undefined || !isOperator(actor))
    throw new AppError('resource_not_found', { message: 'Publisher not found.' });
  return { actor, publisher: other, publisherId: other.id };
}

/** Hooks of a management route. Operators need no further permission. */
export const admit = ({ deps }: Door, permission: Permission): Pick<RouteShorthandOptions, 'preValidation'> => ({
  preValidation: deps.auth.requireKey(permission, 'accounts'),
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
  door: Door,
  request: FastifyRequest,
  reply: FastifyReply,
  make: (work: Work) => Promise<Answer>,
  body?: string,
) {
  const { actor, publisherId } = callOf(request);
  const key = request.headers['idempotency-key'];
  const answer = await door.management.write(actor, publisherId, (work) => {
    if (key === undefined) return make(work);
    const given = body ?? JSON.stringify(request.body ?? null);
    const text = `${request.routeOptions.url}\n${JSON.stringify(request.params)}\n${given}`;
    return once(work, { key: String(key), request: text, box: door.deps.secretBox }, () => make(work));
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

/** A body without the API key that may have come in it; what is no object is given back as it is. */
export function withoutApiKey(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  const { key: _key, api_key: _apiKey, ...fields } = body as Record<string, unknown>;
  return fields;
}

type Sent = Pick<FastifyRequest, 'body' | 'query' | 'headers'>;
