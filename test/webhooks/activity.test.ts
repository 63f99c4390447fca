import { afterAll, beforeAll, expect, test } from 'vitest';
import { bucketMs, noteBacklogs, readActivity } from '../../src/webhooks/activity/activity.ts';
import { applyWebhookRetention } from '../../src/webhooks/jobs.ts';
import { activitySinceMs } from '../../src/webhooks/pages/endpoints/activity-card.ts';
import { signInAs } from '../dashboard/support.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { addEndpoint, createParts, enqueueDelivery, untilAttempted } from './dispatcher/support.ts';

let t: TestApp;
const parts = createParts(() => t);

beforeAll(async () => {
  t = await createTestApp();
});
afterAll(async () => {
  await parts.end();
  await t.close();
});

test('the endpoint page charts attempts, latency and backlog by process and quarter of an hour', async () => {
  let count = 0;
  const hook = await parts.hook((response) => {
    response.statusCode = ++count <= 2 ? 200 : 503;
    response.end();
  });
  const endpoint = await addEndpoint(t, hook.url, { strict_order: true, retry_steps_s: [0, 3600] });
  await parts.dispatcher({ onWritten: t.deps.activity.settled });
  const ids = [];
  for (let index = 0; index < 3; index++) ids.push(await enqueueDelivery(t, endpoint));
  await untilAttempted(t, ids[2] ?? '', 1);
  const nowMs = t.deps.now();
  await noteBacklogs(t.pool, nowMs);
  const read = () => readActivity(t.pool, endpoint.id, activitySinceMs(nowMs));
  await expect
    .poll(async () => {
      await t.deps.activity.write(t.pool);
      const activityRows = await read();
      const sum = (of: (row: (typeof activityRows)[number]) => number) =>
        activityRows.map(of).reduce((all, value) => all + value, 0);
      return [sum((row) => row.delivered), sum((row) => row.failed), sum((row) => row.backlog)];
    })
    .toEqual([2, 1, 1]);
  const rows = await read();
  expect(rows.every(({ atMs, totalMs, slowestMs }) => atMs % bucketMs === 0 && totalMs >= slowestMs)).toBe(true);

  const operator = await signInAs(t, 'operator');
  const { body } = await operator.get(`/dashboard/p/${endpoint.publisherId}/settings/webhooks/${endpoint.id}`);
  expect(body.match(/data-chart=/g)).toHaveLength(3);

  await applyWebhookRetention(t.pool, t.deps.config, nowMs + 8 * 86_400_000);
  expect(await readActivity(t.pool, endpoint.id, 0)).toEqual([]);
});
