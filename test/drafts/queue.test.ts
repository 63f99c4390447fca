import { afterAll, beforeAll, expect, test } from 'vitest';
import { sendDraftMails } from '../../src/drafts/mails.ts';
import { dayMs, hourMs, minuteMs } from '../../src/platform/lib/time.ts';
import { advertisersOf, pathOf, type TestAdvertiser } from '../advertisers/support.ts';
import { signInAs, type TestUser } from '../dashboard/support.ts';
import { type MailServer, startMailServer } from '../support/mail-server.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { callsOf, runSchedule } from './support.ts';

let t: TestApp;
let server: MailServer;
let admin: TestUser;
let first: TestAdvertiser;
let second: TestAdvertiser;
let call: ReturnType<typeof callsOf>;
let clock = Date.now();
const queue = (query = ''): Promise<string> => textOf(`/dashboard/p/${t.publisher.id}/drafts${query}`);
beforeAll(async () => {
  server = await startMailServer();
  t = await createTestApp({ config: { mail: server.mail }, now: () => clock });
  call = callsOf(t);
  admin = await signInAs(t, 'admin');
  [first, second] = (await advertisersOf(t, 2)) as [TestAdvertiser, TestAdvertiser];
  await ageBy(await propose(first, 'Alder'), 3 * dayMs);
  await ageBy(await propose(second, 'Birch'), 5 * hourMs);
});
afterAll(async () => {
  await t?.close();
  await server?.close();
});

async function textOf(path: string, user = admin, language = 'en'): Promise<string> {
  const { body } = await user.get(path, { 'accept-language': language });
  return body.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
}

/** Moves the proposal of a draft into the past. */
const ageBy = (id: number, ageMs: number) =>
  t.pool.query('update drafts set created_at = $2 where id = $1', [id, new Date(clock - ageMs)]);

/** Proposes a new headline as an advertiser. Returns the draft's ID. */
async function propose(advertiser: TestAdvertiser, title: string): Promise<number> {
  const answer = await advertiser.user.post(pathOf(advertiser, `/offers/${advertiser.offer}`), {
    title,
    cta_yes: 'Yes',
    cta_no: 'No',
  });
  const id = Number(/\/drafts\/(\d+)$/.exec(String(answer.headers.location))?.[1]);
  expect(id, answer.body).toBeGreaterThan(0);
  return id;
}

/** Returns the drafts in a list, in its order. */
const order = (text: string): string[] => [...text.matchAll(/Alder|Birch/g)].map(([title]) => title);

test('the queue shows who proposed each draft, and for how long it has been waiting', async () => {
  const text = await queue();
  expect(text).toContain(`${first.user.email} ${first.name}`);
  expect(text).toMatch(/Waiting for 3 days/);
  expect(text).toMatch(/Waiting for 5 hours/);
  expect(await textOf(`/dashboard/p/${t.publisher.id}/drafts`, admin, 'de')).toMatch(/Wartet seit 3 Tagen/);
});

test('the queue is filtered by advertiser and state, and ordered by age', async () => {
  expect(order(await queue())).toEqual(expect.arrayContaining(['Birch', 'Alder']));
  const rows = async (query: string): Promise<string[]> => [...new Set(order(await queue(query)))];
  expect(await rows('')).toEqual(['Birch', 'Alder']);
  expect(await rows('?order=oldest')).toEqual(['Alder', 'Birch']);
  expect(await rows(`?advertiser_id=${first.id}`)).toEqual(['Alder']);
  expect(await rows('?state=refused')).toEqual([]);
  for (const id of ['999999', '-1', 'x', "1' or '1'='1"])
    expect((await admin.get(`/dashboard/p/${t.publisher.id}/drafts?advertiser_id=${id}`)).statusCode).toBe(200);
  const links = (await admin.get(`/dashboard/p/${t.publisher.id}/drafts?order=oldest&advertiser_id=${first.id}`)).body;
  expect(links).toContain(`?state=refused&amp;advertiser_id=${first.id}&amp;order=oldest`);
});

test('both sides see the comment on an approval, on their pages and in the mail', async () => {
  const id = await propose(first, 'Cedar');
  clock += minuteMs;
  const path = `/dashboard/p/${t.publisher.id}/drafts/${id}`;
  const liveAt = new Date(clock + hourMs).toISOString();
  expect(
    (await call('POST', `drafts/${id}/approve`, { reason: ' Goes well with spring. ', live_at: liveAt })).status,
  ).toBe(200);
  clock += 2 * minuteMs;
  await sendDraftMails({ pool: t.pool, mailer: t.deps.mailer, now: () => clock, config: t.deps.config });
  expect(server.mails.at(-1)?.text).toContain('Comment:\nGoes well with spring.');
  clock += hourMs;
  await runSchedule(t);
  for (const text of [await textOf(path), await textOf(pathOf(first, `/drafts/${id}`), first.user)])
    expect(text).toContain('Approved with this comment: Goes well with spring.');
  expect(await textOf(pathOf(first, '/drafts'), first.user)).toContain('Goes well with spring.');
  expect((await call('GET', `drafts/${id}`)).body.data).toMatchObject({
    state: 'live',
    reason: 'Goes well with spring.',
  });
});

test('a comment is optional, shown as text, and at most 2,000 characters long', async () => {
  const id = await propose(first, 'Dogwood');
  const path = `/dashboard/p/${t.publisher.id}/drafts/${id}`;
  expect((await call('POST', `drafts/${id}/approve`, { reason: 'x'.repeat(2001) })).status).toBe(400);
  const long = await admin.post(`${path}/approve`, { comment: 'x'.repeat(2001) });
  expect([long.statusCode, long.body.includes('id="f-comment-error"')]).toEqual([422, true]);
  expect((await admin.post(`${path}/approve`, { comment: '<script>alert(1)</script>' })).statusCode).toBe(303);
  const { body } = await first.user.get(pathOf(first, `/drafts/${id}`));
  expect(body).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
  const plain = await propose(first, 'Elder');
  expect((await admin.post(`/dashboard/p/${t.publisher.id}/drafts/${plain}/approve`, {})).statusCode).toBe(303);
  expect(await textOf(pathOf(first, `/drafts/${plain}`), first.user)).not.toContain('comment');
});
