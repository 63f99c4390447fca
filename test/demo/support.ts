import chromium from '@sparticuz/chromium';
import pg from 'pg';
import { type Browser, chromium as launcher } from 'playwright-core';
import { inject } from 'vitest';
import { buildApp } from '../../src/app.ts';
import type { App } from '../../src/deps.ts';
import { saveEndpoint } from '../../src/webhooks/endpoints.ts';
import { startWorker } from '../../src/worker.ts';
import { freePort } from '../support/server-process.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';

export type DemoServer = { t: TestApp; app: App; url: string; close: () => Promise<void> };

/** The service as the embedded demo runs it: with the shop, the receiver, its webhook endpoint and a worker. */
export async function startDemoServer(): Promise<DemoServer> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const t = await createTestApp({ config: { publicUrl: url } });
  const app = await buildApp(t.deps, { serveApi: true, demoReceiver: true });
  await app.listen({ port, host: '127.0.0.1' });
  const { pool, secretBox } = t.deps;
  const endpoint = { publisherId: t.publisher.id, event: 'usp.selection', method: 'POST', enabled: true, nowMs: Date.now() } as const;
  await saveEndpoint(pool, secretBox, { ...endpoint, url: `${url}/demo/receiver` });
  const worker = await startWorker(t.deps, t.databaseUrl);
  return {
    t,
    app,
    url,
    close: async () => {
      await worker.stop();
      await app.close();
      await t.close();
    },
  };
}

/** The browser is unpacked by whoever comes first; half of it must not be run by another worker of this test run. */
export async function launchBrowser(): Promise<Browser> {
  const database = new URL(inject('templateUrl'));
  database.pathname = '/postgres';
  const client = new pg.Client({ connectionString: database.href });
  await client.connect();
  try {
    await client.query("select pg_advisory_lock(hashtext('perkwire_browser'))");
    const executablePath = await chromium.executablePath();
    return await launcher.launch({ executablePath, args: ['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run'] });
  } finally {
    await client.end();
  }
}
