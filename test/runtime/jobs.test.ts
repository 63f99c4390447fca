import { afterAll, beforeAll, expect, test } from 'vitest';
import { dayMs, dayOf } from '../../src/platform/lib/time.ts';
import { jobsOf } from '../../src/runtime/run-jobs.ts';
import { startTestJobs } from '../support/jobs.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';

const nowMs = Date.UTC(2033, 6, 18, 12);
let t: TestApp;
beforeAll(async () => {
  t = await createTestApp({ now: () => nowMs });
});
afterAll(() => t.close());

test('every job has a unique name, a role and a description of its locks', () => {
  const jobs = jobsOf(t.contributions, t.deps);
  expect(new Set(jobs.map(({ name }) => name)).size).toBe(jobs.length);
  for (const { name, roles, locks } of jobs) {
    expect(roles.length, name).toBeGreaterThan(0);
    expect(locks, name).not.toBe('');
  }
});

test('compaction with a backlog of months does not prevent a process from stopping', async () => {
  const behind = dayOf(nowMs - 300 * dayMs);
  await t.pool.query(
    "insert into rollup_publishers (publisher_id, time_zone, compacted_until) values (1000, 'UTC', $1)",
    [behind],
  );
  const jobs = await startTestJobs(t, 'rollup compaction');
  await jobs.stop();
  const { rows } = await t.pool.query<{ compacted_until: string }>(
    'select compacted_until::text from rollup_publishers where publisher_id = 1000',
  );
  expect(Date.parse(rows[0]?.compacted_until ?? '')).toBeLessThan(nowMs - 200 * dayMs);
});
