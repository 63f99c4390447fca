import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { cookieFrom, signInAs } from '../dashboard/support.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { callsOf, keyWith, runSchedule } from './support.ts';

let t: TestApp;
let clock = Date.parse('2026-11-24T12:00:00Z');
let admin: ReturnType<typeof callsOf>;
let manager: ReturnType<typeof callsOf>;
beforeAll(async () => {
  t = await createTestApp({ now: () => clock });
  await t.deps.catalog.refresh();
  admin = callsOf(t);
  manager = callsOf(t, await keyWith(t, ['offers/management']));
});
afterAll(() => t.close());

const require_ = (approval_required: boolean) =>
  admin('PATCH', `publishers/${t.publisher.id}`, { approval_required, dates_approved: false });
const etagOf = async (id: number) =>
  (await t.app.inject({ url: `/manage/v1/offers/${id}`, headers: { authorization: 'Bearer demo-key' } })).headers.etag;
const titleOf = async (id: number) => (await admin('GET', `offers/${id}`)).body.data.title;

let offer = 0;
beforeEach(async () => {
  await t.pool.query('delete from drafts');
  await require_(true);
  const [first] = (await admin('GET', 'offers?limit=1')).body.data;
  offer = first.id;
  await admin('PATCH', `offers/${offer}`, { title: 'As it was' });
});

const proposeTitle = async (title: string, call = manager) =>
  (await call('POST', 'drafts', { resource: 'offers', row_id: offer, changes: { title } })).body.data;

describe('a publisher that requires approval of changes', () => {
  test('lets a key without the permission save only changes that are not material', async () => {
    expect((await manager('PATCH', `offers/${offer}`, { weight: 7 })).status).toBe(200);
    expect(await manager('PATCH', `offers/${offer}`, { title: 'New' })).toMatchObject({
      status: 403,
      code: 'approval_required',
    });
    const { campaign_id } = (await admin('GET', `offers/${offer}`)).body.data;
    expect((await manager('POST', 'offers', { campaign_id, title: 'New' })).code).toBe('approval_required');
    expect((await manager('PATCH', `campaigns/${campaign_id}`, { landing_url: 'https://x.example/' })).code).toBe(
      'approval_required',
    );
    const creative = { offer_id: offer, url: 'https://x.example/a.png', type: 'png', width: 100, height: 100 };
    expect((await manager('POST', 'creatives', creative)).code).toBe('approval_required');
    expect(await titleOf(offer)).toBe('As it was');
  });

  test('lets a key with the permission save, and any key once approval is turned off', async () => {
    expect((await admin('PATCH', `offers/${offer}`, { title: 'By the admin' })).status).toBe(200);
    await require_(false);
    expect((await manager('PATCH', `offers/${offer}`, { title: 'By the manager' })).status).toBe(200);
  });

  test('blocks "Duplicate" for users who cannot approve, and explains the alternative', async () => {
    const user = await signInAs(t, 'manager');
    const { campaign_id } = (await admin('GET', `offers/${offer}`)).body.data;
    const counted = 'select (select count(*) from campaigns) as campaigns, (select count(*) from offers) as offers';
    const before = (await t.pool.query(counted)).rows;
    for (const row of [`offers/${offer}`, `campaigns/${campaign_id}`]) {
      const path = `/dashboard/p/${t.publisher.id}/${row}`;
      const answer = await user.post(`${path}/duplicate`);
      expect([answer.statusCode, answer.headers.location]).toEqual([303, path]);
      const flash = cookieFrom(answer, 'perkwire_flash') ?? '';
      expect((await user.get(path, { cookie: `${user.cookie}; ${flash}` })).body).toContain('Nothing was duplicated');
    }
    expect((await t.pool.query(counted)).rows).toEqual(before);
  });

  test('lets only users who can approve turn approval off', async () => {
    expect((await manager('PATCH', `publishers/${t.publisher.id}`, { approval_required: false })).status).toBe(403);
    const [advertiser] = (await admin('GET', 'advertisers?limit=1')).body.data;
    expect(await manager('PATCH', `advertisers/${advertiser.id}`, { trusted: true })).toMatchObject({
      status: 400,
      details: [{ path: '/trusted' }],
    });
  });
});

describe('a draft', () => {
  test('leaves the live row unchanged until it is approved', async () => {
    const draft = await proposeTitle('Better');
    expect(draft).toMatchObject({ state: 'waiting', changes: { title: 'Better' }, base: { title: 'As it was' } });
    expect(await titleOf(offer)).toBe('As it was');
    expect((await manager('POST', `drafts/${draft.id}/approve`, {})).code).toBe('permission_denied');
    expect((await admin('POST', `drafts/${draft.id}/approve`, {})).body.data).toMatchObject({ state: 'live' });
    expect(await titleOf(offer)).toBe('Better');
    expect((await admin('POST', `drafts/${draft.id}/approve`, {})).status).toBe(409);
  });

  test('is validated like the change itself, and leaves nothing if it is invalid', async () => {
    const count = async () => (await t.pool.query('select count(*) from offers')).rows[0].count;
    const before = await count();
    const { campaign_id } = (await admin('GET', `offers/${offer}`)).body.data;
    const long = { resource: 'offers', changes: { campaign_id, title: 'x'.repeat(91) } };
    expect(await manager('POST', 'drafts', long)).toMatchObject({ status: 400, details: [{ path: '/title' }] });
    const changes = { campaign_id, title: 'New', cta_yes: 'Go' };
    const proposal = await manager('POST', 'drafts', { resource: 'offers', changes, note: 'For spring' });
    expect(proposal).toMatchObject({ status: 201, body: { data: { row_id: null, base: {}, subject: 'New' } } });
    expect(await count()).toBe(before);
    expect(
      (await manager('POST', 'drafts', { resource: 'offers', row_id: offer, changes: { title: 'As it was' } })).status,
    ).toBe(400);
    expect((await manager('POST', 'drafts', { resource: 'publishers', changes: {} })).status).toBe(400);
    const live = (await admin('POST', `drafts/${proposal.body.data.id}/approve`, {})).body.data;
    expect(await titleOf(live.row_id)).toBe('New');
  });

  test('gets 409 with the conflict if its field changed meanwhile, and is approved with the current ETag', async () => {
    const draft = await proposeTitle('Better');
    await admin('PATCH', `offers/${offer}`, { title: 'Changed since' });
    const refused = await admin('POST', `drafts/${draft.id}/approve`, {});
    expect(refused).toMatchObject({ status: 409, code: 'conflict', details: [{ path: '/title' }] });
    expect(refused.details[0]?.message).toBe(
      'The value was "As it was" at the time of the proposal and is now "Changed since". The draft proposes "Better".',
    );
    const body = { row_etag: await etagOf(offer) };
    expect((await admin('POST', `drafts/${draft.id}/approve`, body)).body.data.state).toBe('live');
    expect(await titleOf(offer)).toBe('Better');
  });

  test('is approved normally if only other fields changed meanwhile', async () => {
    const draft = await proposeTitle('Better');
    await admin('PATCH', `offers/${offer}`, { description: 'Changed since' });
    expect((await admin('POST', `drafts/${draft.id}/approve`, {})).status).toBe(200);
    expect((await admin('GET', `offers/${offer}`)).body.data.description).toBe('Changed since');
  });

  test('can be refused only with a reason', async () => {
    const draft = await proposeTitle('Better');
    expect((await admin('POST', `drafts/${draft.id}/refuse`, { reason: ' ' })).details).toMatchObject([
      { path: '/reason' },
    ]);
    const refused = await admin('POST', `drafts/${draft.id}/refuse`, { reason: 'Too loud.' });
    expect(refused.body.data).toMatchObject({ state: 'refused', reason: 'Too loud.' });
    expect(await titleOf(offer)).toBe('As it was');
    expect((await admin('POST', `drafts/${draft.id}/undo`)).body.data.state).toBe('waiting');
  });

  test('can be reverted after it was live, but not over later changes', async () => {
    const draft = await proposeTitle('Better');
    await admin('POST', `drafts/${draft.id}/approve`, {});
    await admin('PATCH', `offers/${offer}`, { title: 'Later' });
    expect(await admin('POST', `drafts/${draft.id}/undo`)).toMatchObject({
      status: 409,
      details: [{ path: '/title' }],
    });
    await admin('PATCH', `offers/${offer}`, { title: 'Better' });
    expect((await admin('POST', `drafts/${draft.id}/undo`)).body.data.state).toBe('undone');
    expect(await titleOf(offer)).toBe('As it was');
  });

  test('goes live at its scheduled time, and waits again if it no longer applies', async () => {
    const [fits, late] = [await proposeTitle('On Friday'), await proposeTitle('Later', admin)];
    const at = new Date(clock + 3_600_000).toISOString();
    expect((await admin('POST', `drafts/${fits.id}/approve`, { live_at: 'Friday' })).details).toMatchObject([
      { path: '/live_at' },
    ]);
    const scheduled = await admin('POST', `drafts/${fits.id}/approve`, { live_at: at });
    expect(scheduled.body.data).toMatchObject({ state: 'scheduled', live_at: at });
    await admin('POST', `drafts/${late.id}/approve`, { live_at: new Date(clock + 7_200_000).toISOString() });
    await runSchedule(t);
    expect(await titleOf(offer)).toBe('As it was');
    clock += 3_600_000;
    await runSchedule(t);
    expect(await titleOf(offer)).toBe('On Friday');
    clock += 3_600_000;
    await runSchedule(t);
    expect(await titleOf(offer)).toBe('On Friday');
    expect((await admin('GET', `drafts/${late.id}`)).body.data).toMatchObject({
      state: 'waiting',
      reason: expect.stringContaining('and is now "On Friday".'),
    });
  });

  test('approved despite a conflict goes live at its time, and is reverted to the conflicting change', async () => {
    const draft = await proposeTitle('On Friday');
    await admin('PATCH', `offers/${offer}`, { title: 'Changed since' });
    const live_at = new Date(clock + 3_600_000).toISOString();
    const body = { live_at, row_etag: await etagOf(offer) };
    expect((await admin('POST', `drafts/${draft.id}/approve`, body)).body.data).toMatchObject({
      state: 'scheduled',
      base: { title: 'Changed since' },
    });
    clock += 3_600_000;
    await runSchedule(t);
    expect(await titleOf(offer)).toBe('On Friday');
    await admin('POST', `drafts/${draft.id}/undo`);
    expect(await titleOf(offer)).toBe('Changed since');
  });

  test('keeps its scheduled time when it is approved in the dashboard despite a conflict', async () => {
    const draft = await proposeTitle('On Friday');
    await admin('PATCH', `offers/${offer}`, { title: 'Changed since' });
    const user = await signInAs(t, 'admin');
    const path = `/dashboard/p/${t.publisher.id}/drafts/${draft.id}/approve`;
    const live_at = new Date(clock + 86_400_000).toISOString().slice(0, 16);
    const conflictPage = await user.post(path, { live_at });
    expect(conflictPage.statusCode).toBe(409);
    const button = conflictPage.body.split('<form').find((form) => form.includes('name="row_etag"')) ?? '';
    const posted = [...button.matchAll(/name="([a-z_]+)" value="([^"]*)"/g)].map(([, name = '', value = '']) => [
      ...[name, value.replaceAll('&quot;', '"')],
    ]);
    expect((await user.post(path, Object.fromEntries(posted))).statusCode).toBe(303);
    expect((await admin('GET', `drafts/${draft.id}`)).body.data.state).toBe('scheduled');
    expect(await titleOf(offer)).toBe('Changed since');
  });

  test("shows its times in the publisher's time zone", async () => {
    await admin('PATCH', `publishers/${t.publisher.id}`, { time_zone: 'Asia/Kathmandu' });
    const { campaign_id } = (await admin('GET', `offers/${offer}`)).body.data;
    const schedule = { start_at: '2027-01-10T20:00:00Z', end_at: null };
    const changes = { schedule };
    const draft = (await manager('POST', 'drafts', { resource: 'campaigns', row_id: campaign_id, changes })).body.data;
    await admin('POST', `drafts/${draft.id}/approve`, { live_at: '2027-01-01T20:00:00Z' });
    const user = await signInAs(t, 'admin');
    const drafts = `/dashboard/p/${t.publisher.id}/drafts`;
    const { body } = await user.get(`${drafts}/${draft.id}`);
    expect(body).toContain('2 Jan 2027, 01:45');
    expect(body).toContain('11 Jan 2027, 01:45');
    expect((await user.get(`${drafts}?state=scheduled`)).body).toContain('2 Jan 2027, 01:45');
    await admin('PATCH', `publishers/${t.publisher.id}`, { time_zone: 'UTC' });
  });

  test("replaces the same author's previous draft for the row", async () => {
    const first = await proposeTitle('First');
    await proposeTitle('Second');
    expect((await admin('GET', `drafts/${first.id}`)).body.data.state).toBe('withdrawn');
    expect(await admin('POST', `drafts/${first.id}/approve`, {})).toMatchObject({ status: 409 });
  });

  test('is decided once by two concurrent decisions', async () => {
    const draft = await proposeTitle('Better');
    const answers = await Promise.all([
      admin('POST', `drafts/${draft.id}/approve`, {}),
      admin('POST', `drafts/${draft.id}/refuse`, { reason: 'No.' }),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
  });

  test('is not found by another publisher', async () => {
    const draft = await proposeTitle('Better');
    const { rows } = await t.pool.query(
      `insert into publishers (name, sdk_id, created_at, updated_at)
      values ('Other', 'ffffffffffffffff', now(), now()) returning id`,
    );
    await t.pool.query('update drafts set publisher_id = $1', [rows[0].id]);
    for (const [method, path] of [
      ['GET', `drafts/${draft.id}`],
      ['POST', `drafts/${draft.id}/approve`],
      ['POST', `drafts/${draft.id}/withdraw`],
    ] as const)
      expect((await manager(method, path, method === 'POST' ? {} : undefined)).status).not.toBe(200);
    expect((await admin('GET', `drafts?state=waiting`)).body.data).toEqual([]);
  });
});

test('several drafts are decided independently', async () => {
  const [a, b] = [await proposeTitle('Better'), await proposeTitle('Best', admin)];
  await admin('POST', `drafts/${a.id}/refuse`, { reason: 'No.' });
  const { body } = await admin('POST', 'drafts/decide', { ids: [b.id, a.id, 999_999], action: 'approve' });
  expect(body.data).toMatchObject([
    { id: a.id, state: null, error: { code: 'conflict' } },
    { id: b.id, state: 'live', error: null },
    { id: 999_999, state: null, error: { code: 'resource_not_found' } },
  ]);
  expect(await titleOf(offer)).toBe('Best');
});

test('a campaign served to other publishers can be approved only by an operator', async () => {
  const draft = await proposeTitle('Better');
  const other = await t.pool.query(
    `insert into publishers (name, sdk_id, created_at, updated_at)
    values ('Carrier', 'eeeeeeeeeeeeeeee', now(), now()) returning id`,
  );
  await t.pool.query('insert into campaign_publishers (campaign_id, publisher_id) values ($1, $2)', [
    ...[draft.campaign_id, other.rows[0].id],
  ]);
  const approver = callsOf(t, await keyWith(t, ['offers/management', 'offers/approval']));
  expect((await approver('POST', `drafts/${draft.id}/approve`, {})).code).toBe('permission_denied');
  expect((await approver('PATCH', `offers/${offer}`, { title: 'Mine' })).code).toBe('approval_required');
  await t.pool.query('delete from campaign_publishers where publisher_id = $1', [other.rows[0].id]);
  expect((await approver('POST', `drafts/${draft.id}/approve`, {})).status).toBe(200);
});

test('proposals and decisions are in the audit log, and a waiting draft raises an event', async () => {
  const draft = await proposeTitle('Better');
  await admin('POST', `drafts/${draft.id}/refuse`, { reason: 'No.' });
  const { body } = await admin('GET', `audit?resource=drafts&resource_id=${draft.id}`);
  expect(body.data.map(({ action }: { action: string }) => action)).toEqual(['update', 'create']);
  const { rows } = await t.pool.query(
    "select event, data from operational_events where event like 'draft.%' order by event",
  );
  expect(rows.map(({ event }) => event)).toEqual(expect.arrayContaining(['draft.decided', 'draft.waiting']));
});
