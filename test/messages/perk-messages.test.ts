import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { SMTPServer } from 'smtp-server';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { couponCalls } from '../coupons/support.ts';
import { type UspCalls, uspCalls } from '../perks/usp/calls.ts';
import { erase, tablesWith } from '../privacy/support.ts';
import { startTestJobs } from '../support/jobs.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';

/** A mail server that counts. `mood`: what it does with the next mails. */
type Mood = 'takes' | 'takes and hangs up' | 'refuses the address' | 'is busy';
type Received = { to: string; raw: string; messageId: string };
let mood: Mood = 'takes';
const received: Received[] = [];
const smtp = new SMTPServer({
  authOptional: true,
  disabledCommands: ['STARTTLS', 'AUTH'],
  logger: false,
  onRcptTo: (_address, _session, done) =>
    mood === 'refuses the address'
      ? done(Object.assign(new Error('no such mailbox'), { responseCode: 550 }))
      : mood === 'is busy'
        ? done(Object.assign(new Error('later'), { responseCode: 451 }))
        : done(),
  onData: (stream, session, done) => {
    text(stream).then((raw) => {
      const messageId = /^message-id: (.*)\r$/im.exec(raw)?.[1] ?? '';
      received.push({ to: session.envelope.rcptTo.map(({ address }) => address).join(), raw, messageId });
      // It has the mail, and the sender never learns that.
      if (mood === 'takes and hangs up') done(Object.assign(new Error('gone'), { responseCode: 421 }));
      else done();
    }, done);
  },
});

let t: TestApp & { clock: { ms: number } };
let usp: UspCalls;
let job: Awaited<ReturnType<typeof startTestJobs>>;
beforeAll(async () => {
  await new Promise<void>((resolve) => smtp.listen(0, '127.0.0.1', resolve));
  const { port } = smtp.server.address() as AddressInfo;
  const mail = { host: '127.0.0.1', port, secure: false, credentials: null, from: 'Perks <perks@example.com>' };
  const clock = { ms: Date.now() };
  t = { ...(await createTestApp({ now: () => clock.ms, config: { mail } })), clock };
  usp = uspCalls(t);
  job = await startTestJobs(t, 'perk messages');
});
afterAll(async () => {
  await job.stop();
  await t.close();
  await new Promise<void>((resolve) => smtp.close(() => resolve()));
});
beforeEach(() => settings({ enabled: true, from_name: '', reply_to: null }));
afterEach(() => {
  mood = 'takes';
  received.length = 0;
});

const headers = { authorization: 'Bearer demo-key' };
const settings = (payload: object) =>
  t.app.inject({ method: 'PATCH', url: '/manage/v1/perk-messages/settings', headers, payload });
type Logged = { session_id: string; state: string; attempts: number; error: string | null };
const logOf = async (session: string): Promise<Logged | undefined> => {
  const answer = await t.app.inject({ url: '/manage/v1/perk-messages', headers });
  return (answer.json().data as Logged[]).find(({ session_id: id }) => id === session);
};
const untilState = (session: string, state: string) =>
  expect.poll(async () => (await logOf(session))?.state).toBe(state);

async function wrap(user: string, body: object) {
  const { id, offers } = await usp.fetch({ pub_user_id: user });
  const [offer] = offers;
  const answer = await usp.call('POST', `session/${id}.json`, {
    body: { action: 'wrap', pub_user_id: user, selected: [offer?.campaign_id], ...body },
  });
  return { id, offer: offer as { id: number }, answer };
}

/** The headers, each on one line. */
const headOf = (raw: string): string =>
  (raw.split('\r\n\r\n')[0] ?? '').replaceAll(/\r\n[ \t]+/g, ' ').replaceAll('\r\n', '\n');

/** A part of a mail, decoded. */
function partOf(raw: string, type: string): string {
  const part = raw.split(/\r\n--[^\r]*\r\n/).find((one) => one.toLowerCase().startsWith(`content-type: ${type}`)) ?? '';
  const body = part.slice(part.indexOf('\r\n\r\n') + 4);
  if (/base64/i.test(part.slice(0, 200))) return Buffer.from(body, 'base64').toString();
  const joined = body.replaceAll(/=\r\n/g, '');
  const latin = joined.replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(latin, 'latin1').toString();
}

test('with consent the confirmed perks and their codes are mailed once, and the address is not kept', async () => {
  const { offer: first } = await wrap('reader-0', {});
  await couponCalls(t).add(first.id, { codes: ['MAILED-CODE', 'MAILED-CODE-2'] });
  const { id, answer, offer } = await wrap('reader-1', { consent: true, email: 'Reader@Example.com' });
  expect(answer.status).toBe(200);
  await usp.call('POST', `session/${id}.json`, {
    body: { action: 'wrap', pub_user_id: 'reader-1', consent: true, email: 'reader@example.com' },
  });
  await untilState(id, 'sent');
  expect(received.map(({ to }) => to)).toEqual(['reader@example.com']);
  const { raw } = received[0] as Received;
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

test('nothing is mailed or kept without consent, without an address, or where the publisher sends none', async () => {
  const bodies = [{ email: 'a@example.com' }, { consent: false, email: 'a@example.com' }, { consent: true }];
  for (const body of bodies) expect(await logOf((await wrap('quiet', body)).id)).toBeUndefined();
  await settings({ enabled: false });
  expect(await logOf((await wrap('quiet', { consent: true, email: 'a@example.com' })).id)).toBeUndefined();
});

test.each(['no address', 'a@b.example, c@d.example', 'a@b.example\r\nbcc: c@d.example', '<a@b.example>'])(
  '%j is refused as an address, and the session stays open',
  async (email) => {
    const { id, answer } = await wrap('refused', { consent: true, email });
    expect([answer.status, (answer.body as { error: { details: { path: string }[] } }).error.details[0]?.path]).toEqual(
      [400, '/email'],
    );
    expect((await usp.get(id, { user: 'refused' })).data.status).toBe('open');
  },
);

test('until it is sent the address is sealed; a busy server is tried again, with the same Message-ID', async () => {
  mood = 'is busy';
  const { id } = await wrap('patient', { consent: true, email: 'patient@example.com' });
  await expect.poll(async () => (await logOf(id))?.error).toBe('the mail server answered 451');
  expect(await tablesWith(t, 'patient@example.com')).toEqual([]);
  mood = 'takes and hangs up';
  t.clock.ms += 5000;
  await expect.poll(async () => (await logOf(id))?.error).toBe('the mail server answered 421');
  mood = 'takes';
  t.clock.ms += 300_000;
  await untilState(id, 'sent');
  expect(received).toHaveLength(2);
  expect(new Set(received.map(({ messageId }) => messageId)).size).toBe(1);
  expect((await logOf(id))?.attempts).toBe(3);
});

test('an address that the server does not know is tried no more, and not by later messages either', async () => {
  mood = 'refuses the address';
  const { id } = await wrap('bounced', { consent: true, email: 'nobody@example.com' });
  await untilState(id, 'failed');
  mood = 'takes';
  const { id: later } = await wrap('bounced', { consent: true, email: 'nobody@example.com' });
  await untilState(later, 'suppressed');
  expect(received).toEqual([]);
});

test('one click ends the messages of a publisher; a look at the link does not', async () => {
  const { id } = await wrap('leaver', { consent: true, email: 'leaver@example.com' });
  await untilState(id, 'sent');
  const url = /^list-unsubscribe: <http:\/\/perks\.test([^>]+)>/im.exec(headOf(received[0]?.raw ?? ''))?.[1] ?? '';
  expect((await t.app.inject({ url })).statusCode).toBe(200);
  const { id: second } = await wrap('leaver', { consent: true, email: 'leaver@example.com' });
  await untilState(second, 'sent');
  const oneClick = { 'content-type': 'application/x-www-form-urlencoded' };
  const answer = await t.app.inject({ method: 'POST', url, headers: oneClick, payload: 'List-Unsubscribe=One-Click' });
  expect(answer.statusCode).toBe(200);
  const { id: third } = await wrap('leaver', { consent: true, email: 'LEAVER@example.com' });
  await untilState(third, 'suppressed');
  expect((await t.app.inject({ method: 'POST', url: `${url.slice(0, -1)}_` })).statusCode).toBe(400);
});

test('a name cannot add a header', async () => {
  expect((await settings({ from_name: 'Shop\r\nBcc: all@example.com' })).statusCode).toBe(400);
  await t.pool.query("update perk_message_settings set from_name = E'Shop\\r\\nBcc: all@example.com'");
  const { id } = await wrap('header', { consent: true, email: 'header@example.com' });
  await untilState(id, 'sent');
  expect(headOf(received[0]?.raw ?? '')).not.toMatch(/^bcc:/im);
  expect(received[0]?.to).toBe('header@example.com');
});

test.each([
  ['de', 'ltr', 'Dein Vorteil'],
  ['ar', 'rtl', 'ميزتك'],
])('in %s it reads in the language of the user', async (language, direction, title) => {
  const { id } = await wrap(`speaker of ${language}`, { consent: true, email: `${language}@example.com`, language });
  await untilState(id, 'sent');
  const rich = partOf(received[0]?.raw ?? '', 'text/html');
  expect(rich).toContain(`<html lang="${language}" dir="${direction}">`);
  expect(rich).toContain(title);
});

test('a message that waits is gone with its user', async () => {
  mood = 'is busy';
  const { id } = await wrap('erased-reader', { consent: true, email: 'erased@example.com' });
  await expect.poll(async () => (await logOf(id))?.attempts).toBe(1);
  await erase(t, { pub_user_id: 'erased-reader' });
  mood = 'takes';
  t.clock.ms += 3_600_000;
  expect(await logOf(id)).toBeUndefined();
});
