import { readFile } from 'node:fs/promises';
import type { FastifyReply } from 'fastify';
import type pg from 'pg';
import type { Snapshot } from '../../catalog/types.ts';
import type { Config } from '../../config.ts';
import type { App } from '../../platform/http/app.ts';
import { embeddedDemoIds } from '../catalogue.ts';
import type { Received } from '../received.ts';
import { recentBeacons, recentWebhooks } from './activity.ts';
import { demoHeaders, policy } from './policy.ts';
import { createWebViews, type WebViewPage, type WebViewQuery } from './web-view.ts';

const folder = new URL('../../../demo/shop/', import.meta.url);

/** Files in demo/shop, keyed by URL path. */
const files = {
  '/demo': 'shop.html',
  '/demo/shop.css': 'shop.css',
  '/demo/shop.js': 'shop.js',
  '/demo/panel.js': 'panel.js',
  '/demo/receiver.js': 'receiver.js',
  '/demo/phone': 'phone.html',
  '/demo/phone.css': 'phone.css',
  '/demo/phone.js': 'phone.js',
  '/demo/bridge.js': 'bridge.js',
};

const types: Record<string, string> = { html: 'text/html', css: 'text/css', js: 'text/javascript' };

/** Route schema that hides the demo pages from the OpenAPI description. */
const schema = { hide: true };

type ShopDeps = {
  config: Config;
  pool: pg.Pool;
  catalog: { current: () => Snapshot };
  received: Received[];
  now: () => number;
};

/**
 * Registers the demo shop, which uses the real SDK, with a simulated phone app and a view of the recorded data.
 * Available only in the embedded demo.
 */
export async function demoShopRoutes(app: App, { config, pool, catalog, received, now }: ShopDeps): Promise<void> {
  const pagePolicy = policy(config.publicUrl);
  const views = await createWebViews(config.publicUrl);

  for (const [url, name] of Object.entries(files)) {
    const content = await readFile(new URL(name, folder));
    const type = types[name.split('.')[1] as string] as string;
    app.get(url, { schema }, async (_request, reply) =>
      withHeaders(reply, pagePolicy).type(`${type}; charset=utf-8`).send(content),
    );
  }

  const sendView = (reply: FastifyReply, { html, csp }: WebViewPage) =>
    withHeaders(reply, csp).type('text/html; charset=utf-8').send(html);
  app.get('/demo/phone/prefetch.html', { schema }, async (request, reply) =>
    sendView(reply, views.prefetch(viewQuery(request.query))),
  );
  app.get('/demo/phone/checkout.html', { schema }, async (request, reply) =>
    sendView(reply, views.checkout(viewQuery(request.query))),
  );

  app.get('/', { schema }, async (_request, reply) => reply.redirect('/demo'));
  app.get('/demo/activity.json', { schema }, async (_request, reply) => {
    const publisher = catalog.current().publishersBySdkId.get(embeddedDemoIds.sdkId);
    const beacons = publisher === undefined ? [] : await recentBeacons(pool, publisher.id, now());
    return withHeaders(reply, pagePolicy).send({ beacons, webhooks: recentWebhooks(received) });
  });
}

const withHeaders = (reply: FastifyReply, csp: string): FastifyReply => reply.headers(demoHeaders(csp));

/** Parses the query string. Unknown parameters are ignored. */
function viewQuery(query: unknown): WebViewQuery {
  const { user, placement, mode, dev } = query as Record<string, unknown>;
  const name = (value: unknown, otherwise: string): string =>
    typeof value === 'string' && /^[\w-]{1,64}$/.test(value) ? value : otherwise;
  return {
    user: name(user, 'app-user'),
    placement: name(placement, 'checkout'),
    mode: mode === 'api' ? 'api' : 'sdk',
    dev: dev === '1',
  };
}
