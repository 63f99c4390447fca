import { openDemo } from '../../src/demo/start.ts';
import type { App } from '../../src/platform/http/app.ts';
import { startTestJobs } from '../support/jobs.ts';
import { freePort } from '../support/server-process.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';

export type DemoServer = { t: TestApp; app: App; url: string; close: () => Promise<void> };

/**
 * Starts the service like the embedded demo, with the shop, the receiver, its webhook endpoint and a worker.
 * @param jobNames jobs that the worker runs; default: all
 */
export async function startDemoServer(...jobNames: string[]): Promise<DemoServer> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const t = await createTestApp({ config: { publicUrl: url }, demo: true, scripts: true });
  const { app } = t;
  await app.listen({ port, host: '127.0.0.1' });
  const { pool, secretBox } = t.deps;
  const receiverUrl = `${url}/demo/receiver`;
  await openDemo(pool, secretBox, { publisherId: t.publisher.id, receiverUrl, nowMs: Date.now() });
  await t.deps.catalog.refresh();
  const jobs = [await startTestJobs(t, ...jobNames), await startTestJobs(t, 'request log')];
  return {
    t,
    app,
    url,
    close: async () => {
      for (const job of jobs) await job.stop();
      await t.close();
    },
  };
}
