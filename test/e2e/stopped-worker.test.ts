import { afterAll, beforeAll, expect, test } from 'vitest';
import { processSecrets, type ServerProcess, startServerProcess } from '../support/server-process.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { timeLimit } from '../support/time-limit.ts';
import {
  addEndpoint,
  deliveryOf,
  enqueueDelivery,
  startHook,
  until,
  untilSwept,
} from '../webhooks/dispatcher/support.ts';

const metricsToken = 'metrics-token-of-the-stopped-worker';

let t: TestApp;
const servers: ServerProcess[] = [];
const startWorker = async (): Promise<ServerProcess> => {
  const env = { ROLES: 'worker', LOG_LEVEL: 'error', METRICS_TOKEN: metricsToken };
  const server = await startServerProcess({ databaseUrl: t.databaseUrl, env });
  servers.push(server);
  return server;
};
beforeAll(async () => {
  t = await createTestApp({ config: { secretsKey: Buffer.from(processSecrets.SECRETS_KEY, 'base64') } });
});
afterAll(async () => {
  for (const server of servers) await server.kill();
  await t.close();
});

// Long timeout: a lease must expire.
test('a worker stopped past its lease changes no row that another worker has settled', {
  timeout: timeLimit(180_000),
}, async () => {
  const waiting: (() => void)[] = [];
  const hook = await startHook((response, _taken, count) => {
    if (count === 1) waiting.push(() => response.writeHead(410).end());
    else response.end();
  });
  const endpoint = await addEndpoint(t, hook.url);
  const first = await startWorker();
  const id = await enqueueDelivery(t, endpoint);
  await until(() => hook.requests.length, 1);
  first.child.kill('SIGSTOP');
  // The lease expires, while the process, its connections and their locks still exist.
  await t.pool.query("update delivery_queue set lease_until = now() - interval '1 ms'");
  await startWorker();
  await until(async () => (await deliveryOf(t, id)).status, 'delivered');
  expect(hook.requests).toHaveLength(2);
  // The endpoint's health is stored after the outcome.
  await until(
    async () => (await t.pool.query('select from endpoint_health where last_success_at is not null')).rowCount,
    1,
  );

  const everything = async () => {
    const tables = ['deliveries', 'delivery_attempts', 'delivery_queue', 'webhook_endpoints', 'endpoint_health'];
    return Promise.all(
      tables.map(async (name) => (await t.pool.query(`select r::text from ${name} r order by 1`)).rows),
    );
  };
  const before = await everything();
  waiting[0]?.(); // what the stopped one waits for: an answer that would disable the endpoint
  first.child.kill('SIGCONT');
  const metrics = () => fetch(`${first.url}/metrics`, { headers: { authorization: `Bearer ${metricsToken}` } });
  // The worker has read the response and settled the attempt.
  await expect.poll(async () => (await metrics()).text()).toMatch(/^perkwire_webhook_leases_lost_total 1$/m);
  await untilSwept(t, 4); // it polls and renews meanwhile
  expect(first.child.exitCode).toBeNull();
  expect(await everything()).toEqual(before);
  await hook.close();
});
