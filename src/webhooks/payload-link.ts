import { Type } from '@sinclair/typebox';
import type pg from 'pg';
import type { Config } from '../config.ts';
import { createFailFast, type DatabaseHealth } from '../platform/db/health.ts';
import type { Executor } from '../platform/db/pool.ts';
import { AppError } from '../platform/errors.ts';
import type { App } from '../platform/http/app.ts';
import { errorAnswers } from '../platform/http/schemas.ts';
import { dayOfUuid7, isUuid7, readUuid, writeUuid } from '../platform/lib/uuid7.ts';
import { createSigner, macLength, type Signer } from '../platform/security/tracking-token.ts';

/**
 * Creates and reads signed links to the stored payload of a delivery. They are for GET webhooks whose URL would
 * otherwise be too long (docs/reference/webhooks.md#webhook-events).
 */
export type PayloadLinks = {
  /** Returns an absolute URL that is valid for 72 hours from `nowMs` (epoch milliseconds). */
  url: (deliveryId: string, nowMs: number) => string;
  /** Returns the delivery that a token refers to, or null if the token is invalid or has expired. */
  read: (token: string, nowMs: number) => { deliveryId: string } | null;
};

/** Signing purpose of payload links. */
export const payloadLinkPurpose = 'payload-link';

const payloadPath = '/webhooks/v1/payload';

const validForS = 72 * 3600;
const version = 1;
const dataLength = 23;
const pattern = /^[A-Za-z0-9_-]{52}$/;

/**
 * Creates the functions for payload links. Token layout, 39 bytes: 0 version · 1 key ID · 2–17 delivery ID · 18–22
 * expiry time in epoch seconds · 23–38 HMAC.
 */
export function createPayloadLinks(signer: Signer, publicUrl: string): PayloadLinks {
  return {
    url: (deliveryId, nowMs) => {
      if (!isUuid7(deliveryId)) throw new Error('a delivery id is a UUIDv7');
      const bytes = Buffer.alloc(dataLength + macLength);
      bytes[0] = version;
      bytes[1] = signer.keyId;
      writeUuid(deliveryId, bytes, 2);
      bytes.writeUIntBE(Math.floor(nowMs / 1000) + validForS, 18, 5);
      signer.sign(bytes.subarray(0, dataLength)).copy(bytes, dataLength);
      return `${publicUrl}${payloadPath}?t=${bytes.toString('base64url')}`;
    },
    read: (token, nowMs) => {
      if (!pattern.test(token)) return null;
      const bytes = Buffer.from(token, 'base64url');
      if (
        bytes[0] !== version ||
        !signer.verify(bytes[1] as number, bytes.subarray(0, dataLength), bytes.subarray(dataLength))
      )
        return null;
      return nowMs / 1000 >= bytes.readUIntBE(18, 5) ? null : { deliveryId: readUuid(bytes, 2) };
    },
  };
}

const querystring = Type.Object({ t: Type.Optional(Type.String({ description: 'Token of the signed link.' })) });

type PayloadDeps = { config: Config; pool: pg.Pool; dbHealth: DatabaseHealth; now: () => number };

/**
 * Registers the route for the `payload_url` in GET webhooks. It returns exactly the bytes that the webhook's signature
 * covers.
 */
export async function payloadRoutes(app: App, { config, pool, dbHealth, now }: PayloadDeps): Promise<void> {
  const failFast = createFailFast(dbHealth);
  const links = createPayloadLinks(createSigner(config.tokenKeys, payloadLinkPurpose), config.publicUrl);
  const response = { 200: Type.Unknown({ description: 'Payload, byte for byte.' }), ...errorAnswers(400, 404) };
  const schema = {
    operationId: 'getWebhookPayload',
    summary: 'Get a webhook payload by signed link',
    description: 'Target of `payload_url` in GET webhooks. The link is valid for 72 hours and requires no key.',
    tags: ['Webhooks'],
    security: [],
    querystring,
    response,
  };

  app.get(payloadPath, { schema }, async (request, reply) => {
    const link = links.read(request.query.t ?? '', now());
    if (link === null) throw new AppError('invalid_token');
    const payload = await failFast(() => findPayload(pool, link.deliveryId));
    if (payload === null) throw new AppError('not_found');
    return reply.header('cache-control', 'no-store').header('content-type', 'application/json').send(payload);
  });
}

async function findPayload(executor: Executor, deliveryId: string): Promise<Buffer | null> {
  const { rows } = await executor.query<{ payload: Buffer }>({
    name: 'find_delivery_payload',
    text: 'select payload from deliveries where day = $1::date and id = $2::uuid and erased_at is null',
    values: [dayOfUuid7(deliveryId), deliveryId],
  });
  return rows[0]?.payload ?? null;
}
