import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { chatChannelsOf } from '../../../src/alerts/send.ts';
import { dayMs, hourMs } from '../../../src/platform/lib/time.ts';
import { sendDueReports } from '../../../src/reports/schedules/send.ts';
import { createReportService } from '../../../src/reports/service.ts';
import { openAs, signInAs, type TestUser } from '../../dashboard/support.ts';
import { closeContexts, openBrowser } from '../../support/browser.ts';
import { type MailServer, startMailServer } from '../../support/mail-server.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { createParts } from '../../webhooks/dispatcher/support.ts';
import { addSums } from '../support.ts';

/** Sunday, 22 November 2026, 14:30 UTC. */
let nowMs = Date.UTC(2026, 10, 22, 14, 30);
let t: TestApp;
let server: MailServer;
let browser: Browser;
let base: string;
const { hook, end } = createParts(() => t);
const own = (path: string, publisherId = t.publisher.id): string => `/dashboard/p/${publisherId}${path}`;

beforeAll(async () => {
  server = await startMailServer();
  const { mail } = server;
  t = await createTestApp({ config: { mail }, now: () => nowMs });
  await t.pool.query("update publishers set time_zone = 'UTC' where id = $1", [t.publisher.id]);
  await t.deps.catalog.refresh();
  await t.pool.query("select create_report_partitions('2026-11-01', '2026-12-31')");
  const at = new Date(Date.UTC(2026, 10, 20, 10));
  await addSums(t, [{ at, placement: '<b>checkout', offerId: 1, sessions: 100, impressions: 80, clicks: 8 }]);
  base = await t.app.listen({ port: 0, host: '127.0.0.1' });
  browser = await openBrowser();
});
afterAll(async () => {
  await end();
  await closeContexts(browser);
  await t.close();
  await server.close();
});

const send = (): Promise<number> => {
  const { pool, mailer, config, catalog, secretBox, sender } = t.deps;
  const reports = createReportService(t.deps);
  const chatChannels = chatChannelsOf({ pool, secretBox, sender });
  return sendDueReports({ pool, mailer, now: () => nowMs, config, catalog, reports, chatChannels });
};

async function saved(
  user: TestUser,
  name: string,
  publisherId = t.publisher.id,
  query = '?range=30d&metrics=sessions,clicks',
): Promise<number> {
  const answer = await user.post(own('/reports/saved', publisherId), { name, query });
  expect(answer.statusCode).toBe(303);
  const { rows } = await t.pool.query('select id from saved_reports where name = $1', [name]);
  return rows[0].id;
}

const emailOf = async ({ userId }: TestUser): Promise<string> =>
  (await t.pool.query('select email from users where id = $1', [userId])).rows[0].email;
const rowsOf = async (reportId: number) =>
  (await t.pool.query('select * from report_schedules where report_id = $1 order by id', [reportId])).rows;

test('a report is e-mailed to an analyst each Monday once, by any number of processes, until stopped', async () => {
  const analyst = await signInAs(t, 'analyst');
  const id = await saved(analyst, 'Weekly <i>clicks</i>');
  const page = await openAs(browser, analyst, base, own('/reports'));
  await page.getByText('Saved reports', { exact: true }).click();
  await page.getByRole('link', { name: 'Schedule report' }).click();
  await page.getByLabel('Time').selectOption('08:00');
  await page.getByRole('button', { name: 'Schedule report' }).click();
  await page.getByText('Every Monday, 08:00').waitFor();

  expect(await send()).toBe(0);
  nowMs = Date.UTC(2026, 10, 23, 8);
  const sentCounts = await Promise.all([send(), send(), send()]);
  expect(sentCounts.toSorted()).toEqual([0, 0, 1]);
  expect(server.mails).toHaveLength(1);
  const [mail] = server.mails;
  // Undo the line breaks of quoted-printable, in which each part of the email is encoded separately.
  const text = mail?.text.replaceAll('=\n', '');
  expect(mail?.to).toEqual([await emailOf(analyst)]);
  expect(mail?.head).toContain('multipart/mixed');
  expect(text).toContain('Weekly &lt;i&gt;clicks&lt;/i&gt;</h1>');
  expect(text).toMatch(/<b>checkout \| 100 \| 8/);
  expect(text).toContain('&lt;b&gt;checkout</td>');
  expect(text).toContain('filename=report-');
  expect(text).toContain(own(`/reports/saved/${id}`));
  nowMs += 6 * dayMs;
  expect(await send()).toBe(0);
  nowMs += dayMs;
  expect(await send()).toBe(1);
  // The analyst's session has expired by now.
  const later = await openAs(browser, await signInAs(t, 'manager'), base, own(`/reports/saved/${id}`));
  await later.getByRole('button', { name: 'Stop sending' }).click();
  await later.getByText('No recipients yet. Add one below.').waitFor();
  nowMs += 7 * dayMs;
  expect(await send()).toBe(0);
  expect(server.mails).toHaveLength(2);
});

test('a scheduled report can be sent now, once a minute, and the next one is sent at its usual time', async () => {
  const [analyst, other] = [await signInAs(t, 'analyst'), await signInAs(t, 'analyst')];
  const id = await saved(analyst, 'Now');
  const recipient = { recipient: `user.${analyst.userId}`, period: 'day', hour: '9' };
  await analyst.post(own(`/reports/saved/${id}/schedules`), recipient);
  const [schedule] = await rowsOf(id);
  const sendNow = (user: TestUser) => user.post(own(`/reports/saved/schedules/${schedule.id}/send`));
  server.mails.length = 0;
  expect((await sendNow(other)).statusCode).toBe(404);
  expect((await sendNow(analyst)).statusCode).toBe(303);
  expect(await send()).toBe(1);
  expect(server.mails.map(({ to }) => to)).toEqual([[await emailOf(analyst)]]);
  expect((await rowsOf(id))[0].due_at).toEqual(schedule.due_at);
  await sendNow(analyst);
  expect(await send()).toBe(0);
  await t.pool.query('delete from report_schedules where id = $1', [schedule.id]);
});

test('a failed e-mail is retried, and the page reports the failure', async () => {
  const analyst = await signInAs(t, 'analyst');
  const id = await saved(analyst, 'Daily');
  await analyst.post(own(`/reports/saved/${id}/schedules`), {
    recipient: `user.${analyst.userId}`,
    period: 'day',
    hour: '9',
  });
  nowMs = (await rowsOf(id))[0].due_at.getTime();
  server.mails.length = 0;
  server.refuse(true);
  expect(await send()).toBe(1);
  expect((await analyst.get(own(`/reports/saved/${id}`))).body).toContain(
    'The mail server did not accept the message.',
  );
  expect(await send()).toBe(0);
  server.refuse(false);
  nowMs += 8 * 60_000;
  expect(await send()).toBe(1);
  expect(server.mails).toHaveLength(1);
  const [row] = await rowsOf(id);
  expect([row.error, row.attempts, row.due_at.getTime() > nowMs]).toEqual([null, 0, true]);

  server.refuse(true);
  nowMs = row.due_at.getTime();
  for (let attempt = 0; attempt < 6; attempt++, nowMs += 5 * hourMs) expect(await send()).toBe(1);
  expect((await rowsOf(id))[0].due_at.getTime()).toBeGreaterThan(row.due_at.getTime());
  server.refuse(false);
});

test('a report that is sent late contains the data of its due date', async () => {
  await t.pool.query('delete from report_schedules');
  const analyst = await signInAs(t, 'analyst');
  const id = await saved(analyst, 'Yesterday', t.publisher.id, '?range=yesterday&metrics=sessions');
  await analyst.post(own(`/reports/saved/${id}/schedules`), {
    recipient: `user.${analyst.userId}`,
    period: 'day',
    hour: '8',
  });
  const dueMs = (await rowsOf(id))[0].due_at.getTime();
  server.mails.length = 0;
  for (nowMs of [dueMs + 16.2 * hourMs, dueMs + dayMs]) expect(await send()).toBe(1);
  const dayBefore = (ms: number): string => new Date(ms - dayMs).toISOString().slice(0, 10);
  const days = server.mails.map(({ text }) => /filename=report-(\S{10})-/.exec(text)?.[1]);
  expect(days).toEqual([dayBefore(dueMs), dayBefore(dueMs + dayMs)]);
});

test('an e-mail that is resent because the first attempt was not recorded has the same Message-ID', async () => {
  await t.pool.query('delete from report_schedules');
  const analyst = await signInAs(t, 'analyst');
  const id = await saved(analyst, 'Twice');
  await analyst.post(own(`/reports/saved/${id}/schedules`), {
    recipient: `user.${analyst.userId}`,
    period: 'day',
    hour: '9',
  });
  const [{ due_at: dueAt }] = await rowsOf(id);
  nowMs = dueAt.getTime();
  server.mails.length = 0;
  expect(await send()).toBe(1);
  await t.pool.query('update report_schedules set due_at = $2, next_attempt_at = $2 where report_id = $1', [id, dueAt]);
  expect(await send()).toBe(1);
  nowMs = (await rowsOf(id))[0].due_at.getTime();
  expect(await send()).toBe(1);
  const ids = server.mails.map(({ head }) => /^message-id: <(report-\d+-\d+@[^>]+)>/im.exec(head)?.[1]);
  expect(ids).toEqual([expect.any(String), ids[0], expect.any(String)]);
  expect(ids[2]).not.toBe(ids[0]);
});

test("users without access get no reports and cannot read, add or stop others' schedules", async () => {
  const [analyst, admin] = [await signInAs(t, 'analyst'), await signInAs(t, 'admin')];
  const id = await saved(analyst, 'Private');
  const add = (user: TestUser, recipient: string, fields = {}, publisherId = t.publisher.id) =>
    user.post(own(`/reports/saved/${id}/schedules`, publisherId), { recipient, period: 'day', hour: '9', ...fields });
  const other = (
    await t.pool.query("insert into publishers (name, sdk_id) values ('Other', 'ffffffffffffffff') returning id")
  ).rows[0].id;
  await t.deps.catalog.refresh();
  const otherUser = await signInAs(t, 'admin', other);
  await add(analyst, `user.${admin.userId}`);
  await add(admin, `user.${otherUser.userId}`);
  for (const fields of [{ period: 'hour' }, { hour: '24' }, { hour: '' }, { hour: '1.5' }])
    await add(analyst, `user.${analyst.userId}`, fields);
  expect((await add(otherUser, `user.${otherUser.userId}`, {}, other)).statusCode).toBe(404);
  expect((await otherUser.get(own(`/reports/saved/${id}`, other))).statusCode).toBe(404);
  expect(await rowsOf(id)).toEqual([]);

  await add(admin, `user.${analyst.userId}`);
  await add(admin, `user.${analyst.userId}`, { hour: '10' });
  const [row, second] = await rowsOf(id);
  expect([row.hour, second]).toEqual([10, undefined]);
  const colleague = await signInAs(t, 'analyst');
  const stop = (user: TestUser, publisherId = t.publisher.id) =>
    user.post(own(`/reports/saved/schedules/${row.id}/stop`, publisherId));
  expect((await stop(colleague)).statusCode).toBe(404);
  expect((await stop(otherUser, other)).statusCode).toBe(404);
  nowMs = row.due_at.getTime();
  server.mails.length = 0;
  await t.pool.query('update users set disabled = true where id = $1', [analyst.userId]);
  expect(await send()).toBeGreaterThan(0);
  await t.pool.query('update users set disabled = false, publisher_id = $2 where id = $1', [analyst.userId, other]);
  nowMs += dayMs;
  await send();
  expect(server.mails.flatMap(({ to }) => to)).not.toContain(await emailOf(analyst));
});

test('a manager sends a report to a chat channel, and its name cannot inject markup', async () => {
  const channel = await hook();
  const manager = await signInAs(t, 'manager');
  const id = await saved(manager, '<!channel> & co');
  const channels = { name: '#reports', url: `${channel.url}/T0/secret` };
  expect((await manager.post(own('/alerts/channels'), channels)).statusCode).toBe(303);
  const channelId = (await t.pool.query('select id from alert_rules where user_id is null')).rows[0].id;
  const analyst = await signInAs(t, 'analyst');
  const fields = { recipient: `channel.${channelId}`, period: 'month', hour: '0' };
  await analyst.post(own(`/reports/saved/${id}/schedules`), fields);
  expect(await rowsOf(id)).toEqual([]);
  await manager.post(own(`/reports/saved/${id}/schedules`), fields);
  nowMs = (await rowsOf(id))[0].due_at.getTime();
  channel.requests.length = 0;
  await send();
  const posted = channel.requests.map(({ body }) => String(body));
  expect(posted).toHaveLength(1);
  expect(posted[0]).toContain('&lt;!channel&gt; &amp; co');
  const later = await signInAs(t, 'manager');
  expect((await later.post(own(`/alerts/channels/${channelId}/remove`))).statusCode).toBe(303);
  expect(await rowsOf(id)).toEqual([]);
});

test('a revenue report has a subtotal for each currency and the total in the reporting currency', async () => {
  await t.pool.query('delete from report_schedules');
  const at = new Date(nowMs - (nowMs % dayMs) - dayMs + 10 * hourMs);
  await t.pool.query("update campaigns set payout_currency = 'JPY' where id = 2");
  await addSums(t, [
    { at, placement: 'cart', offerId: 1, campaignId: 1, clicks: 1, revenue_micros: 20_000_000 },
    { at, placement: 'cart', offerId: 2, campaignId: 2, clicks: 1, revenue_micros: 1_600_000_000 },
  ]);
  await t.pool.query("update publishers set rates_base = 'EUR', reporting_currency = 'EUR' where id = $1", [
    t.publisher.id,
  ]);
  await t.pool.query(
    `insert into exchange_rates (publisher_id, currency, valid_from, rate)
    values ($1, 'USD', '2026-11-01', 1.25), ($1, 'JPY', '2026-11-02', 160)`,
    [t.publisher.id],
  );
  await t.deps.catalog.refresh();
  const analyst = await signInAs(t, 'analyst');
  const id = await saved(analyst, 'Money', t.publisher.id, '?range=yesterday&metrics=revenue');
  await analyst.post(own(`/reports/saved/${id}/schedules`), {
    recipient: `user.${analyst.userId}`,
    period: 'day',
    hour: '23',
  });
  nowMs = (await rowsOf(id))[0].due_at.getTime();
  server.mails.length = 0;
  await send();
  const text = server.mails[0]?.text.replaceAll('=\n', '') ?? '';
  // 20 USD at 1.25 per EUR, and 1,600 JPY at 160 per EUR.
  expect(text).toMatch(/26\.00 \(.*2 Nov 2026/);
  expect(text).toMatch(/1,600 \+ .*20\.00/);
});
