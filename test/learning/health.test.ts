import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { checkLearning } from '../../src/alerts/checks.ts';
import { createLearner, type Learner } from '../../src/learning/reading/learner.ts';
import { newestVersion } from '../../src/learning/versions.ts';
import { minuteMs } from '../../src/platform/lib/time.ts';
import { signInAs } from '../dashboard/support.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { timeLimit } from '../support/time-limit.ts';
import { untilTransactionsEnd } from '../support/transactions.ts';
import { call, fetchOffers } from '../tracking/journey.ts';

let t: TestApp;
const clock = { aheadMs: 0 };
const now = (): number => Date.now() + clock.aheadMs;
beforeAll(async () => {
  t = await createTestApp({ now });
});
afterAll(() => t?.close());

const learners: Learner[] = [];
const startLearner = (): Learner => {
  const learner = createLearner({ ...t.deps, now });
  learners.push(learner);
  return learner;
};
afterEach(async () => {
  for (const learner of learners.splice(0)) await learner.stop();
});

const visit = async (): Promise<void> => {
  const { offers } = await fetchOffers(t);
  for (const { pixel } of offers) await call(t, pixel);
};

const health = async (): Promise<[number, string]> => {
  clock.aheadMs += 6000;
  const answer = await t.app.inject('/health/learning');
  return [answer.statusCode, answer.json().status];
};

async function learnAll({ learn }: Learner): Promise<void> {
  await untilTransactionsEnd(t.pool);
  await expect.poll(async () => (await learn())?.complete).toBe(true);
}

test('reports events that have waited for a minute in health, alerts, metrics and the system page', async () => {
  expect(await health()).toEqual([200, 'ok']);
  await visit();
  expect(await health()).toEqual([200, 'ok']);
  clock.aheadMs += minuteMs;
  expect(await health()).toEqual([503, 'stalled']);
  for (const _ of [1, 2]) await checkLearning(t.deps);
  const alerts = async () =>
    (await t.pool.query("select publisher_id, ended_at is not null as over from alerts where kind = 'ranking.stalled'"))
      .rows;
  expect(await alerts()).toEqual([{ publisher_id: t.publisher.id, over: false }]);
  const manager = await signInAs(t, 'manager');
  expect((await manager.get(`/dashboard/p/${t.publisher.id}/alerts`)).body).toContain('Ranking has stopped learning');
  const operator = await signInAs(t, 'operator');
  expect((await operator.get('/dashboard/operator/system')).body).toContain('not learning despite traffic');
  expect((await t.deps.metrics.registry.getSingleMetricAsString('perkwire_learning_stalled')).trim()).toMatch(/ 1$/);

  const learner = startLearner();
  await learnAll(learner);
  expect(await health()).toEqual([200, 'ok']);
  await checkLearning(t.deps);
  expect(await alerts()).toEqual([{ publisher_id: t.publisher.id, over: true }]);
  // Transactions of tests that run at the same time can delay the last events.
  const systemPage = async () => {
    await learner.learn();
    return (await operator.get('/dashboard/operator/system')).body;
  };
  await expect.poll(systemPage).toContain('up to date');
});

test('does not treat a quiet night as a stall', async () => {
  await learnAll(startLearner());
  clock.aheadMs += 30 * minuteMs;
  expect(await health()).toEqual([200, 'ok']);
});

test('reports a failing learner and retries with smaller batches until it succeeds', async () => {
  const learner = startLearner();
  await t.pool.query(`create function fail() returns trigger language plpgsql as
    $$ begin raise exception 'no room'; end $$`);
  await t.pool.query('create trigger fail before insert on ranking_versions for each row execute function fail()');
  await visit();
  const outcomes: unknown[] = [];
  for (let run = 0; run < 5; run++) {
    const learned = learner.learn().then((result) => result?.complete);
    outcomes.push(await learned.catch((err: Error) => err.message));
  }
  expect(outcomes).toContain('no room');
  expect(outcomes).not.toContain(true);
  clock.aheadMs += 2 * minuteMs;
  expect(await health()).toEqual([503, 'stalled']);
  await t.pool.query('drop function fail cascade');
  await learnAll(learner);
  expect(await health()).toEqual([200, 'ok']);
});

// Long timeout: the learner must first reach its own time limit.
test('learns rows that take longer to read than the idle transaction timeout allows', {
  timeout: timeLimit(180_000),
}, async () => {
  await visit();
  const { current } = t.deps.catalog;
  let isSlow = true;
  const catalog = {
    readyAll: async () => {},
    current: () => {
      // Block the process as on a busy machine. PostgreSQL ends transactions that are idle for 5 seconds.
      if (isSlow) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5500);
      isSlow = false;
      return current();
    },
  };
  const learner = createLearner({ ...t.deps, catalog, now });
  learners.push(learner);
  const before = await newestVersion(t.pool);
  await expect.poll(() => learner.learn().then(() => newestVersion(t.pool))).toBeGreaterThan(before);
  expect(isSlow).toBe(false);
});
