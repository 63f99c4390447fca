import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { newUuid7 } from '../../../src/platform/lib/uuid7.ts';
import { couponCalls } from '../../coupons/support.ts';
import { messageCalls } from '../../messages/support.ts';
import { addEndpoint } from '../../perks/usp/calls.ts';
import { addPublisher } from '../../perks/wallet/support.ts';
import { startTestJobs } from '../../support/jobs.ts';
import { openMailServer } from '../../support/smtp-server.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { timeLimit } from '../../support/time-limit.ts';
import { addPostbackEndpoint, clickIdOf, track } from '../../tracking/conversions/support.ts';
import { call } from '../../tracking/journey.ts';

import { signInAs, type TestUser } from '../support.ts';

let t: TestApp & { clock: { ms: number } };
let analyst: TestUser;
let session: string;
/** IDs of the session, by kind. */
let ids: Record<string, string>;
const end: (() => Promise<unknown>)[] = [];
const own = (path: string): string => `/dashboard/p/${t.publisher.id}${path}`;

beforeAll(async () => {
  const smtp = await openMailServer();
  const clock = { ms: Date.now() };
  t = { ...(await createTestApp({ now: () => clock.ms, config: { mail: smtp.mail } })), clock };
  const job = await startTestJobs(t, 'perk messages');
  end.push(job.stop, t.close, smtp.close);
  analyst = await signInAs(t, 'analyst');
  await addPostbackEndpoint(t, 'https://publisher.example/hook');
  await addEndpoint(t);
  const calls = messageCalls(t);
  await calls.settings({ enabled: true });
  const { rows } = await t.pool.query<{ id: number }>('select id from offers where publisher_id = $1 order by id', [
    t.publisher.id,
  ]);
  for (const { id } of rows) await couponCalls(t).add(id, { codes: [`STORY-${id}`] });
  const wrapped = await calls.wrap('reader of the story', { consent: true, email: 'Reader@Example.com' });
  session = wrapped.id;
  const { pixel, click_url: clickUrl, id: offerId } = wrapped.offer as never as Record<string, string>;
  await call(t, pixel as string);
  t.clock.ms += 1000;
  const click = await clickIdOf(t, clickUrl as string);
  t.clock.ms += 1000;
  await track(t, { click_id: click, payout: '5', txn_id: 'order of the whole story' });
  // `expect.poll` works only inside tests.
  await vi.waitUntil(async () => (await calls.logOf(session))?.state === 'sent', { timeout: timeLimit(20_000) });
  const idOf = async (table: string, condition = 'true') =>
    (await t.pool.query<{ id: string }>(`select id from ${table} where session_id = $1 and ${condition}`, [session]))
      .rows[0]?.id as string;
  ids = {
    session,
    click,
    transaction: 'order of the whole story',
    conversion: await idOf('conversions'),
    delivery: await idOf('deliveries', "event = 'conversion'"),
    coupon: `story-${offerId}`,
    user: 'reader of the story',
    message: await idOf('perk_messages'),
    address: 'reader@example.com',
  };
});
afterAll(async () => {
  for (const close of end) await close();
});

const storyOf = (id: string, key = t.publisher.key) =>
  t.app.inject(`/manage/v1/story?${new URLSearchParams({ api_key: key, id })}`);
const textOf = (body: string): string => body.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');

const kinds = [
  ...['session', 'click', 'transaction', 'conversion', 'delivery', 'coupon', 'user', 'message', 'address'],
] as const;

describe('the search for an ID', () => {
  test.each(kinds)('opens the session of a %s', async (kind) => {
    const id = ids[kind] as string;
    const results = (await analyst.get(own(`/find?q=${encodeURIComponent(id)}`))).body;
    expect(results).toContain(own(`/story/${session}`));
    const page = await analyst.get(own(`/story?id=${encodeURIComponent(id)}`));
    expect([page.statusCode, page.headers.location]).toEqual([303, own(`/story/${session}`)]);
    const { data } = (await storyOf(id)).json();
    expect([data.kind, data.session.session_id]).toEqual([kind, session]);
  });

  test('opens the API log for the ID of a request', async () => {
    const rejected = await t.app.inject(`/manage/v1/campaigns?api_key=${t.publisher.key}&limit=0`);
    const [, id = ''] = /"request_id":"([^"]+)"/.exec(rejected.body) ?? [];
    const { body } = await analyst.get(own(`/find?q=${id}`));
    expect(body).toContain(own(`/api-log?request_id=${id}`));
  });

  test('also finds a message by its Message-ID header', async () => {
    expect((await storyOf(`<${ids.message}@perks.test>`)).json().data.session.session_id).toBe(session);
  });
});

test('the story contains everything from the fetch to the e-mail, in chronological order', async () => {
  const { data } = (await storyOf(session)).json();
  const entries = data.entries as { kind: string; at: string }[];
  const storyKinds = entries.map(({ kind }) => kind);
  for (const kind of [
    'fetch',
    'impression',
    'click',
    'conversion',
    'booking',
    'postback',
    'webhook',
    'coupon',
    'message',
  ])
    expect(storyKinds).toContain(kind);
  expect(entries.map(({ at }) => at)).toEqual(entries.map(({ at }) => at).sort());
  const page = textOf((await analyst.get(own(`/story/${session}`))).body);
  for (const text of ['Offers fetched', 'Impression', 'Click', 'Booking in reports', 'Postback', 'Coupon'])
    expect(page).toContain(text);
});

test('another publisher finds none of these IDs, and learns nothing about them', async () => {
  const { publisher: other } = await addPublisher(t);
  const operator = await signInAs(t, 'operator');
  for (const kind of kinds) {
    const answer = await storyOf(ids[kind] as string, other.key);
    const missing = await storyOf(kind === 'click' ? 'no such click' : newUuid7(t.clock.ms), other.key);
    expect([kind, answer.statusCode, answer.json().error.code]).toEqual([kind, 404, missing.json().error.code]);
    const { body } = await operator.get(`/dashboard/p/${other.id}/find?q=${encodeURIComponent(ids[kind] as string)}`);
    expect(body, kind).not.toContain('/story/');
  }
});
