import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { checkLasting } from '../../src/alerts/checks.ts';
import { messageCheck } from '../../src/messages/module.ts';
import { signInAs } from '../dashboard/support.ts';
import { startTestJobs } from '../support/jobs.ts';
import { openMailServer } from '../support/smtp-server.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { type Logged, messageCalls } from './support.ts';

let t: TestApp & { clock: { ms: number } };
let smtp: Awaited<ReturnType<typeof openMailServer>>;
let calls: ReturnType<typeof messageCalls>;
let job: Awaited<ReturnType<typeof startTestJobs>>;
beforeAll(async () => {
  smtp = await openMailServer();
  const clock = { ms: Date.now() };
  t = { ...(await createTestApp({ now: () => clock.ms, config: { mail: smtp.mail } })), clock };
  calls = messageCalls(t);
  job = await startTestJobs(t, 'perk messages');
});
afterAll(async () => {
  await job.stop();
  await t.close();
  await smtp.close();
});
beforeEach(() => calls.settings({ enabled: true }));
afterEach(() => {
  smtp.refusal = null;
  smtp.received.length = 0;
});

let readers = 0;
/** Wraps a session of a new reader, and waits until the first attempt has failed. */
async function refusedMessage() {
  readers += 1;
  const email = `refused-${readers}@example.com`;
  const { id } = await calls.wrap(`refused-${readers}`, { consent: true, email });
  await expect.poll(async () => (await calls.logOf(id))?.error).toMatch(/^The mail server responded with/);
  return { id, email, message: (await calls.logOf(id)) as Logged };
}
const reasonOf = async (email: string): Promise<string | null> =>
  (await calls.call('POST', '/suppressions/check', { email })).json().data.reason;
const sealedOf = async (session: string): Promise<Buffer | null> => {
  const { rows } = await t.pool.query('select content_sealed from perk_messages where session_id = $1', [session]);
  return rows[0]?.content_sealed;
};

test.each([
  ['full mailbox', 'RCPT TO', 552, '5.2.2 Mailbox full', 'mailbox'],
  ['relay policy', 'RCPT TO', 550, 'relay not permitted', 'sender'],
  ['sender verification', 'RCPT TO', 550, 'Sender verify failed', 'sender'],
  ['sender domain', 'RCPT TO', 553, '5.1.8 Domain of sender address does not exist', 'sender'],
  ['sending limit', 'RCPT TO', 550, '5.4.5 Daily sending quota exceeded', 'sender'],
  ['block list', 'RCPT TO', 550, 'Client host blocked using zen.spamhaus.org (RBL)', 'sender'],
  ['HELO name', 'RCPT TO', 550, 'Access denied - Invalid HELO name', 'sender'],
  ['missing authentication', 'RCPT TO', 550, 'Please turn on SMTP Authentication in your mail client', 'sender'],
  [
    "recipient's rate limit",
    'RCPT TO',
    550,
    '5.2.1 The user you are trying to contact is receiving mail too quickly',
    'mailbox',
  ],
  ['unknown sender', 'MAIL FROM', 550, '5.1.1 User unknown', 'sender'],
  ['domain authentication', 'DATA', 550, '5.7.26 Unauthenticated email is not accepted', 'sender'],
] as const)(
  'a refusal because of the %s keeps the message and suppresses no address',
  async (_kind, at, code, text, refusal) => {
    smtp.refusal = { at, code, text };
    const { id, email, message } = await refusedMessage();
    expect(message).toMatchObject({ state: 'pending', refusal, can_retry: true });
    expect(await reasonOf(email)).toBeNull();
    expect(await sealedOf(id)).not.toBeNull();
    smtp.refusal = null;
    expect((await calls.call('POST', `/${message.id}/retry`)).statusCode).toBe(202);
    await calls.untilState(id, 'sent');
    expect(smtp.received.map(({ to }) => to)).toEqual([email]);
    expect(await calls.logOf(id)).toMatchObject({ refusal: null, reply: null });
  },
);

test.each([
  ['RCPT TO', '5.1.1 User unknown in local recipient table'],
  ['DATA', "delivery error: dd This user doesn't have a yahoo.com account"],
] as const)(
  'suppresses an address whose mailbox does not exist, even if the server reports it after %s',
  async (at, text) => {
    smtp.refusal = { at, code: 550, text };
    const { id, email, message } = await refusedMessage();
    expect(message).toMatchObject({ state: 'failed', refusal: 'recipient', can_retry: false });
    expect(await reasonOf(email)).toBe('bounced');
    expect(await sealedOf(id)).toBeNull();
  },
);

test('reports messages that a relay refuses only once, and resends them all when the relay works again', async () => {
  const alerts = async (): Promise<string[]> => {
    await checkLasting({ pool: t.pool, now: () => t.clock.ms }, messageCheck);
    const { rows } = await t.pool.query(
      "select data, ended_at from alerts where kind = 'messages.refused' order by id",
    );
    return rows.map(({ data, ended_at }) => `${data.refusal} ${data.reply}${ended_at === null ? '' : ' over'}`);
  };
  expect(await alerts()).toEqual([]);
  smtp.refusal = { at: 'DATA', code: 554, text: '5.7.1 Message rejected as spam' };
  const { id, message } = await refusedMessage();
  expect(message).toMatchObject({ state: 'failed', refusal: 'content', reply: '554 5.7.1', can_retry: true });
  expect(await alerts()).toEqual(['content 554 5.7.1']);
  const other = await refusedMessage();
  expect(await alerts()).toEqual(['content 554 5.7.1']);
  const admin = await signInAs(t, 'admin');
  const inbox = (await admin.get(`/dashboard/p/${t.publisher.id}/alerts`)).body;
  expect(inbox).toContain('Mail server rejects perk messages');
  expect(inbox).toContain('554 5.7.1');
  const page = (await admin.get(`/dashboard/p/${t.publisher.id}/settings/perk-messages`)).body;
  expect(page).toContain('The mail server rejected the content.');
  expect(page).toContain('Resend failed messages');
  smtp.refusal = null;
  expect((await calls.call('POST', '/retry', undefined, 'other-key')).statusCode).toBe(401);
  expect((await calls.call('POST', '/retry')).json().data).toEqual({ count: 2 });
  for (const session of [id, other.id]) await calls.untilState(session, 'sent');
  expect(await alerts()).toEqual(['content 554 5.7.1 over']);
});

test('reports a temporary refusal only if it persists', async () => {
  smtp.refusal = { at: 'RCPT TO', code: 451, text: '4.7.1 Greylisted, try again later' };
  const { id } = await refusedMessage();
  const open = async (): Promise<number> => {
    await checkLasting({ pool: t.pool, now: () => t.clock.ms }, messageCheck);
    const { rows } = await t.pool.query(
      "select count(*)::int from alerts where kind = 'messages.refused' and ended_at is null",
    );
    return rows[0].count;
  };
  expect(await open()).toBe(0);
  smtp.refusal = { at: 'RCPT TO', code: 451, text: '4.7.0 Messages from your host are throttled' };
  for (const [attempts, waitMs] of [
    [2, 5000],
    [3, 300_000],
  ] as const) {
    t.clock.ms += waitMs;
    await expect.poll(async () => (await calls.logOf(id))?.attempts).toBe(attempts);
    await expect.poll(async () => (await calls.logOf(id))?.refusal).toBe('sender');
    await expect
      .poll(async () => Date.parse((await calls.logOf(id))?.next_attempt_at ?? ''))
      .toBeGreaterThan(t.clock.ms + 200_000);
  }
  expect(await open()).toBe(1);
  smtp.refusal = null;
  t.clock.ms += 3_600_000;
  await calls.untilState(id, 'sent');
  expect(await open()).toBe(0);
});
