import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { dayMs } from '../../../src/platform/lib/time.ts';
import { newUuid7 } from '../../../src/platform/lib/uuid7.ts';
import { addPublisher } from '../../perks/wallet/support.ts';
import { erase } from '../../privacy/support.ts';
import {
  addPostbackEndpoint,
  type Clicked,
  clickOffer,
  createTimedApp,
  track,
} from '../../tracking/conversions/support.ts';
import { call, googlebot } from '../../tracking/journey.ts';
import { signInAs, type TestUser } from '../support.ts';

let t: Awaited<ReturnType<typeof createTimedApp>>;
let analyst: TestUser;
let clicked: Clicked;
let deliveryId: string;
const own = (path: string): string => `/dashboard/p/${t.publisher.id}${path}`;
const textOf = (body: string): string => body.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');

beforeAll(async () => {
  t = await createTimedApp();
  await addPostbackEndpoint(t, 'https://publisher.example/hook');
  analyst = await signInAs(t, 'analyst');
  clicked = await clickOffer(t, { pub_user_id: 'user of the story' });
  await call(t, clicked.click_url, { 'user-agent': googlebot });
  t.clock.ms += 1000;
  await track(t, { click_id: clicked.clickId, payout: '5', txn_id: 'order of the story' });
  deliveryId = (await t.pool.query('select id from deliveries where session_id = $1', [clicked.sessionId])).rows[0].id;
});
afterAll(() => t.close());

const storyOf = (id: string, key = t.publisher.key) =>
  t.app.inject(`/manage/v1/story?${new URLSearchParams({ api_key: key, id })}`);

/** IDs of the session, by kind. */
const ids = (): [kind: string, id: string][] => [
  ['session', clicked.sessionId],
  ['session', clicked.sessionId.toUpperCase()],
  ['delivery', deliveryId],
  ['delivery', `msg_${deliveryId.replaceAll('-', '')}`],
  ['click', clicked.clickId],
  ['transaction', 'order of the story'],
  ['user', 'user of the story'],
];

test('the story of a session contains everything from the fetch to the postback', async () => {
  const page = textOf((await analyst.get(own(`/story/${clicked.sessionId}`))).body);
  expect(page).toMatch(
    /Offers fetched .* Impression .* Click .* Conversion .* Booking in reports .* US\$5\.00 .* Postback/,
  );
  expect(page).toContain('Transaction order of the story');
  const { data } = (await storyOf(clicked.sessionId)).json();
  expect(data.entries.map(({ kind, counted }: { kind: string; counted: number | null }) => [kind, counted])).toEqual([
    ['fetch', 1],
    ['impression', 1],
    ['click', 1],
    ['conversion', null],
    ['booking', 1],
    ['postback', null],
  ]);
});

describe('any ID opens the story', () => {
  test('in the API', async () => {
    for (const [kind, id] of ids()) {
      const { data } = (await storyOf(id)).json();
      expect([id, data?.kind, data?.session.session_id]).toEqual([id, kind, clicked.sessionId]);
    }
  });

  test('in the search of the dashboard', async () => {
    for (const [, id] of ids()) {
      const { body } = await analyst.get(own(`/find?q=${encodeURIComponent(id)}`));
      expect(body, id).toContain(own(`/story/${clicked.sessionId}`));
      const page = await analyst.get(own(`/story?id=${encodeURIComponent(id)}`));
      expect([id, page.statusCode, page.headers.location]).toEqual([id, 303, own(`/story/${clicked.sessionId}`)]);
    }
  });
});

describe('IDs of other publishers', () => {
  test('get the same response as IDs that do not exist', async () => {
    const { publisher: other } = await addPublisher(t);
    const unknown = {
      session: newUuid7(t.clock.ms),
      delivery: newUuid7(t.clock.ms),
      click: `${clicked.clickId.slice(0, -1)}${clicked.clickId.endsWith('A') ? 'B' : 'A'}`,
      transaction: 'no such order',
      user: 'no such user',
    };
    for (const [kind, id] of ids()) {
      const [foreign, missing] = [
        await storyOf(id, other.key),
        await storyOf(unknown[kind as keyof typeof unknown], other.key),
      ];
      const answerOf = ({ json }: typeof foreign) => ({ ...json().error, request_id: '' });
      expect([id, foreign.statusCode, answerOf(foreign)]).toEqual([id, 404, answerOf(missing)]);
    }
    const operator = await signInAs(t, 'operator');
    const at = `/dashboard/p/${other.id}`;
    const strip = (body: string, id: string): string => body.replaceAll(id, 'ID').replaceAll(/nonce="[^"]*"/g, '');
    const [foreign, missing] = [
      await operator.get(`${at}/story/${clicked.sessionId}`),
      await operator.get(`${at}/story/${unknown.session}`),
    ];
    expect(foreign.statusCode).toBe(404);
    expect(strip(foreign.body, clicked.sessionId)).toBe(strip(missing.body, unknown.session));
  });
});

test('the story of an erased user says so, and has no user', async () => {
  const erased = await clickOffer(t, { pub_user_id: 'erased user of a story' });
  await track(t, { click_id: erased.clickId, payout: '5', txn_id: 'erased order' });
  await erase(t, { pub_user_id: 'erased user of a story' });
  const { body } = await analyst.get(own(`/story/${erased.sessionId}`));
  expect(textOf(body)).toContain('The personal data of the user was erased');
  expect(body).not.toContain('erased user of a story');
  expect((await storyOf('erased user of a story')).statusCode).toBe(404);
  expect((await storyOf('erased order')).statusCode).toBe(404);
  expect((await storyOf(erased.sessionId)).json().data.session.pub_user_id).toBeNull();
});

test('an ID from before the retention period is reported as deleted, whoever owned it', async () => {
  const { retentionRawDays } = t.deps.config;
  const id = newUuid7(t.clock.ms - (retentionRawDays + 2) * dayMs);
  const page = await analyst.get(own(`/story/${id}`));
  expect(page.statusCode).toBe(404);
  expect(textOf(page.body)).toContain(`Sessions are stored for ${retentionRawDays} days`);
  expect((await storyOf(id)).json().error.message).toContain(`Sessions are stored for ${retentionRawDays} days`);
});
