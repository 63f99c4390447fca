import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { readProblem } from '../../../src/platform/problem.ts';
import { startTestJobs } from '../../support/jobs.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { browser, call, showOffer, storedEvents } from '../journey.ts';

let t: TestApp;

beforeAll(async () => {
  t = await createTestApp();
});
afterAll(() => t?.close());
beforeEach(async () => {
  await t.pool.query('truncate events, request_notices');
});

/** User agent of a kiosk whose vendor gave it a crawler-like name. */
const kiosk = 'ExampleCrawler-Kiosk/2.1';

async function allow(userAgents: string[]): Promise<void> {
  await t.pool.query('update publishers set allowed_user_agents = $1 where id = $2', [userAgents, t.publisher.id]);
  await t.deps.catalog.refresh();
}

test('events of bots are stored with the reason until the publisher allows the user agent', async () => {
  await call(t, (await showOffer(t)).pixel, { 'user-agent': kiosk });
  expect((await storedEvents(t)).map(({ suspicious }) => suspicious)).toEqual(['bot']);

  await allow(['crawler-kiosk/']);
  await t.pool.query('truncate events');
  await call(t, (await showOffer(t)).pixel, { 'user-agent': kiosk });
  await call(t, (await showOffer(t)).pixel, { 'user-agent': 'OtherCrawler/1.0' });
  expect((await storedEvents(t)).map(({ suspicious }) => suspicious)).toEqual([null, 'bot']);
  await allow([]);
});

async function sendEvents(count: number, userAgent: string): Promise<void> {
  for (let sent = 0; sent < count; sent++) await call(t, (await showOffer(t)).pixel, { 'user-agent': userAgent });
}

async function readNotices(): Promise<string[]> {
  const { rows } = await t.pool.query<{ message: string }>(
    "select message from request_notices where path = '/user-agent' and publisher_id = $1",
    [t.publisher.id],
  );
  return rows.map(({ message }) => String(readProblem(message)));
}

/** Discards the counts from earlier tests. */
async function startCountingAnew(): Promise<void> {
  await sendEvents(1, browser);
  await (await startTestJobs(t, 'robot notices')).stop();
}

test('a publisher whose events all come from bots gets a notice with the user agent', async () => {
  await startCountingAnew();
  await sendEvents(25, kiosk);
  const jobs = await startTestJobs(t, 'robot notices', 'request log');
  await expect.poll(readNotices).toEqual([expect.stringContaining(kiosk)]);
  await jobs.stop();
});

test('a single person among the bots prevents the notice', async () => {
  await startCountingAnew();
  await sendEvents(25, kiosk);
  await sendEvents(1, browser);
  await (await startTestJobs(t, 'robot notices')).stop();
  await t.deps.requestLog.write();
  expect(await readNotices()).toEqual([]);
});
