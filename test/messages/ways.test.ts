import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { couponCalls } from '../coupons/support.ts';
import { uspCalls } from '../perks/usp/calls.ts';
import { type SaveableOffer, saveUrlOf, showOneTo } from '../perks/wallet/support.ts';
import { erase, tablesWith } from '../privacy/support.ts';
import { startTestJobs } from '../support/jobs.ts';
import { openMailServer } from '../support/smtp-server.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { headOf, type Logged, messageCalls, partOf } from './support.ts';

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
const defaults = { enabled: true, from_name: '', reply_to: null, delivery: 'smtp', double_opt_in: false };
beforeEach(() => calls.settings({ ...defaults, reminder_hours: null }));
afterEach(() => {
  smtp.mood = 'takes';
  smtp.received.length = 0;
});

const hourMs = 3_600_000;
const consented = (email: string) => ({ consent: true, email });
const linkIn = (raw: string, path: string): string =>
  new RegExp(`http://perks\\.test(/messages/${path}\\?t=[\\w-]+)`).exec(partOf(raw, 'text/plain'))?.[1] ?? '';
const post = (url: string) => t.app.inject({ method: 'POST', url, headers: { 'content-type': 'text/plain' } });

test('with double opt-in, asks each address once and sends its messages after confirmation', async () => {
  await calls.settings({ double_opt_in: true });
  const sessions = [];
  for (const user of ['asked-1', 'asked-2']) {
    const { id } = await calls.wrap(user, consented('owner@example.com'));
    await calls.untilState(id, 'unconfirmed');
    sessions.push(id);
  }
  expect(smtp.received).toHaveLength(1);
  const [question] = smtp.received;
  expect(partOf(question?.raw ?? '', 'text/html')).not.toContain('/sdk/offer-click');
  const url = linkIn(question?.raw ?? '', 'confirm');
  expect((await t.app.inject({ url })).statusCode).toBe(200);
  expect((await calls.logOf(sessions[0] ?? ''))?.state).toBe('unconfirmed');
  expect((await post(url)).statusCode).toBe(200);
  for (const id of sessions) await calls.untilState(id, 'sent');
  const { id: later } = await calls.wrap('asked-1', consented('owner@example.com'));
  await calls.untilState(later, 'sent');
  expect(smtp.received).toHaveLength(4);
  expect((await post(url.replace('confirm', 'unsubscribe'))).statusCode).toBe(400);
});

test("sends the message to the publisher's own mailer as a webhook without any address", async () => {
  await calls.settings({ delivery: 'webhook' });
  const { id: lonely } = await calls.wrap('own-0', { consent: true });
  await expect
    .poll(async () => (await calls.logOf(lonely))?.error)
    .toBe('No webhook endpoint subscribes to perk_message.');
  const endpoint = await t.app.inject({
    method: 'POST',
    url: '/manage/v1/webhook-endpoints',
    headers: { authorization: 'Bearer demo-key' },
    payload: { url: 'https://mailer.example.com/perks', events: ['perk_message'] },
  });
  expect(endpoint.statusCode, endpoint.body).toBe(201);
  const logged = (await calls.logOf(lonely)) as Logged;
  expect((await calls.call('POST', `/${logged.id}/retry`)).statusCode).toBe(202);
  await calls.untilState(lonely, 'sent');
  const { id } = await calls.wrap('own-1', consented('own@example.com'));
  await calls.untilState(id, 'sent');
  const { rows } = await t.pool.query<{ payload: Buffer }>(
    "select payload from deliveries where event = 'perk_message' order by created_at",
  );
  const bodies = rows.map(({ payload }) => JSON.parse(payload.toString()));
  expect(bodies.map((body) => [body.pub_user_id, body.session_id])).toEqual([
    ['own-0', lonely],
    ['own-1', id],
  ]);
  expect(bodies[1]).toMatchObject({ kind: 'perks', event: 'perk_message', perks: [{ title: expect.any(String) }] });
  expect(bodies[1].message_id).toMatch(/^<[\da-f-]{36}@perks\.test>$/);
  expect(bodies[1].headers['list-unsubscribe-post']).toBe('List-Unsubscribe=One-Click');
  expect(bodies[1].html).toContain('<table role="presentation"');
  expect(await tablesWith(t, 'own@example.com')).toEqual([]);
  expect(smtp.received).toEqual([]);
});

test('reminds users who saved an offer with consent once, before the offer ends', async () => {
  await calls.settings({ reminder_hours: 1 });
  const offer = await showOneTo(t, 'saver-1');
  const endsAtMs = t.clock.ms + 2 * hourMs;
  await setEnd(offer.campaign_id, endsAtMs);
  const url = saveUrlOf(offer);
  for (let time = 0; time < 2; time++) {
    const saved = await t.app.inject({ method: 'POST', url, payload: consented('saver@example.com') });
    expect(saved.statusCode, saved.body).toBe(200);
  }
  const refused = await t.app.inject({ method: 'POST', url, payload: consented('no address') });
  expect(refused.statusCode).toBe(400);
  const log = await calls.logOf(offer.sessionId);
  expect(log).toMatchObject({ kind: 'reminder', state: 'pending' });
  expect(Date.parse(log?.next_attempt_at ?? '')).toBe(endsAtMs - hourMs);
  expect(await tablesWith(t, 'saver@example.com')).toEqual([]);
  t.clock.ms += 1.1 * hourMs;
  await calls.untilState(offer.sessionId, 'sent');
  expect(smtp.received).toHaveLength(1);
  expect(headOf(smtp.received[0]?.raw ?? '')).toMatch(/^Subject: .*An offer you saved ends soon/m);
  expect(partOf(smtp.received[0]?.raw ?? '', 'text/plain')).toContain('Valid until');
});

test("sends the reminder before the user's code expires, whenever the code was assigned", async () => {
  await calls.settings({ reminder_hours: 1 });
  const usp = uspCalls(t);
  const coupons = couponCalls(t);
  const first = await showOneTo(t, 'coded-0');
  await coupons.add(first.id, { codes: ['CODE-1', 'CODE-2', 'CODE-3'] });
  await setEnd(first.campaign_id, t.clock.ms + 48 * hourMs);
  const endsAtMs = t.clock.ms + 2 * hourMs;
  const savedBy = async (user: string, payload?: object) => {
    const { id, offers } = await usp.fetch({ pub_user_id: user });
    const offer = offers.find((candidate) => candidate.id === first.id) as SaveableOffer;
    const save = (body?: object) =>
      t.app.inject({ method: 'POST', url: saveUrlOf(offer), ...(body !== undefined && { payload: body }) });
    const wrapped = { action: 'wrap', pub_user_id: user, selected: [first.campaign_id] };
    if (payload === undefined) await usp.call('POST', `session/${id}.json`, { body: wrapped });
    else await save(payload);
    const saved = await save(consented(`${user}@example.com`));
    expect(saved.statusCode, saved.body).toBe(200);
    return calls.logOf(id);
  };
  const reminder = { kind: 'reminder', next_attempt_at: new Date(endsAtMs - hourMs).toISOString() };
  for (const [giveAt, payload] of [
    ['wrap', undefined],
    ['save', {}],
  ] as const) {
    await coupons.change(first.id, { give_at: giveAt, expires_at: new Date(endsAtMs).toISOString() });
    expect(await savedBy(`coded-${giveAt}`, payload)).toMatchObject(reminder);
  }
  await coupons.removePool(first.id);
});

test('sends no reminder for an offer that was removed from the wallet, or without a request for one', async () => {
  await calls.settings({ reminder_hours: 1 });
  const [consentedOffer, plain] = [await showOneTo(t, 'saver-2'), await showOneTo(t, 'saver-3')];
  for (const { campaign_id: id } of [consentedOffer, plain]) await setEnd(id, t.clock.ms + 2 * hourMs);
  await t.app.inject({ method: 'POST', url: saveUrlOf(plain) });
  expect(await calls.logOf(plain.sessionId)).toBeUndefined();
  await t.app.inject({ method: 'POST', url: saveUrlOf(consentedOffer), payload: consented('gone@example.com') });
  await t.app.inject({
    method: 'DELETE',
    url: `/wallet/v1/offers/${consentedOffer.id}.json?pub_user_id=saver-2`,
    headers: { authorization: 'Bearer demo-key' },
  });
  t.clock.ms += 1.1 * hourMs;
  await calls.untilState(consentedOffer.sessionId, 'dropped');
  expect(smtp.received).toEqual([]);
});

test('suppresses no address when the mail server refuses the sender, and can resend failed messages', async () => {
  smtp.mood = 'refuses the sender';
  const { id } = await calls.wrap('relay', consented('relay@example.com'));
  await expect.poll(async () => (await calls.logOf(id))?.attempts).toBe(1);
  smtp.mood = 'takes';
  const { id: message } = (await calls.logOf(id)) as Logged;
  expect((await calls.call('POST', `/${message}/retry`, undefined, 'other-key')).statusCode).not.toBe(202);
  expect((await calls.call('POST', `/${message}/retry`)).statusCode).toBe(202);
  await calls.untilState(id, 'sent');
  expect((await calls.call('POST', `/${message}/retry`)).statusCode).toBe(404);
});

test('looks up, adds and lifts suppressed addresses, but stores only their hashes', async () => {
  const email = 'Listed@Example.com';
  const look = async () => (await calls.call('POST', '/suppressions/check', { email })).json().data;
  expect(await look()).toEqual({ suppressed: false, reason: null, since: null });
  const added = await calls.call('POST', '/suppressions', { emails: [email, 'listed@example.com'] });
  expect(added.json().data).toEqual({ added: 1 });
  expect(await look()).toMatchObject({ suppressed: true, reason: 'added' });
  expect(await tablesWith(t, 'listed@example.com')).toEqual([]);
  const { id } = await calls.wrap('listed', consented('listed@example.com'));
  await calls.untilState(id, 'suppressed');
  expect((await calls.call('POST', '/suppressions/remove', { email })).json().data.suppressed).toBe(false);
  const { id: later } = await calls.wrap('listed', consented('listed@example.com'));
  await calls.untilState(later, 'sent');
  expect((await calls.call('POST', '/suppressions', { emails: ['nobody'] })).statusCode).toBe(400);
  expect((await calls.call('GET', '/suppressions')).json().data.added).toBe(0);
});

test('limits an address to 20 messages a day, even for 64 concurrent calls in several processes', async () => {
  const others = await Promise.all([1, 2].map(() => startTestJobs(t, 'perk messages')));
  const wraps = await Promise.all(Array.from({ length: 64 }, () => calls.wrap('many', consented('many@example.com'))));
  const states = async (): Promise<Record<string, number>> => {
    const { rows } = await t.pool.query<{ state: string; count: number }>(
      'select state, count(*)::int from perk_messages where session_id = any($1) group by state',
      [wraps.map(({ id }) => id)],
    );
    return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
  };
  await expect.poll(states).toEqual({ sent: 20, dropped: 44 });
  expect(smtp.received.filter(({ to }) => to === 'many@example.com')).toHaveLength(20);
  await Promise.all(others.map((worker) => worker.stop()));
  // Move the messages to yesterday, because a session of tomorrow cannot be stored here.
  await t.pool.query("update perk_messages set counted_at = counted_at - interval '25 hours'");
  const { id } = await calls.wrap('many', consented('many@example.com'));
  await calls.untilState(id, 'sent');
});

test('does not count messages that the mail server defers against the daily limit', async () => {
  smtp.mood = 'is busy';
  const busy = await Promise.all(Array.from({ length: 20 }, () => calls.wrap('back', consented('back@example.com'))));
  for (const { id } of busy) await expect.poll(async () => (await calls.logOf(id))?.error).toMatch(/451/);
  smtp.mood = 'takes';
  const { id } = await calls.wrap('back', consented('back@example.com'));
  await calls.untilState(id, 'sent');
  t.clock.ms += 5000;
  for (const session of busy) await expect.poll(async () => (await calls.logOf(session.id))?.state).not.toBe('pending');
  expect(smtp.received.filter(({ to }) => to === 'back@example.com')).toHaveLength(20);
});

test('deletes the confirmation of an address when its user is erased', async () => {
  await calls.settings({ double_opt_in: true });
  const { id } = await calls.wrap('forgotten', consented('forgotten@example.com'));
  await calls.untilState(id, 'unconfirmed');
  const count = async () => (await t.pool.query('select count(*)::int from message_confirmations')).rows[0]?.count;
  const before = await count();
  await erase(t, { pub_user_id: 'forgotten' });
  expect(await count()).toBe(before - 1);
});

test("previews the e-mail in the publisher's colours and in any language", async () => {
  const answer = await calls.call('GET', '/preview?language=ar');
  expect(answer.json().data).toMatchObject({ language: 'ar', subject: expect.stringContaining('مزاياك') });
  expect(answer.json().data.html).toContain('dir="rtl"');
});

// This test comes last, because no further sessions can be stored once the clock is this far ahead.
test('drops an unanswered confirmation request and its address after a week', async () => {
  await calls.settings({ double_opt_in: true });
  const { id } = await calls.wrap('silent', consented('silent@example.com'));
  await calls.untilState(id, 'unconfirmed');
  t.clock.ms += 7 * 24 * hourMs;
  await calls.untilState(id, 'dropped');
  const { rows } = await t.pool.query('select content_sealed from perk_messages where session_id = $1', [id]);
  expect(rows).toEqual([{ content_sealed: null }]);
});

/** Sets the end of a campaign, and waits until the process has loaded the change. */
async function setEnd(campaignId: number, endsAtMs: number): Promise<void> {
  const answer = await t.app.inject({
    method: 'PATCH',
    url: `/manage/v1/campaigns/${campaignId}`,
    headers: { authorization: 'Bearer demo-key' },
    payload: { rules: { schedule: { end_at: new Date(endsAtMs).toISOString() } } },
  });
  expect(answer.statusCode, answer.body).toBe(200);
}
