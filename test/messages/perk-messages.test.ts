import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { couponCalls } from '../coupons/support.ts';
import { type UspCalls, uspCalls } from '../perks/usp/calls.ts';
import { erase, tablesWith } from '../privacy/support.ts';
import { startTestJobs } from '../support/jobs.ts';
import { openMailServer, type Received } from '../support/smtp-server.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { headOf, messageCalls, partOf } from './support.ts';

let t: TestApp & { clock: { ms: number } };
let usp: UspCalls;
let smtp: Awaited<ReturnType<typeof openMailServer>>;
let calls: ReturnType<typeof messageCalls>;
let job: Awaited<ReturnType<typeof startTestJobs>>;
beforeAll(async () => {
  smtp = await openMailServer();
  const { mail } = smtp;
  const clock = { ms: Date.now() };
  t = { ...(await createTestApp({ now: () => clock.ms, config: { mail } })), clock };
  usp = uspCalls(t);
  calls = messageCalls(t);
  job = await startTestJobs(t, 'perk messages');
});
afterAll(async () => {
  await job.stop();
  await t.close();
  await smtp.close();
});
beforeEach(() => calls.settings({ enabled: true, from_name: '', reply_to: null }));
afterEach(() => {
  smtp.mood = 'takes';
  smtp.received.length = 0;
});

test('with consent, sends confirmed perks and codes by e-mail once and does not keep the address', async () => {
  const { offer: first } = await calls.wrap('reader-0', {});
  await couponCalls(t).add(first.id, { codes: ['MAILED-CODE', 'MAILED-CODE-2'] });
  const { id, answer, offer } = await calls.wrap('reader-1', { consent: true, email: 'Reader@Example.com' });
  expect(answer.status).toBe(200);
  await usp.call('POST', `session/${id}.json`, {
    body: { action: 'wrap', pub_user_id: 'reader-1', consent: true, email: 'reader@example.com' },
  });
  await calls.untilState(id, 'sent');
  expect(smtp.received.map(({ to }) => to)).toEqual(['reader@example.com']);
  const { raw } = smtp.received[0] as Received;
  expect(headOf(raw)).toMatch(/^List-Unsubscribe: <http:\/\/perks\.test\/messages\/unsubscribe\?t=[\w-]{51}>$/im);
  expect(headOf(raw)).toMatch(/^List-Unsubscribe-Post: List-Unsubscribe=One-Click$/im);
  const [plain, rich] = [partOf(raw, 'text/plain'), partOf(raw, 'text/html')];
  for (const part of [plain, rich]) expect(part).toContain('/sdk/offer-click?t=');
  if (offer.id === first.id) for (const part of [plain, rich]) expect(part).toContain('MAILED-CODE');
  expect(rich).toMatch(/<table role="presentation"/);
  expect(raw.length).toBeLessThan(100_000);
  expect(await tablesWith(t, 'reader@example.com')).toEqual([]);
  await couponCalls(t).removePool(first.id);
});

test('sends and stores nothing without consent, an address or enabled messages', async () => {
  const bodies = [{ email: 'a@example.com' }, { consent: false, email: 'a@example.com' }, { consent: true }];
  for (const body of bodies) expect(await calls.logOf((await calls.wrap('quiet', body)).id)).toBeUndefined();
  await calls.settings({ enabled: false });
  expect(await calls.logOf((await calls.wrap('quiet', { consent: true, email: 'a@example.com' })).id)).toBeUndefined();
});

test.each(['no address', 'a@b.example, c@d.example', 'a@b.example\r\nbcc: c@d.example', '<a@b.example>'])(
  'rejects %j as an address and leaves the session open',
  async (email) => {
    const { id, answer } = await calls.wrap('refused', { consent: true, email });
    expect([answer.status, (answer.body as { error: { details: { path: string }[] } }).error.details[0]?.path]).toEqual(
      [400, '/email'],
    );
    expect((await usp.get(id, { user: 'refused' })).data.status).toBe('open');
  },
);

test('encrypts the address until it is sent, and retries a busy server with the same Message-ID', async () => {
  smtp.mood = 'is busy';
  const { id } = await calls.wrap('patient', { consent: true, email: 'patient@example.com' });
  await expect.poll(async () => (await calls.logOf(id))?.error).toBe('The mail server responded with 451.');
  expect(await tablesWith(t, 'patient@example.com')).toEqual([]);
  smtp.mood = 'takes and hangs up';
  t.clock.ms += 5000;
  await expect.poll(async () => (await calls.logOf(id))?.error).toBe('The mail server responded with 421.');
  smtp.mood = 'takes';
  t.clock.ms += 300_000;
  await calls.untilState(id, 'sent');
  expect(smtp.received).toHaveLength(2);
  expect(new Set(smtp.received.map(({ messageId }) => messageId)).size).toBe(1);
  expect((await calls.logOf(id))?.attempts).toBe(3);
});

test('does not retry an unknown address, and suppresses later messages to it', async () => {
  smtp.mood = 'refuses the address';
  const { id } = await calls.wrap('bounced', { consent: true, email: 'nobody@example.com' });
  await calls.untilState(id, 'failed');
  smtp.mood = 'takes';
  const { id: later } = await calls.wrap('bounced', { consent: true, email: 'nobody@example.com' });
  await calls.untilState(later, 'suppressed');
  expect(smtp.received).toEqual([]);
});

test('ends the messages of a publisher with one click, but not when the link is only opened', async () => {
  const { id } = await calls.wrap('leaver', { consent: true, email: 'leaver@example.com' });
  await calls.untilState(id, 'sent');
  const url = /^list-unsubscribe: <http:\/\/perks\.test([^>]+)>/im.exec(headOf(smtp.received[0]?.raw ?? ''))?.[1] ?? '';
  expect((await t.app.inject({ url })).statusCode).toBe(200);
  const { id: second } = await calls.wrap('leaver', { consent: true, email: 'leaver@example.com' });
  await calls.untilState(second, 'sent');
  const oneClick = { 'content-type': 'application/x-www-form-urlencoded' };
  const answer = await t.app.inject({ method: 'POST', url, headers: oneClick, payload: 'List-Unsubscribe=One-Click' });
  expect(answer.statusCode).toBe(200);
  const { id: third } = await calls.wrap('leaver', { consent: true, email: 'LEAVER@example.com' });
  await calls.untilState(third, 'suppressed');
  expect((await t.app.inject({ method: 'POST', url: `${url.slice(0, -1)}_` })).statusCode).toBe(400);
});

test('does not allow a name to inject a header', async () => {
  expect((await calls.settings({ from_name: 'Shop\r\nBcc: all@example.com' })).statusCode).toBe(400);
  await t.pool.query("update perk_message_settings set from_name = E'Shop\\r\\nBcc: all@example.com'");
  const { id } = await calls.wrap('header', { consent: true, email: 'header@example.com' });
  await calls.untilState(id, 'sent');
  expect(headOf(smtp.received[0]?.raw ?? '')).not.toMatch(/^bcc:/im);
  expect(smtp.received[0]?.to).toBe('header@example.com');
});

test.each([
  ['de', 'ltr', 'Ihr Vorteil'],
  ['ar', 'rtl', 'ميزتك'],
])("in %s the message uses the user's language", async (language, direction, title) => {
  const { id } = await calls.wrap(`speaker of ${language}`, {
    consent: true,
    email: `${language}@example.com`,
    language,
  });
  await calls.untilState(id, 'sent');
  const rich = partOf(smtp.received[0]?.raw ?? '', 'text/html');
  expect(rich).toContain(`<html lang="${language}" dir="${direction}">`);
  expect(rich).toContain(title);
});

test('deletes a pending message when its user is erased', async () => {
  smtp.mood = 'is busy';
  const { id } = await calls.wrap('erased-reader', { consent: true, email: 'erased@example.com' });
  await expect.poll(async () => (await calls.logOf(id))?.attempts).toBe(1);
  await erase(t, { pub_user_id: 'erased-reader' });
  smtp.mood = 'takes';
  t.clock.ms += 3_600_000;
  expect(await calls.logOf(id)).toBeUndefined();
});
