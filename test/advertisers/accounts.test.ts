import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { csrfIn, postForm, signInAs, type TestUser } from '../dashboard/support.ts';
import { callsOf } from '../drafts/support.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { advertisersOf, pathOf, type TestAdvertiser } from './support.ts';

let t: TestApp;
let own: TestAdvertiser;
let other: TestAdvertiser;
let admin: TestUser;
let call: ReturnType<typeof callsOf>;
beforeAll(async () => {
  t = await createTestApp();
  [own, other] = (await advertisersOf(t, 2)) as [TestAdvertiser, TestAdvertiser];
  admin = await signInAs(t, 'admin');
  call = callsOf(t);
});
afterAll(() => t.close());

const proposed = { landing_url: 'https://own.example/new', offer_description: '', start_at: '', end_at: '', note: '' };
const draftsOf = async (advertiser: TestAdvertiser) =>
  (await call('GET', `drafts?advertiser_id=${advertiser.id}`)).body.data as { id: number; state: string }[];

describe("an advertiser's account", () => {
  test('is invited by an admin, sets a password, and opens its campaigns', async () => {
    const path = `/dashboard/p/${t.publisher.id}/advertisers/${own.id}/users`;
    const invited = await admin.post(path, { email: 'new@advertiser.example', role: 'advertiser' });
    const link = /\/dashboard\/start\/[\w-]+/.exec(invited.body)?.[0] ?? '';
    const form = await t.app.inject(link);
    expect(form.body).toContain(own.name);
    const password = 'a long enough password';
    const joined = await postForm(t, link, { _csrf: csrfIn(form.body), password, again: password });
    expect(joined.statusCode).toBe(303);
    const cookie = joined.cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
    const start = await t.app.inject({ url: '/dashboard', headers: { cookie } });
    expect(start.headers.location).toBe(pathOf(own));
    const page = await t.app.inject({ url: pathOf(own), headers: { cookie } });
    expect(page.statusCode).toBe(200);
    const accounts = (await admin.get(path)).body;
    expect(accounts).toContain('new@advertiser.example');
    expect(accounts).toContain(`href="/dashboard/p/${t.publisher.id}/advertisers/${own.id}">${own.name}</a>`);
  });

  test('cannot open pages of a publisher, of operators or of another advertiser', async () => {
    const { id } = t.publisher;
    for (const path of [`/dashboard/p/${id}/overview`, `/dashboard/p/${id}/offers`, `/dashboard/p/${id}/drafts`])
      expect((await own.user.get(path)).statusCode).toBe(404);
    for (const path of ['/dashboard/operator/publishers', '/dashboard/operator/users'])
      expect((await own.user.get(path)).statusCode).toBe(403);
    for (const rest of [
      '',
      '/campaigns',
      '/drafts',
      '/reports',
      '/reports/csv',
      '/conversions',
      '/tracking',
      '/activity',
    ])
      expect((await own.user.get(pathOf(other, rest))).statusCode).toBe(404);
    expect((await own.user.get('/dashboard/account')).statusCode).toBe(200);
  });

  test("gets the same response for another advertiser's rows as for unknown ones", async () => {
    for (const [path, its] of [
      [`/campaigns/${own.campaign}`, `/campaigns/${other.campaign}`],
      [`/offers/${own.offer}`, `/offers/${other.offer}`],
      [`/offers/new?campaign_id=${own.campaign}`, `/offers/new?campaign_id=${other.campaign}`],
    ] as const) {
      expect((await own.user.get(pathOf(own, path))).statusCode).toBe(200);
      expect((await own.user.get(pathOf(own, its))).statusCode).toBe(404);
    }
    expect((await own.user.post(pathOf(own, `/campaigns/${other.campaign}`), proposed)).statusCode).toBe(404);
    expect((await own.user.post(pathOf(own, `/offers/${other.offer}`), { title: 'Mine' })).statusCode).toBe(404);
    const foreign = { campaign_id: String(other.campaign), title: 'Mine', cta_yes: 'Go' };
    expect((await own.user.post(pathOf(own, '/offers'), foreign)).statusCode).toBe(404);
    expect(await draftsOf(own)).toEqual([]);
  });

  test('sees no drafts of another advertiser or of the publisher', async () => {
    await other.user.post(pathOf(other, `/campaigns/${other.campaign}`), proposed);
    const [theirs] = await draftsOf(other);
    const ofPublisher = await call('POST', 'drafts', {
      resource: 'offers',
      row_id: own.offer,
      changes: { title: 'The publisher’s idea' },
    });
    expect(theirs?.state).toBe('waiting');
    for (const id of [theirs?.id, ofPublisher.body.data.id]) {
      expect((await own.user.get(pathOf(own, `/drafts/${id}`))).statusCode).toBe(404);
      expect((await own.user.post(pathOf(own, `/drafts/${id}/withdraw`))).statusCode).toBe(404);
    }
    expect((await own.user.get(pathOf(own, '/drafts'))).body).not.toContain('The publisher’s idea');
  });

  test('proposes changes, which go live only after the publisher approves them', async () => {
    const sent = await own.user.post(pathOf(own, `/campaigns/${own.campaign}`), proposed);
    expect(sent.statusCode).toBe(303);
    const [draft] = (await draftsOf(own)) as [{ id: number; state: string }];
    const before = (await call('GET', `campaigns/${own.campaign}`)).body.data;
    expect(before.landing_url).not.toBe(proposed.landing_url);
    await call('POST', `drafts/${draft.id}/refuse`, { reason: 'Not this page.' });
    expect((await own.user.get(pathOf(own, `/drafts/${draft.id}`))).body).toContain('Not this page.');
    await call('POST', `drafts/${draft.id}/undo`);
    await call('POST', `drafts/${draft.id}/approve`, {});
    expect((await call('GET', `campaigns/${own.campaign}`)).body.data.landing_url).toBe(proposed.landing_url);
    const log = await own.user.get(pathOf(own, '/activity'));
    expect(log.body).toContain(own.user.email);
    expect(log.body).toMatch(new RegExp(`Campaign: <a href="[^"]*/campaigns/${own.campaign}">`));
    expect(log.body).not.toContain('demo-key');
  });

  test('sees errors at the fields that caused them', async () => {
    const wrong = { ...proposed, landing_url: 'http://own.example', start_at: 'Friday' };
    const answer = await own.user.post(pathOf(own, `/campaigns/${own.campaign}`), wrong);
    expect(answer.statusCode).toBe(422);
    expect(answer.body).toContain('Friday');
  });

  test('loses access to its pages as soon as it is removed', async () => {
    const user = await signInAs(t, 'advertiser', null, own.id);
    expect((await user.get(pathOf(own))).statusCode).toBe(200);
    const path = `/dashboard/p/${t.publisher.id}/advertisers/${own.id}/users/${user.userId}`;
    expect((await admin.post(`${path}/remove`)).statusCode).toBe(303);
    expect((await user.get(pathOf(own))).statusCode).toBe(303);
  });
});

test('all changes of a trusted advertiser, or changes of dates only, can be approved automatically', async () => {
  const campaign = (await call('GET', `campaigns/${other.campaign}`)).body.data;
  const stateAfter = async (fields: object): Promise<string | undefined> => {
    const { landing_url, offer_description } = (await call('GET', `campaigns/${other.campaign}`)).body.data;
    await other.user.post(pathOf(other, `/campaigns/${other.campaign}`), {
      landing_url,
      offer_description,
      start_at: '',
      end_at: '',
      note: '',
      ...fields,
    });
    return (await draftsOf(other))[0]?.state;
  };
  await call('PATCH', `publishers/${t.publisher.id}`, { dates_approved: true });
  expect(await stateAfter({ end_at: '2031-01-01T00:00:00Z' })).toBe('live');
  expect((await call('GET', `campaigns/${other.campaign}`)).body.data.rules).toMatchObject({
    ...campaign.rules,
    schedule: { end_at: '2031-01-01T00:00:00Z' },
  });
  expect(await stateAfter({ end_at: '2032-01-01T00:00:00Z', landing_url: 'https://x.example/' })).toBe('waiting');
  await call('PATCH', `advertisers/${other.id}`, { trusted: true });
  expect(await stateAfter({ landing_url: 'https://y.example/' })).toBe('live');
});

test("admins of another publisher do not see an advertiser's accounts", async () => {
  const { rows } = await t.pool.query(
    `insert into publishers (name, sdk_id, created_at, updated_at)
    values ('Other', 'ffffffffffffffff', now(), now()) returning id`,
  );
  await t.deps.catalog.refresh();
  const outsider = await signInAs(t, 'admin', rows[0].id);
  const path = `/dashboard/p/${rows[0].id}/advertisers/${own.id}/users`;
  expect((await outsider.get(path)).statusCode).toBe(404);
  expect((await outsider.post(path, { email: 'x@y.example', role: 'advertiser' })).statusCode).toBe(404);
});
