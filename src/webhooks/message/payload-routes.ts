import { Type } from '@sinclair/typebox';
import { createFailFast } from '../../platform/db/fail-fast.ts';
import type { Executor } from '../../platform/db/pool.ts';
import { AppError } from '../../platform/errors.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import { dayOfUuid7 } from '../../platform/lib/uuid7.ts';
import type { App, PlatformDeps } from '../../platform/ports.ts';
import { createSigner } from '../../platform/security/keyring.ts';
import { createPayloadLinks, payloadLinkPurpose, payloadPath } from '../payload-link.ts';

const querystring = Type.Object({ t: Type.Optional(Type.String({ description: 'Token of the signed link.' })) });

/** Where `payload_url` of a GET webhook leads: the very bytes its signature covers. */
export async function payloadRoutes(app: App, { config, pool, dbHealth, now }: PlatformDeps): Promise<void> {
  const failFast = createFailFast(dbHealth);
  const links = createPayloadLinks(createSigner(config.tokenKeys, payloadLinkPurpose), config.publicUrl);
  const response = { 200: Type.Unknown({ description: 'The payload, byte for byte.' }), ...errorAnswers(400, 404) };
  const schema = {
    operationId: 'getWebhookPayload',
    summary: 'Fetch a webhook payload by its signed link',
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
