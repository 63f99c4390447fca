import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { sendDraftMails } from '../../src/drafts/mails.ts';
import { minuteMs } from '../../src/platform/lib/time.ts';
import { signInAs, type TestUser } from '../dashboard/support.ts';
import { callsOf } from '../drafts/support.ts';
import { type MailServer, startMailServer } from '../support/mail-server.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { advertisersOf, pathOf, type TestAdvertiser } from './support.ts';

let t: TestApp;
let server: MailServer;
let own: TestAdvertiser;
let other: TestAdvertiser;
let admin: TestUser;
let call: ReturnType<typeof callsOf>;
let clock = Date.now();
beforeAll(async () => {
  server = await startMailServer();
  const { mail } = server;
  t = await createTestApp({ config: { mail }, now: () => clock });
  [own, other] = (await advertisersOf(t, 2)) as [TestAdvertiser, TestAdvertiser];
  admin = await signInAs(t, 'admin');
  call = callsOf(t);
});
afterAll(async () => {
  await t?.close();
  await server?.close();
});
beforeEach(async () => {
  await t.pool.query('delete from drafts');
  server.mails.length = 0;
  server.refuse(false);
  clock += minuteMs;
});

async function propose(title = 'Two months free'): Promise<number> {
  const fields = { title, cta_yes: 'Yes', cta_no: 'No', campaign_id: String(own.campaign) };
  const { headers } = await own.user.post(pathOf(own, '/offers'), fields);
  clock += 1000;
  return Number(String(headers.location).split('/').at(-1));
}
const drafts = () => `/dashboard/p/${t.publisher.id}/drafts`;
const refuse = (id: number) => admin.post(`${drafts()}/${id}/refuse`, { reason: 'One month, please.' });

/** Sends the e-mails that are due after a time, in milliseconds. */
async function sendMails(afterMs = minuteMs): Promise<void> {
  clock += afterMs;
  await sendDraftMails(t.deps);
}
const recipients = (): string[] => server.mails.flatMap(({ to }) => to).sort();

describe('the e-mail about a decision', () => {
  test('reaches all accounts of the advertiser, with the reason and a link, in their own languages', async () => {
    const german = await signInAs(t, 'advertiser', null, own.id);
    await t.pool.query("update users set language = 'de' where id = $1", [german.userId]);
    const id = await propose();
    await refuse(id);
    await sendMails();
    expect(recipients()).toEqual([german.email, own.user.email].sort());
    const mailTo = (email: string) => server.mails.find(({ to }) => to.includes(email))?.text ?? '';
    expect(mailTo(own.user.email)).toContain('was rejected for this reason:\n\nOne month, please.');
    expect(mailTo(own.user.email)).toContain(`${t.deps.config.publicUrl}${pathOf(own, `/drafts/${id}`)}`);
    expect(mailTo(german.email)).toContain('mit dieser Begründung abgelehnt:\n\nOne month, please.');
    await sendMails(60 * minuteMs);
    expect(server.mails).toHaveLength(2);
    await t.pool.query('delete from memberships where user_id = $1', [german.userId]);
  });

  test('states that the change is live, or when it goes live', async () => {
    const [now, later] = [await propose('Now'), await propose('Later')];
    await call('POST', `drafts/${now}/approve`, {});
    await call('POST', `drafts/${later}/approve`, { live_at: new Date(clock + 86_400_000).toISOString() });
    await sendMails();
    const sent = server.mails.map(({ text }) => text.split('\n', 1)[0]).sort();
    expect(sent[0]).toMatch(/^“Later” was approved\. It goes live on .*\d{4}/);
    expect(sent[1]).toBe('“Now” was approved and is live.');
  });

  test('is not sent if the decision is undone within a minute', async () => {
    const id = await propose();
    await refuse(id);
    await call('POST', `drafts/${id}/undo`);
    await sendMails();
    expect(server.mails).toEqual([]);
  });

  test('is not sent to other advertisers, or to an account whose access was revoked', async () => {
    const account = await signInAs(t, 'advertiser', null, own.id);
    const id = await propose();
    await refuse(id);
    await t.pool.query('update memberships set disabled = true where user_id = $1', [account.userId]);
    await sendMails();
    expect(recipients()).toEqual([own.user.email]);
    expect(recipients()).not.toContain(other.user.email);
  });

  test('is not sent if a rule of the publisher approves the draft at once', async () => {
    await call('PATCH', `advertisers/${own.id}`, { trusted: true });
    await propose();
    await call('PATCH', `advertisers/${own.id}`, { trusted: false });
    await sendMails();
    expect(server.mails).toEqual([]);
  });

  test('is sent again while the mail server refuses it, and arrives once', async () => {
    await refuse(await propose());
    server.refuse(true);
    await sendMails();
    server.refuse(false);
    expect(server.mails).toEqual([]);
    await sendMails(minuteMs / 2);
    expect(server.mails).toEqual([]);
    await sendMails(2 * minuteMs);
    await sendMails(60 * minuteMs);
    expect(recipients()).toEqual([own.user.email]);
  });

  test("reaches the publisher's own user who proposed the draft, but not the admin who decides", async () => {
    await call('PATCH', `publishers/${t.publisher.id}`, { approval_required: true });
    const manager = await signInAs(t, 'manager');
    const texts = { title: 'By the manager', cta_yes: 'Yes', cta_no: 'No' };
    const fields = { ...texts, weight: '1', campaign_id: String(own.campaign) };
    const { headers } = await manager.post(`/dashboard/p/${t.publisher.id}/offers`, fields);
    await call('PATCH', `publishers/${t.publisher.id}`, { approval_required: false });
    clock += 1000;
    await admin.post(`${headers.location}/refuse`, { reason: 'No.' });
    await sendMails();
    expect(recipients()).toEqual([manager.email]);
    expect(server.mails[0]?.text).toContain(`${t.deps.config.publicUrl}${headers.location}`);
  });
});

describe('the badge for new decisions', () => {
  const badge = async (user = own.user, page = '/reports') => {
    const { body } = await user.get(pathOf(own, page));
    return /\/drafts">[\s\S]*?<\/a>/.exec(body)?.[0].match(/class="unread">(\d+)/)?.[1] ?? null;
  };

  test('counts the decisions since each account last looked', async () => {
    const [id, second] = [await propose(), await propose('Another')];
    expect(await badge()).toBe(null);
    await refuse(id);
    await call('POST', `drafts/${second}/approve`, {});
    expect(await badge()).toBe('2');
    expect((await own.user.get(pathOf(own, `/drafts/${id}`))).statusCode).toBe(200);
    expect(await badge()).toBe('1');
    const list = await own.user.get(pathOf(own, '/drafts'));
    expect(list.body.match(/<span class="badge info">New/g)).toHaveLength(1);
    expect(await badge()).toBe(null);
    clock += 1000;
    await call('POST', `drafts/${second}/undo`);
    expect(await badge()).toBe('1');
  });

  test('is separate for each account, and starts when the account joins', async () => {
    const id = await propose();
    await refuse(id);
    clock += 1000;
    const account = await signInAs(t, 'advertiser', null, own.id);
    expect([await badge(), await badge(account)]).toEqual(['1', null]);
    const second = await propose('Another');
    await refuse(second);
    expect([await badge(), await badge(account)]).toEqual(['2', '1']);
    await own.user.get(pathOf(own, '/drafts'));
    expect([await badge(), await badge(account)]).toEqual([null, '1']);
  });

  test('does not count drafts that a rule approves, or that the advertiser withdraws', async () => {
    await call('PATCH', `advertisers/${own.id}`, { trusted: true });
    await propose();
    await call('PATCH', `advertisers/${own.id}`, { trusted: false });
    await own.user.post(pathOf(own, `/drafts/${await propose('Another')}/withdraw`));
    expect(await badge()).toBe(null);
  });
});

describe('the buttons for a decision', () => {
  test('look different, and a refusal requires a reason', async () => {
    const id = await propose();
    const page = (await admin.get(`${drafts()}/${id}`)).body;
    expect(page).toMatch(/<button class="button main">Approve<\/button>/);
    expect(page).toMatch(/<button class="button danger">Reject<\/button>/);
    expect(page).toMatch(/<textarea[^>]*name="reason"[^>]* required/);
    const answer = await admin.post(`${drafts()}/${id}/refuse`, { reason: ' ' });
    expect(answer.statusCode).toBe(422);
    expect((await call('GET', `drafts/${id}`)).body.data.state).toBe('waiting');
  });

  test("do not offer to withdraw an advertiser's draft, because that would give no reason", async () => {
    const id = await propose();
    expect((await admin.get(`${drafts()}/${id}`)).body).not.toContain(`${id}/withdraw`);
  });
});
