import type { FastifyRequest } from 'fastify';
import type { Executor } from '../../platform/db/pool.ts';
import type { App, PlatformDeps } from '../../platform/ports.ts';
import type { SecretBox } from '../../platform/security/secret-box.ts';

export type ReceiverDeps = Pick<PlatformDeps, 'pool' | 'secretBox' | 'now'> & {
  /** What has arrived, newest first; filled here. */
  received: Received[];
};

/** One webhook as it arrived. */
export type Received = {
  received_at: string;
  method: string;
  url: string;
  headers: FastifyRequest['headers'];
  body: string;
};

const maxKept = 500;

/**
 * A publisher's server to try things with: takes webhooks at /demo/receiver and lists them there, newest first, with
 * the secret that verifies them. Lives in memory and in the embedded demo only.
 */
export async function demoReceiverRoutes(app: App, { pool, secretBox, now, received }: ReceiverDeps): Promise<void> {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string', bodyLimit: 2 * 1024 * 1024 }, (_request, body, done) =>
    done(null, body),
  );

  function take(request: FastifyRequest): { ok: true } {
    const { method, url, headers, body } = request;
    received.unshift({
      received_at: new Date(now()).toISOString(),
      method,
      url,
      headers,
      body: typeof body === 'string' ? body : '',
    });
    received.splice(maxKept);
    return { ok: true };
  }

  app.post('/demo/receiver', { schema: { hide: true } }, async (request) => take(request));
  app.get('/demo/receiver', { schema: { hide: true } }, async (request) => {
    if (request.headers['webhook-id'] !== undefined) return take(request);
    const secret = await receiverSecret(pool, secretBox);
    return { count: received.length, secret, webhooks: received };
  });
}

/** `whsec_…` of the endpoint that leads to the receiver; null: there is none. */
export async function receiverSecret(pool: Executor, secretBox: SecretBox): Promise<string | null> {
  const { rows } = await pool.query<{ secret_sealed: Buffer }>(
    "select secret_sealed from webhook_endpoints where event = 'usp.selection' order by id limit 1",
  );
  return rows[0] === undefined ? null : secretBox.open(rows[0].secret_sealed, 'webhook-secret');
}
