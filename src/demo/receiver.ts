import type { FastifyRequest } from 'fastify';
import type pg from 'pg';
import type { Config } from '../config.ts';
import type { Executor } from '../platform/db/pool.ts';
import type { App } from '../platform/http/app.ts';
import type { SecretBox } from '../platform/security/secret-box.ts';
import { secretBytes, sign } from '../webhooks/signature.ts';
import { demoReceiverPath } from '../webhooks/url-rules.ts';
import type { Received } from './received.ts';
import { receiverPage } from './receiver-page.ts';
import { demoHeaders, policy } from './shop/policy.ts';

export type ReceiverDeps = {
  config: Config;
  pool: pg.Pool;
  secretBox: SecretBox;
  now: () => number;
  /** Received webhooks, newest first. The routes add to this array. */
  received: Received[];
};

const maxKept = 500;

/**
 * Registers the routes of a test server that plays the role of a publisher's server. It accepts webhooks at
 * /demo/receiver and lists them there, newest first, either as a page or as JSON that includes the secret for verifying
 * them. Webhooks are stored only in memory. The routes exist only in the embedded demo.
 */
export async function demoReceiverRoutes(
  app: App,
  { config, pool, secretBox, now, received }: ReceiverDeps,
): Promise<void> {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string', bodyLimit: 2 * 1024 * 1024 }, (_request, body, done) =>
    done(null, body),
  );

  async function take(request: FastifyRequest): Promise<{ ok: true }> {
    const receivedAt = new Date(now()).toISOString();
    const { method, url, headers } = request;
    const body = typeof request.body === 'string' ? request.body : '';
    const secret = method === 'POST' ? await receiverSecret(pool, secretBox) : null;
    const verified = method === 'POST' ? secret !== null && isSigned(headers, body, secret) : null;
    received.unshift({ received_at: receivedAt, method, url, headers, body, verified });
    received.splice(maxKept);
    return { ok: true };
  }

  app.post(demoReceiverPath, { schema: { hide: true } }, async (request) => take(request));
  app.get(demoReceiverPath, { schema: { hide: true } }, async (request, reply) => {
    if (request.headers['webhook-id'] !== undefined) return take(request);
    reply.headers(demoHeaders(policy(config.publicUrl))).header('vary', 'accept');
    const isBrowser = request.headers.accept?.includes('text/html') === true;
    if (isBrowser) return reply.type('text/html; charset=utf-8').send(receiverPage(received).markup);
    const secret = await receiverSecret(pool, secretBox);
    return { count: received.length, secret, webhooks: received };
  });
}

/** Returns the signing secret (`whsec_…`) of the receiver's endpoint, or null if none exists. */
async function receiverSecret(pool: Executor, secretBox: SecretBox): Promise<string | null> {
  const { rows } = await pool.query<{ secret_sealed: Buffer }>(
    "select secret_sealed from webhook_endpoints where event = 'usp.selection' order by id limit 1",
  );
  return rows[0] === undefined ? null : secretBox.open(rows[0].secret_sealed, 'webhook-secret');
}

/**
 * Verifies a signature as a publisher's server would (Standard Webhooks 1.0). The timestamp is not checked, because
 * sender and receiver run on the same machine.
 */
function isSigned(headers: FastifyRequest['headers'], body: string, secret: string): boolean {
  const timestampS = Number(headers['webhook-timestamp']);
  if (!Number.isSafeInteger(timestampS) || timestampS < 0) return false;
  const expected = sign({
    id: String(headers['webhook-id']),
    timestampS,
    body: Buffer.from(body),
    secrets: [secretBytes(secret)],
  });
  return String(headers['webhook-signature']).split(' ').includes(expected);
}
