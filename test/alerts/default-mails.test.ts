import { readFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { AlertKind } from '../../src/alerts/kinds.ts';
import { recordAlerts } from '../../src/alerts/record.ts';
import { sendAlertMessages } from '../../src/alerts/send.ts';
import { signInAs, type TestUser } from '../dashboard/support.ts';
import { type MailServer, startMailServer } from '../support/mail-server.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { addManager } from '../webhooks/endpoints/manager.ts';

let t: TestApp;
let server: MailServer;
beforeAll(async () => {
  server = await startMailServer();
  const { mail } = server;
  t = await createTestApp({ config: { mail } });
});
afterEach(() => {
  server.mails.length = 0;
});
afterAll(async () => {
  await t?.close();
  await server.close();
});

let causes = 0;

/**
 * Raises an alert of each kind, sends the e-mails, and returns their recipients with the first words of the subject.
 */
async function mailsAbout(publisherId: number, kinds: readonly AlertKind[]): Promise<string[]> {
  const cause = String(++causes);
  const since = new Date().toISOString();
  const data = {
    endpoint_id: 1,
    url: 'https://shop.example',
    description: 'Shop',
    failures: 3,
    failing_since: since,
    campaign_id: 1,
    name: 'Spring',
    per: 'day',
    limit: 5,
    currency: 'EUR',
    ended_at: since,
    offer_id: 1,
    reason: 'failing',
    expired: true,
    left: 0,
    hours_left: null,
  };
  await recordAlerts(
    t.pool,
    kinds.map((kind) => ({ publisherId, kind, subject: '1', cause, data })),
    Date.now(),
  );
  await sendAlertMessages(t.deps);
  return server.mails
    .splice(0)
    .map(({ to, text }) => `${to[0]}: ${text.split(':')[0]}`)
    .sort();
}

const byDefault: readonly AlertKind[] = ['endpoint.failing', 'endpoint.disabled', 'budget.100', 'coupons.empty'];
const page = ({ id }: { id: number }) => `/dashboard/p/${id}/alerts`;
const saveMails = (user: TestUser, publisher: { id: number }, kinds: string) =>
  user.post(`${page(publisher)}/rules`, { columns: 'mail', ...(kinds !== '' && { mail: kinds }) });

test('a new admin gets e-mails about failing endpoints, used-up budgets and expired codes, and sees this', async () => {
  const me = await addManager(t);
  const admin = await signInAs(t, 'admin', me.id);
  for (const role of ['manager', 'analyst'] as const) await signInAs(t, role, me.id);
  expect(await mailsAbout(me.id, [...byDefault, 'campaign.ended', 'endpoint.recovered'])).toEqual([
    `${admin.email}: Budget used up`,
    `${admin.email}: Coupon codes expired`,
    `${admin.email}: Webhook endpoint disabled`,
    `${admin.email}: Webhook endpoint failing`,
  ]);
  const checked = [...(await admin.get(page(me))).body.matchAll(/name="mail" value="([^"]+)"[^>]* checked/g)];
  expect(checked.map(([, kind]) => kind).sort()).toEqual(
    [...byDefault, 'draft.waiting', 'endpoint.transformation_failing', 'metric.threshold'].sort(),
  );
});

test('an admin who turns these e-mails off gets none, even before the first alert', async () => {
  const me = await addManager(t);
  const admin = await signInAs(t, 'admin', me.id);
  expect((await saveMails(admin, me, '')).statusCode).toBe(303);
  expect(await mailsAbout(me.id, byDefault)).toEqual([]);
  expect((await admin.get(page(me))).body).not.toMatch(/name="mail"[^>]* checked/);
  await saveMails(admin, me, 'endpoint.failing');
  expect(await mailsAbout(me.id, byDefault)).toEqual([`${admin.email}: Webhook endpoint failing`]);
});

test('admins from before the update keep their choice: those who had not chosen any e-mails get none', async () => {
  const me = await addManager(t);
  const [silent, active] = [await signInAs(t, 'admin', me.id), await signInAs(t, 'admin', me.id)];
  await saveMails(active, me, 'campaign.ended');
  const migration = await readFile('migrations/0093-alerts-of-new-admins.sql', 'utf8');
  await t.pool.query(migration.slice(migration.indexOf('insert into alert_rules')));
  const later = await signInAs(t, 'admin', me.id);
  expect(await mailsAbout(me.id, ['budget.100', 'campaign.ended'])).toEqual([
    `${active.email}: Campaign ended`,
    `${later.email}: Budget used up`,
  ]);
  expect((await silent.get(page(me))).body).not.toMatch(/name="mail"[^>]* checked/);
});

test('the table changes only the columns that it contained, and an analyst only their own e-mails', async () => {
  const me = await addManager(t);
  const other = await addManager(t);
  const add = async (publisherId: number, name: string): Promise<number> => {
    const { rows } = await t.pool.query<{ id: number }>(
      `insert into alert_rules (publisher_id, name, url_sealed, kinds, created_at)
      values ($1, $2, '\\x00', '{budget.80}', now()) returning id`,
      [publisherId, name],
    );
    return rows[0]?.id as number;
  };
  const [listed, added, foreign] = [await add(me.id, '#a'), await add(me.id, '#b'), await add(other.id, '#c')];
  const kindsOf = async () =>
    (
      await t.pool.query<{ kinds: string }>(
        'select array_to_string(kinds, $2) as kinds from alert_rules where id = any($1) order by id',
        [[listed, added, foreign], ','],
      )
    ).rows.map(({ kinds }) => kinds);
  const save = (user: TestUser, column: string, kinds: string) =>
    user.post(`${page(me)}/rules`, { columns: column, [column]: kinds });
  const [manager, analyst] = [await signInAs(t, 'manager', me.id), await signInAs(t, 'analyst', me.id)];
  await save(manager, `channel.${listed}`, 'budget.100');
  expect(await kindsOf()).toEqual(['budget.100', 'budget.80', 'budget.80']);
  await save(manager, `channel.${foreign}`, 'budget.100');
  await save(analyst, `channel.${listed}`, 'campaign.ended');
  await save(manager, `channel.${listed}`, 'no.such.alert');
  expect(await kindsOf()).toEqual(['', 'budget.80', 'budget.80']);
  expect((await analyst.get(page(me))).body).toMatch(/name="channel\.\d+" value="budget.80"[^>]* checked disabled/);
});

test('the table says how many webhook endpoints receive an event', async () => {
  const me = await addManager(t);
  const admin = await signInAs(t, 'admin', me.id);
  const cell = async () =>
    /A webhook endpoint is failing<\/td>[\s\S]*?<\/tr>/.exec((await admin.get(page(me))).body)?.[0] ?? '';
  expect(await cell()).toContain(`/dashboard/p/${me.id}/settings/webhooks/endpoint.failing">Add</a>`);
  const settings = { url: 'https://hooks.example/', events: ['endpoint.failing'] };
  expect((await me.call('POST', '/webhook-endpoints', settings)).statusCode).toBe(201);
  expect(await cell()).toContain(`/dashboard/p/${me.id}/settings/webhooks/all">1</a>`);
});
