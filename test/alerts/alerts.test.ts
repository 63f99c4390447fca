import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { csrfTokenOf } from '../../src/accounts/access.ts';
import { checkBudgets, checkKeys, checkPlacements } from '../../src/alerts/checks.ts';
import { recordAlerts, recordOperationalEvents } from '../../src/alerts/record.ts';
import { sendAlertMessages } from '../../src/alerts/send.ts';
import { periodName } from '../../src/budgets/usage/usage.ts';
import { dayMs, hourMs } from '../../src/platform/lib/time.ts';
import { sendOperationalEvents } from '../../src/webhooks/send-operational.ts';
import { openAs, origin, signInAs, type TestUser } from '../dashboard/support.ts';
import { addSums } from '../reports/support.ts';
import { closeContexts, openBrowser } from '../support/browser.ts';
import { startTestJobs } from '../support/jobs.ts';
import { type MailServer, startMailServer } from '../support/mail-server.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { createParts, deliveryOf, until } from '../webhooks/dispatcher/support.ts';
import { addManager } from '../webhooks/endpoints/manager.ts';

let t: TestApp;
let server: MailServer;
let browser: Browser;
let base: string;
const { hook, dispatcher, end } = createParts(() => t);

beforeAll(async () => {
  server = await startMailServer();
  const { mail } = server;
  t = await createTestApp({ config: { mail } });
  base = await t.app.listen({ port: 0, host: '127.0.0.1' });
  browser = await openBrowser();
});
afterEach(end);
afterAll(async () => {
  await closeContexts(browser);
  await t.close();
  await server.close();
});

const textOf = (body: string): string => body.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
const emailOf = async ({ userId }: TestUser): Promise<string> =>
  (await t.pool.query<{ email: string }>('select email from users where id = $1', [userId])).rows[0]?.email ?? '';

test('alerts the right person once when an endpoint fails', async () => {
  const me = await addManager(t);
  const [admin, other] = [await signInAs(t, 'admin', me.id), await signInAs(t, 'manager', me.id)];
  const [shop, channel] = [
    await hook((response) => void response.writeHead(500).end('Out of <b>memory</b>\nat line 7')),
    await hook(),
  ];
  const pages = `/dashboard/p/${me.id}`;
  const page = await openAs(browser, admin, base, `${pages}/alerts`);
  const inbox = page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: /^Alerts/ });
  await page.getByText('No alerts').waitFor();
  const rules = page.locator('section').filter({ hasText: 'Who is notified' });
  expect(await rules.getByLabel('A webhook endpoint is failing: E-mail').isChecked()).toBe(true);
  const channels = page.locator('section').filter({ hasText: 'A new channel receives' });
  await channels.getByText('Add channel', { exact: true }).click();
  await channels.getByLabel('Name').fill('#checkout');
  await channels.getByLabel('Webhook URL').fill(`${channel.url}/T0/secret`);
  await channels.getByRole('button', { name: 'Add and send test message' }).click();
  await page.getByText('#checkout added.').waitFor();
  expect(await rules.getByLabel('A webhook endpoint is failing: #checkout').isChecked()).toBe(true);
  await rules.getByLabel('A campaign has ended: #checkout').check();
  await rules.getByLabel('A budget has been used up: E-mail').uncheck();
  await rules.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Notifications saved.').waitFor();
  expect(await rules.getByLabel('A campaign has ended: #checkout').isChecked()).toBe(true);
  expect(await rules.getByLabel('A campaign has ended: E-mail').isChecked()).toBe(false);
  expect(await rules.getByLabel('A budget has been used up: E-mail').isChecked()).toBe(false);
  expect(await rules.getByLabel('A webhook endpoint is failing: E-mail').isChecked()).toBe(true);
  expect(await page.content()).not.toContain('/T0/secret');
  await until(() => channel.requests.length, 1);

  const { id: endpointId } = await (async () => {
    const settings = { url: shop.url, method: 'POST', events: ['usp.selection'], description: '<!channel> Shop' };
    const answer = await me.call('POST', '/webhook-endpoints', { ...settings, retry_steps_s: [0, 0, 0] });
    expect(answer.statusCode, answer.body).toBe(201);
    return answer.json().data as { id: number };
  })();
  await dispatcher();
  const jobs = await startTestJobs(t, 'operational events', 'alert messages');
  const fails = async (): Promise<void> => {
    const id = await me.enqueueDelivery();
    await until(async () => (await deliveryOf(t, id)).status, 'failed');
  };
  await fails();
  await until(() => server.mails.length, 1);
  await until(() => channel.requests.length, 2);
  await jobs.stop();
  const [mail] = server.mails;
  expect(mail?.to).toEqual([await emailOf(admin)]);
  expect(mail?.to).not.toContain(await emailOf(other));
  expect(mail?.text).toMatch(/Webhook endpoint failing: <!channel> Shop\n\n\d calls in a row have failed since /);
  expect(mail?.text).toContain('The server last responded with status 500: “Out of <b>memory</b>”');
  expect(mail?.text).toContain('Look for the cause in the log of your server.');
  expect(mail?.text).toContain(`${t.deps.config.publicUrl}${pages}/settings/webhooks/${endpointId}`);
  const { text } = JSON.parse(channel.requests[1]?.body.toString() ?? '{}');
  expect(text).toContain('&lt;!channel&gt; Shop');
  expect(text).not.toContain('<!channel>');
  expect(text).toContain('“Out of &lt;b&gt;memory&lt;/b&gt;”');

  // Failures continue; two hours later they still have the same cause, so no second message is sent.
  await fails();
  const laterMs = Date.now() + 2 * hourMs;
  await sendOperationalEvents(t.pool, laterMs, recordOperationalEvents(laterMs));
  expect(await sendAlertMessages({ ...t.deps, now: () => laterMs })).toBe(0);
  expect([server.mails.length, channel.requests.length]).toEqual([1, 2]);

  await page.goto(`${base}${pages}/overview`);
  expect(await inbox.innerText()).toMatch(/^Alerts\s*1\s*unread$/);
  await page.getByRole('link', { name: 'View alerts' }).click();
  const alert = page.locator('li.alert').filter({ hasText: 'Webhook endpoint failing' });
  await alert.filter({ hasText: 'New' }).waitFor();
  await alert.filter({ hasText: 'status 500: “Out of <b>memory</b>”' }).waitFor();
  expect(await alert.getByRole('link', { name: 'View request and response' }).getAttribute('href')).toContain(
    `${pages}/deliveries/`,
  );
  await alert.getByText('Notified: 1 e-mail, #checkout.').waitFor();
  await alert.getByText('Mute', { exact: true }).click();
  await alert.getByLabel('Reason').fill('Maintenance of the shop');
  await alert.getByRole('button', { name: 'Mute alert' }).click();
  await page.getByText('Alert muted for 7 days.').waitFor();
  await page.getByRole('button', { name: 'Mark all as read' }).click();
  await page.getByText('No new alerts.').waitFor();
  expect(await inbox.innerText()).toBe('Alerts');
  const again = { publisherId: me.id, kind: 'endpoint.failing', subject: String(endpointId), cause: 'again' } as const;
  const data = { endpoint_id: endpointId, url: shop.url, failures: 3, failing_since: new Date().toISOString() };
  await recordAlerts(t.pool, [{ ...again, data }], Date.now());
  expect(await sendAlertMessages(t.deps)).toBe(0);
  await alert.getByRole('link', { name: 'Webhook endpoint failing' }).click();
  await page.waitForURL(`**/settings/webhooks/${endpointId}`);
});

test("alerts once when a placement earns half of last week's revenue, and again after a recovery", async () => {
  const nowMs = Date.UTC(2026, 10, 18, 15, 20);
  await t.pool.query("select create_report_partitions('2026-11-01', '2026-11-30')");
  const hour = (back: number, fact: object) => ({
    at: new Date(Date.UTC(2026, 10, 18, 14) - back * hourMs),
    placement: 'drop-test',
    offerId: 1,
    ...fact,
  });
  const lastWeek = { sessions: 100, filled_sessions: 90, clicks: 10, revenue_micros: 5_000_000 };
  await addSums(
    t,
    [0, 1, 2].map((back) => hour(back + 7 * 24, lastWeek)),
  );
  await addSums(
    t,
    [0, 1, 2].map((back) => hour(back, { ...lastWeek, filled_sessions: 60, revenue_micros: 1_000_000 })),
  );
  const alerts = async () =>
    (
      await t.pool.query(
        `select kind, ended_at is not null as over, data ->> 'now' as now, data ->> 'before' as before from alerts
        where subject = 'drop-test' order by id`,
      )
    ).rows;
  const check = async (atMs: number, rolledUpMs = atMs) => {
    await t.pool.query('update rollup_progress set rolled_up_at = $1', [new Date(rolledUpMs)]);
    await checkPlacements({ ...t.deps, now: () => atMs });
  };
  await check(nowMs, nowMs - hourMs);
  expect(await alerts()).toEqual([]); // the sums are behind
  await check(nowMs);
  await check(nowMs + 60_000);
  const first = { kind: 'placement.revenue', over: false, now: '3', before: '15' };
  expect(await alerts()).toEqual([first]);
  await check(nowMs + 20 * hourMs); // nothing to compare
  expect(await alerts()).toEqual([{ ...first, over: true }]);
  await check(nowMs + 120_000);
  expect(await alerts()).toEqual([{ ...first, over: true }, first]);
  const analyst = await signInAs(t, 'analyst');
  const page = await analyst.get(`/dashboard/p/${t.publisher.id}/alerts`);
  expect(textOf(page.body)).toMatch(
    /Revenue of drop-test down 80% US\$3\.00 in the 6 hours before .*, compared with US\$15\.00 in .* of last week\./,
  );
  const link = /href="([^"]*reports\?[^"]*drop-test[^"]*)"/.exec(page.body)?.[1]?.replaceAll('&amp;', '&') ?? '';
  expect((await analyst.get(link)).statusCode).toBe(200);
});

test('alerts once per period at 80% of a budget, and not in addition to the alert at 100%', async () => {
  const nowMs = Date.now();
  await t.pool.query(`update campaigns set rules = $1 where id = 1`, [
    { total_caps: [{ metric: 'budget', per: 'day', limit: 10 }] },
  ]);
  await t.deps.catalog.refresh();
  const { timeZone } = t.deps.catalog.current().publishers.get(t.publisher.id) as { timeZone: string };
  const use = (micros: number) =>
    t.pool.query(
      `insert into campaign_usage (campaign_id, publisher_id, period, spent_micros) values (1, 0, $1, $2)
      on conflict (campaign_id, publisher_id, period) do update set spent_micros = excluded.spent_micros`,
      [periodName('day', timeZone, nowMs), micros],
    );
  const countAlerts = async () => (await t.pool.query("select from alerts where kind = 'budget.80'")).rowCount;
  const check = () => checkBudgets({ ...t.deps, now: () => nowMs });
  await use(7_999_999);
  await check();
  expect(await countAlerts()).toBe(0);
  await use(10_000_000);
  await check();
  expect(await countAlerts()).toBe(0);
  await use(8_000_000);
  await check();
  await check();
  expect(await countAlerts()).toBe(1);
});

test('does not count reserved budget as spent', async () => {
  const nowMs = Date.now();
  await t.pool.query('update campaigns set rules = $1 where id = 3', [
    { total_caps: [{ metric: 'budget', per: 'day', limit: 10 }] },
  ]);
  await t.deps.catalog.refresh();
  const { timeZone } = t.deps.catalog.current().publishers.get(t.publisher.id) as { timeZone: string };
  await t.pool.query(
    `insert into campaign_usage (campaign_id, publisher_id, period, micros, spent_micros)
    values (3, 0, $1, 9e6, 7.9e6)`,
    [periodName('day', timeZone, nowMs)],
  );
  await checkBudgets({ ...t.deps, now: () => nowMs });
  expect((await t.pool.query("select from alerts where kind like 'budget.%' and subject = '3'")).rowCount).toBe(0);
});

test('alerts at 80% of the budget of a campaign and of each publisher that has its own budget', async () => {
  const nowMs = Date.now();
  const day = { metric: 'budget', per: 'day', limit: 10 };
  const manager = await addManager(t);
  await t.pool.query('update campaigns set rules = $1 where id = 2', [{ total_caps: [day] }]);
  await t.pool.query(
    `insert into campaign_publishers (campaign_id, publisher_id, total_caps)
    select 2, unnest($1::integer[]), $2::jsonb
    on conflict (campaign_id, publisher_id) do update set total_caps = excluded.total_caps`,
    [[t.publisher.id, manager.id], JSON.stringify([day])],
  );
  await t.deps.catalog.refresh();
  const { timeZone } = t.deps.catalog.current().publishers.get(t.publisher.id) as { timeZone: string };
  const use = (publisherId: number, micros: number) =>
    t.pool.query(
      'insert into campaign_usage (campaign_id, publisher_id, period, spent_micros) values (2, $1, $2, $3)',
      [publisherId, periodName('day', timeZone, nowMs), micros],
    );
  await use(0, 8_000_000);
  await use(t.publisher.id, 9_000_000);
  await use(manager.id, 10_000_000);
  await checkBudgets({ ...t.deps, now: () => nowMs });
  const { rows } = await t.pool.query(
    "select publisher_id, count(*)::int from alerts where kind = 'budget.80' and subject = '2' group by 1",
  );
  expect(rows).toEqual([{ publisher_id: t.publisher.id, count: 2 }]);
});

test('rejects a channel at a private address, and does not add one that does not respond', async () => {
  const manager = await signInAs(t, 'manager');
  const add = (url: string) => manager.post(`/dashboard/p/${t.publisher.id}/alerts/channels`, { name: 'x', url });
  const refused = await hook((response) => void response.writeHead(404).end());
  for (const url of ['http://10.0.0.1/hook', 'http://169.254.169.254/', 'ftp://x.example/', 'https://a:b@x.example/']) {
    const answer = await add(url);
    expect(answer.statusCode, url).toBe(422);
    expect(answer.body, url).toContain('f-url-error');
  }
  expect(textOf((await add(refused.url)).body)).toContain(
    'The channel did not accept the test message. The server responded with status 404.',
  );
  expect((await t.pool.query("select from alert_rules where name = 'x'")).rowCount).toBe(0);
});

test('keeps the entered values of a rejected channel, including after too many tests', async () => {
  const { id } = await addManager(t);
  const admin = await signInAs(t, 'admin', id);
  const { url } = await hook((response) => void response.writeHead(500).end());
  const add = (typed: string, language: string) =>
    t.app.inject({
      method: 'POST',
      url: `/dashboard/p/${id}/alerts/channels`,
      headers: {
        cookie: admin.cookie,
        origin,
        'accept-language': language,
        'content-type': 'application/x-www-form-urlencoded',
      },
      payload: new URLSearchParams({
        _csrf: csrfTokenOf(admin.cookie.split('=')[1] ?? ''),
        ...fields,
        url: typed,
      }).toString(),
    });
  const fields = { name: '#checkout-team' };
  const german = await add('http://', 'de-DE');
  expect(german.statusCode).toBe(422);
  expect(german.body).toMatch(/<li><a href="#f-url">Webhook-URL<\/a>/);
  // Ten test messages are allowed, plus one every six seconds, so requests repeat until the limit is reached.
  for (let isRefused = false; !isRefused; ) {
    const { statusCode, body } = await add(url, 'en');
    expect([statusCode, body.includes('value="#checkout-team"')]).toEqual([422, true]);
    isRefused = textOf(body).includes('Too many requests. Try again later.');
  }
});

test('keeps alerts unread that arrive after the inbox was opened', async () => {
  const { id } = await addManager(t);
  const analyst = await signInAs(t, 'analyst', id);
  const inbox = `/dashboard/p/${id}/alerts`;
  const raise = (cause: string) => {
    const data = { key_id: 1, name: cause, days: 7, expires_at: new Date().toISOString(), last_used_at: null };
    return recordAlerts(t.pool, [{ publisherId: id, kind: 'key.expires', subject: '1', cause, data }], Date.now());
  };
  await raise('first');
  const until = /name="until" value="(\d+)"/.exec((await analyst.get(inbox)).body)?.[1] ?? '';
  await raise('second');
  await analyst.post(`${inbox}/read`, { until });
  expect(textOf((await analyst.get(inbox)).body)).toContain('1 new');
  await analyst.post(`${inbox}/read`, { until: '99999999999999999999' });
  await analyst.post(`${inbox}/read`, { until: 'x' });
  expect(textOf((await analyst.get(inbox)).body)).toContain('1 new');
});

test('sends no e-mail to a user who has lost access, and retries a rejected e-mail', async () => {
  const [manager, gone] = [await signInAs(t, 'manager'), await signInAs(t, 'manager')];
  for (const user of [manager, gone])
    await user.post(`/dashboard/p/${t.publisher.id}/alerts/rules`, { columns: 'mail', mail: 'campaign.ended' });
  await t.pool.query('update users set disabled = true where id = $1', [gone.userId]);
  server.mails.length = 0;
  const nowMs = Date.now();
  const data = { campaign_id: 1, name: 'Autumn', ended_at: new Date(nowMs).toISOString() };
  const fact = { publisherId: t.publisher.id, kind: 'campaign.ended', subject: '1', cause: 'end', data } as const;
  await recordAlerts(t.pool, [fact, { ...fact }], nowMs);
  server.refuse(true);
  const send = (atMs: number) => sendAlertMessages({ ...t.deps, now: () => atMs });
  expect(await send(nowMs)).toBe(2);
  server.refuse(false);
  expect(await send(nowMs + 60_000)).toBe(0);
  expect(await send(nowMs + 3 * 60_000)).toBe(1);
  expect(server.mails.map(({ to }) => to)).toEqual([[await emailOf(manager)]]);
  expect(await send(nowMs + dayMs)).toBe(0);
});

test('warns 30, 7 and 1 days before a key expires, except for times before it was created', async () => {
  const manager = await addManager(t);
  const endMs = Date.parse('2031-03-01T12:00:00Z');
  const add = (name: string, createdAtMs: number) =>
    t.pool.query(
      `insert into api_keys (publisher_id, name, key_hash, permissions, expires_at, created_at)
      values ($1, $2, sha256($2::text::bytea), '{reports}', $3, $4)`,
      [manager.id, name, new Date(endMs), new Date(createdAtMs)],
    );
  await add('Old till', endMs - 90 * dayMs);
  await add('Short till', endMs - 3 * dayMs);
  await add('Gone', endMs - 90 * dayMs);
  await t.pool.query("update api_keys set revoked_at = now() where name = 'Gone'");
  const listAlerts = async () =>
    (
      await t.pool.query(
        `select data->>'name' as name, data->'days' as days from alerts
        where kind = 'key.expires' and publisher_id = $1 order by id`,
        [manager.id],
      )
    ).rows.map(({ name, days }) => `${name} ${days}`);
  const check = async (days: number) => {
    await checkKeys({ pool: t.pool, now: () => endMs - days * dayMs });
    await checkKeys({ pool: t.pool, now: () => endMs - days * dayMs });
  };
  await check(31);
  expect(await listAlerts()).toEqual([]);
  await check(29.5);
  expect(await listAlerts()).toEqual(['Old till 30']);
  await check(6);
  await check(2);
  expect(await listAlerts()).toEqual(['Old till 30', 'Old till 7']);
  await check(0.5);
  await check(-1);
  expect(await listAlerts()).toEqual(['Old till 30', 'Old till 7', 'Old till 1', 'Short till 1']);
  const analyst = await signInAs(t, 'analyst', manager.id);
  const inbox = textOf((await analyst.get(`/dashboard/p/${manager.id}/alerts/all`)).body);
  expect(inbox).toContain('API key expires within 30 days: Old till');
  expect(inbox).toContain('It has never been used.');
});
