import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addCatalogue, type Caller, createManagementApp, type ManagementApp } from '../../catalog/resources/support.ts';
import { signInAs, type TestUser } from '../../dashboard/support.ts';

const nowMs = Date.parse('2026-03-01T20:30:15Z');

let t: ManagementApp;
let me: Caller;
let admin: TestUser;
let page: string;

beforeAll(async () => {
  t = await createManagementApp({ now: () => nowMs });
  me = await t.caller(await t.addPublisher());
  await me.call('PATCH', `/publishers/${me.publisherId}`, { time_zone: 'Asia/Kathmandu' });
  admin = await signInAs(t, 'admin', me.publisherId);
  page = `/dashboard/p/${me.publisherId}/settings/activity`;
});
afterAll(() => t.close());

/** Returns the text of the log entries, newest first. */
async function rows(query = '', who = admin): Promise<string[]> {
  const answer = await who.get(page + query);
  expect(answer.statusCode).toBe(200);
  const list = /<ol class="card activity"[^>]*>(.*?)<\/ol>/s.exec(answer.body)?.[1] ?? '';
  return list.split('<li>').slice(1).map(textOf);
}
const textOf = (markup: string): string =>
  markup
    .replaceAll(/<form.*?<\/form>/gs, '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();

const emailOf = async ({ userId }: TestUser): Promise<string | undefined> =>
  (await t.pool.query<{ email: string }>('select email from users where id = $1', [userId])).rows[0]?.email;

describe('the activity log', () => {
  test("shows the actor, the old and new values, and the time in the publisher's time zone", async () => {
    const theme = (await me.call('POST', '/themes', { name: 'Before <b>', unit: 'mou' })).body.data.id;
    await me.call('PATCH', `/themes/${theme}`, { name: 'After <i>', offers_per_response: 5 });
    const [changed, added] = await rows();
    expect(changed).toBe(
      `Changed Theme ${theme} by API key Test key 2 Mar 2026, 02:15:15 ` +
        'Name Before &lt;b&gt; → changed to After &lt;i&gt; Number of offers empty → changed to 5',
    );
    expect(added).toMatch('Created Theme: Before &lt;b&gt;');
    expect((await admin.get(page)).body).toContain(`href="/dashboard/p/${me.publisherId}/settings/themes/${theme}"`);
  });

  test('reverts changes and restores removed rows of its own publisher only', async () => {
    const theme = (await me.call('POST', '/themes', { name: 'First', unit: 'mou' })).body.data.id;
    await me.call('PATCH', `/themes/${theme}`, { name: 'Second' });
    const latest = async () =>
      /action="([^"]+\/revert)"/.exec((await admin.get(`${page}?resource=themes`)).body)?.[1] ?? 'none';
    const nameOf = async () => (await me.call('GET', `/themes/${theme}`)).body.data?.name;
    const change = await latest();
    const otherUser = await signInAs(t, 'admin', await t.addPublisher());
    expect((await otherUser.post(change)).statusCode).toBe(404);
    expect((await admin.post(change)).statusCode).toBe(303);
    expect(await nameOf()).toBe('First');
    await me.call('DELETE', `/themes/${theme}`);
    expect((await admin.post(await latest())).statusCode).toBe(303);
    expect(await nameOf()).toBe('First');
    expect((await rows())[0]).toBe(
      `Restored Theme ${theme} by ${await emailOf(admin)} 2 Mar 2026, 02:15:15 ` +
        'Removed 2 Mar 2026, 02:15:15 → changed to empty',
    );
    await me.call('POST', '/placements', { name: 'gone', display_name: 'Gone' });
    await me.call('DELETE', '/placements/gone');
    const removal = /action="([^"]+\/revert)"/.exec((await admin.get(page)).body)?.[1] ?? 'none';
    expect((await admin.post(removal)).statusCode).toBe(303);
    expect((await me.call('GET', '/placements/gone')).body.data.display_name).toBe('Gone');
  });

  test("shows timestamps in values in the publisher's time zone", async () => {
    await me.call('PUT', '/webhook-endpoints/usp.selection', { url: 'http://127.0.0.1:9/', method: 'POST' });
    await me.call('POST', '/webhook-endpoints/usp.selection/pause');
    expect((await rows())[0]).toMatch(
      'Changed Webhook usp.selection by API key Test key 2 Mar 2026, 02:15:15 ' +
        'Paused empty → changed to 2 Mar 2026, 02:15:15',
    );
  });

  test('shows only the parts of nested values that differ, with their paths', async () => {
    const { campaign } = await addCatalogue(me);
    const targeting = { countries: { include: ['US', 'DE'] }, devices: { include: ['mobile'] } };
    expect((await me.call('PATCH', `/campaigns/${campaign}`, { rules: { targeting } })).status).toBe(200);
    await me.call('PATCH', `/campaigns/${campaign}`, {
      rules: { targeting: { ...targeting, countries: { include: ['US'] } } },
    });
    expect((await rows('?resource=campaigns'))[0]).toMatch(/ Countries US, DE → changed to US$/);
    await me.call('PATCH', `/campaigns/${campaign}`, {
      rules: { targeting: { postal_codes: { include: Array(400).fill('12345') } } },
    });
    expect((await rows('?resource=campaigns'))[0]?.length).toBeLessThan(1000);
  });

  test('identifies experiments, perk message settings and coupon codes, and links to their pages', async () => {
    const offers = 'select id from offers where publisher_id = $1';
    const offer = (await t.pool.query<{ id: number }>(offers, [me.publisherId])).rows[0]?.id;
    const arms = ['control', 'two'].map((key) => ({ key, share: 0.5, changes: {} }));
    await me.call('POST', '/experiments', { key: 'fewer', arms });
    await me.call('PATCH', '/perk-messages/settings', { from_name: 'Shop' });
    await me.call('POST', `/offers/${offer}/coupon-codes`, { codes: ['A-1'] });
    const { body } = await admin.get(page, { 'accept-language': 'de' });
    for (const [path, text] of [
      ['/experiments/fewer', 'Experiment fewer'],
      ['/settings/perk-messages', 'Perk-E-Mails'],
      [`/offers/${offer}`, 'Gutscheincodes: Half off'],
    ])
      expect(body).toContain(`href="/dashboard/p/${me.publisherId}${path}">${text}</a>`);
    expect(body).toContain('<dt translate="no">Schlüssel</dt>');
  });

  test('shows labels instead of field names, also next to fields with names such as constructor', async () => {
    const changes = { row_id: { old: null, new: 7 }, constructor: { old: null, new: { toString: 1 } } };
    await t.pool.query(
      `insert into audit_log (publisher_id, at, actor_kind, actor_id, actor_label, actor_publisher_id, action, resource,
        resource_id, changes)
      values ($1, now(), 'system', 0, 'x', $1, 'update', 'drafts', '1', $2)`,
      [me.publisherId, JSON.stringify(changes)],
    );
    expect((await rows())[0]).toMatch('ID of the item empty → changed to 7');
  });

  test('shows the states of drafts in the words of the drafts page, in English and in German', async () => {
    const campaign = (
      await t.pool.query('select max(id) as id from campaigns where publisher_id = $1', [me.publisherId])
    ).rows[0].id;
    const changes = { campaign_id: campaign, title: 'Two months free', cta_yes: 'Yes', cta_no: 'No' };
    const draft = (await me.call('POST', '/drafts', { resource: 'offers', changes })).body.data.id;
    await me.call('POST', `/drafts/${draft}/refuse`, { reason: 'One month, please.' });
    expect((await rows('?resource=drafts'))[0]).toMatch('Status Waiting → changed to Rejected');
    const german = await admin.get(`${page}?resource=drafts`, { 'accept-language': 'de' });
    expect(textOf(german.body)).toMatch('Wartet → geändert in Abgelehnt');
    expect(textOf(german.body)).not.toMatch(/refused|waiting/);
  });

  test('filters by resource, and shows all entries if the resource is unknown', async () => {
    const offers = await rows('?resource=offers');
    expect(offers.length).toBe(1);
    expect(offers[0]).toMatch('Created Offer: Half off');
    const all = (await rows()).length;
    expect(all).toBeGreaterThan(5);
    for (const kind of ['nonsense', '%00', 'constructor']) expect((await rows(`?resource=${kind}`)).length).toBe(all);
    expect((await admin.get(`${page}?resource=catalogue`)).body).toContain('No matches.');
  });

  test('is paged, and keeps the filter on each page', async () => {
    const { id } = (await me.call('POST', '/advertisers', { name: 'Name 0' })).body.data;
    for (let index = 1; index <= 60; index++) await me.call('PATCH', `/advertisers/${id}`, { name: `Name ${index}` });
    const first = await admin.get(`${page}?resource=advertisers`);
    const next = /rel="next" href="([^"]+)"/.exec(first.body)?.[1]?.replaceAll('&amp;', '&') ?? '';
    expect(next).toContain('resource=advertisers');
    const older = await rows(next.slice(page.length));
    expect((await rows('?resource=advertisers'))[0]).toMatch('Name 60');
    expect(older[0]).toMatch('Name 9 → changed to Name 10');
    expect((await admin.get(next)).body).toMatch(/rel="prev" href="[^"]*resource=advertisers"/);
    expect((await admin.get(`${page}?cursor=forged`)).statusCode).toBe(400);
  });
});

test('only admins and operators can read the log, and managers and analysts see no link to it', async () => {
  expect((await rows('', await signInAs(t, 'operator'))).length).toBeGreaterThan(0);
  for (const role of ['manager', 'analyst'] as const) {
    const person = await signInAs(t, role, me.publisherId);
    expect((await person.get(page)).statusCode, role).toBe(403);
    expect((await person.get(`/dashboard/p/${me.publisherId}/settings`)).body).not.toContain('/settings/activity');
  }
  expect((await admin.get(`/dashboard/p/${me.publisherId}/settings`)).body).toContain(`href="${page}"`);
});

test("404: another publisher's log is not found, and none of its entries appear in one's own", async () => {
  const otherAdmin = await signInAs(t, 'admin', await t.addPublisher());
  const foreign = await otherAdmin.get(page);
  expect(foreign.statusCode).toBe(404);
  const own = `/dashboard/p/${(await t.caller(await t.addPublisher())).publisherId}/settings/activity`;
  expect((await otherAdmin.get(own)).statusCode).toBe(404);
  const next = /rel="next" href="[^"]*(cursor=[^"]+)"/.exec((await admin.get(page)).body)?.[1] ?? '';
  const { rows: users } = await t.pool.query('select publisher_id from users where id = $1', [otherAdmin.userId]);
  const theirs = `/dashboard/p/${users[0].publisher_id}/settings/activity`;
  expect((await otherAdmin.get(theirs)).body).toContain('No activity yet');
  expect((await otherAdmin.get(`${theirs}?${next}`)).statusCode).toBe(400);
});

test("an operator's e-mail address is shown to operators only", async () => {
  const operator = await signInAs(t, 'operator');
  const { rows: users } = await t.pool.query('select email from users where id = $1', [operator.userId]);
  await operator.post(`/dashboard/p/${me.publisherId}/advertisers`, { name: 'By the operator' });
  expect((await rows('?resource=advertisers'))[0]).toMatch(/^Created Advertiser: By the operator by Operator /);
  expect((await rows('?resource=advertisers')).join()).not.toContain(users[0].email);
  expect((await rows('?resource=advertisers', operator))[0]).toContain(users[0].email);
});
