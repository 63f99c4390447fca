import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSecretBox } from '../../src/platform/security/secret-box.ts';
import { saveEndpoint } from '../../src/webhooks/endpoint-changes.ts';
import { createJob, findJob } from '../../src/webhooks/redelivery/jobs.ts';
import { clonePool } from '../support/database.ts';
import { processSecrets, startServerProcess } from '../support/server-process.ts';
import { timeLimit } from '../support/time-limit.ts';
import { type Hook, startHook, until } from '../webhooks/dispatcher/support.ts';

let hook: Hook;
beforeAll(async () => {
  hook = await startHook();
});
afterAll(() => hook.close());

/** Number of deliveries, which the job queues in four slices. */
const total = 2000;

// Long timeout: thousands of deliveries are sent, and the lease of a dead worker must expire.
test('a replay survives a kill -9 of its worker, and each delivery is queued once and arrives', {
  timeout: timeLimit(300_000),
}, async () => {
  const { url: databaseUrl, pool, close } = await clonePool(3);
  const box = createSecretBox(Buffer.from(processSecrets.SECRETS_KEY, 'base64'));
  const { rows } = await pool.query<{ id: number }>('select id from publishers order by id limit 1');
  const publisherId = rows[0]?.id as number;
  const key = { publisherId, event: 'usp.selection', nowMs: Date.now() } as const;
  const { endpoint } = await saveEndpoint(pool, box, {
    ...key,
    url: hook.url,
    method: 'POST',
    enabled: true,
    maxInFlight: 50,
  });
  await pool.query("select create_day_partitions((now() - interval '1 day')::date, (now() + interval '1 day')::date)");
  await pool.query(
    `insert into deliveries (day, id, publisher_id, endpoint_id, event, payload, status)
    select (now() - interval '1 hour')::date,
      (substr(h, 1, 8) || '-' || substr(h, 9, 4) || '-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid,
      $1, $2, 'usp.selection', '{"body":{}}', 'failed'
    from generate_series(1, ${total}) n
    cross join lateral (
      select lpad(to_hex((extract(epoch from now() - interval '1 hour') * 1000)::bigint), 12, '0') as h
    ) x`,
    [publisherId, endpoint.id],
  );
  const filter = {
    publisherId,
    event: null,
    endpointId: null,
    statuses: ['failed'],
    fromMs: null,
    toMs: null,
    sessionId: null,
    pubUserId: null,
  } as const;
  const job = await createJob(pool, filter, Date.now());
  const queued = async (): Promise<number> => (await findJob(pool, publisherId, job.id))?.queued ?? 0;

  for (const killAt of [1, 501, 1001]) {
    const worker = await startServerProcess({ databaseUrl, env: { ROLES: 'worker' } });
    await until(async () => (await queued()) >= killAt, true);
    await worker.kill();
  }
  const last = await startServerProcess({ databaseUrl, env: { ROLES: 'worker' } });
  await until(async () => (await findJob(pool, publisherId, job.id))?.status, 'done');
  expect(await queued()).toBe(total);
  const delivered = async () =>
    (await pool.query("select count(*)::int as n from deliveries where status = 'delivered'")).rows[0].n;
  await until(delivered, total);
  await last.stop();
  expect(new Set(hook.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(total);
  await close();
});
