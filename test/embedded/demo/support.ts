import { buildApp } from '../../../src/app.ts';
import type { App } from '../../../src/platform/ports.ts';
import { saveEndpoint } from '../../../src/webhooks/endpoints/changes.ts';
import { startTestJobs } from '../../support/jobs.ts';
import { freePort } from '../../support/server-process.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

export type DemoServer = { t: TestApp; app: App; url: string; close: () => Promise<void> };

/** The service as the embedded demo runs it: with the shop, the receiver, its webhook endpoint and a worker. */
export async function startDemoServer(): Promise<DemoServer> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const t = await createTestApp({ config: { publicUrl: url } });
  const app = await buildApp(t.deps, { serveApi: true, demoReceiver: true });
  await app.listen({ port, host: '127.0.0.1' });
  const { pool, secretBox } = t.deps;
  const endpoint = {
    publisherId: t.publisher.id,
    event: 'usp.selection',
    method: 'POST',
    enabled: true,
    nowMs: Date.now(),
  } as const;
  await saveEndpoint(pool, secretBox, { ...endpoint, url: `${url}/demo/receiver` });
  const jobs = [await startTestJobs(t), await startTestJobs(t, 'request notices', 'live calls')];
  return {
    t,
    app,
    url,
    close: async () => {
      for (const job of jobs) await job.stop();
      await app.close();
      await t.close();
    },
  };
}
