import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addCatalogue, type Caller, createManagementApp, type ManagementApp } from '../catalog/resources/support.ts';
import { signInAs } from '../dashboard/support.ts';
import { readOperations } from './open-api.ts';

/** Attempts to exceed the rights of keys that are limited to one campaign or one placement. */

let t: ManagementApp;
let me: Caller;
let mine: Record<string, number>;
let theirs: Record<string, number>;
const all = ['ads/offers', 'reports', 'configurations', 'offers/management', 'wallet'];

beforeAll(async () => {
  t = await createManagementApp();
  me = await t.caller(await t.addPublisher());
  mine = await addCatalogue(me);
  const add = async (path: string, body: object): Promise<number> =>
    (await me.call('POST', path, body)).body.data.id as number;
  const campaign = await add('/campaigns', {
    advertiser_id: mine.advertiser,
    name: 'Other',
    landing_url: 'https://other.example/',
  });
  theirs = { campaign, offer: await add('/offers', { campaign_id: campaign, title: 'Other offer' }) };
  theirs.creative = await add('/creatives', {
    offer_id: theirs.offer,
    url: 'https://cdn.example/a.png',
    type: 'png',
    width: 60,
    height: 60,
  });
  await add('/placements', { name: 'secret' });
});
afterAll(() => t?.close());

const make = async (limits: object, permissions: readonly string[] = all) => {
  const created = await me.call('POST', '/keys', { name: 'Limited', permissions, ...limits });
  expect(created.status).toBe(201);
  const { key, id } = created.body.data as { key: string; id: number };
  const raw = async (method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', url: string, payload?: object | string) => {
    const isText = typeof payload === 'string';
    const headers = { authorization: `Bearer ${key}`, ...(isText && { 'content-type': 'text/csv' }) };
    const answer = await t.app.inject({ method, url, headers, ...(payload && { payload }) });
    const isJson = String(answer.headers['content-type']).includes('json');
    return { status: answer.statusCode, body: isJson ? answer.json() : {}, text: answer.body };
  };
  const call: typeof raw = (method, path, payload) => raw(method, `/manage/v1${path}`, payload);
  const fetchAt = (placement: string, query = '') =>
    raw('POST', `/native/v4/offers.json${query}`, { placement, pub_user_id: 'u1' });
  return { id, key, raw, call, fetchAt };
};
const idsOf = (answer: { body: { data: { id: number }[] } }) => answer.body.data.map(({ id }) => id);

describe('a key limited to one campaign', () => {
  test('lists only that campaign and its offers and images', async () => {
    const key = await make({ campaigns: [mine.campaign] });
    expect(idsOf(await key.call('GET', '/campaigns'))).toEqual([mine.campaign]);
    expect(idsOf(await key.call('GET', '/offers'))).toEqual([mine.offer]);
    expect(idsOf(await key.call('GET', `/offers?campaign_id=${theirs.campaign}`))).toEqual([]);
    expect(idsOf(await key.call('GET', '/creatives'))).toEqual([]);
    expect((await key.call('GET', '/placements')).body.data).toEqual([]);
    const feed = await key.raw('GET', '/native/v3/catalog.json');
    expect(feed.body.data.offers.map((offer: { campaign_id: number }) => offer.campaign_id)).toEqual([mine.campaign]);
  });

  test('404: cannot see or change other campaigns or their offers, images and provisions', async () => {
    const key = await make({ campaigns: [mine.campaign] });
    for (const path of [
      `/campaigns/${theirs.campaign}`,
      `/offers/${theirs.offer}`,
      `/creatives/${theirs.creative}`,
      '/placements/secret',
    ]) {
      expect((await key.call('GET', path)).status, path).toBe(404);
      expect((await key.call('PATCH', path, { name: 'Mine' })).status, path).toBe(404);
      expect((await key.call('DELETE', path)).status, path).toBe(404);
    }
    expect((await key.call('POST', `/campaigns/${theirs.campaign}/stop`)).status).toBe(404);
    expect((await key.call('POST', `/offers/${theirs.offer}/stop`)).status).toBe(404);
    expect((await key.call('GET', `/campaigns/${theirs.campaign}/publishers`)).status).toBe(404);
    expect((await key.call('GET', `/campaigns/${mine.campaign}/publishers`)).status).toBe(200);
    await me.call('DELETE', `/offers/${theirs.offer}`);
    expect((await key.call('POST', `/offers/${theirs.offer}/restore`)).status).toBe(404);
    expect((await me.call('POST', `/offers/${theirs.offer}/restore`)).status).toBe(200);
  });

  test('changes its own rows, but cannot move rows in or out or create rows beyond its limit', async () => {
    const key = await make({ campaigns: [mine.campaign] });
    expect((await key.call('PATCH', `/offers/${mine.offer}`, { title: 'Better' })).status).toBe(200);
    expect((await key.call('POST', '/offers', { campaign_id: mine.campaign, title: 'New' })).status).toBe(201);
    const away = { campaign_id: theirs.campaign };
    expect((await key.call('PATCH', `/offers/${mine.offer}`, away)).status).toBe(400);
    expect((await key.call('POST', '/offers', { ...away, title: 'New' })).status).toBe(400);
    const image = { url: 'https://cdn.example/b.png', type: 'png', width: 60, height: 60 };
    expect((await key.call('POST', '/creatives', { ...image, offer_id: theirs.offer })).status).toBe(400);
    expect((await key.call('POST', '/creatives', { ...image, offer_id: mine.offer })).status).toBe(201);
    const campaign = { advertiser_id: mine.advertiser, name: 'Third', landing_url: 'https://third.example/' };
    expect((await key.call('POST', '/campaigns', campaign)).status).toBe(400);
    expect((await key.call('POST', '/placements', { name: 'third' })).status).toBe(403);
    const { rows } = await t.pool.query("select from campaigns where name = 'Third'");
    expect(rows).toEqual([]);
  });

  test('fetches offers only for that campaign', async () => {
    const key = await make({ campaigns: [mine.campaign] });
    const campaignsOf = async (query: string) => {
      const { body } = await key.fetchAt('checkout', query);
      return body.data?.offers?.map(({ campaign_id }: { campaign_id: number }) => campaign_id) ?? body.error.code;
    };
    expect(await campaignsOf('')).toEqual([mine.campaign]);
    expect(await campaignsOf(`?campaignId=${mine.campaign}`)).toEqual([mine.campaign]);
    expect(await campaignsOf(`?campaignId=${theirs.campaign}`)).toBe('permission_denied');
    const two = await make({ campaigns: [mine.campaign, theirs.campaign] });
    expect(await two.fetchAt('checkout')).toMatchObject({
      status: 403,
      body: { error: { details: [{ path: '/campaignId' }] } },
    });
  });

  test('reports only on that campaign', async () => {
    const key = await make({ campaigns: [mine.campaign] });
    const report = (query: string) => key.raw('GET', `/native/activity.json?group_by=campaign${query}`);
    expect((await report('')).status).toBe(200);
    expect((await report(`&campaign=${theirs.campaign}`)).status).toBe(403);
    expect((await report(`&campaign=${mine.campaign},${theirs.campaign}`)).status).toBe(403);
    expect((await key.raw('GET', '/native/reconciliation.json')).status).toBe(403);
  });

  test('400: creates keys with the same limit or a narrower one only', async () => {
    const key = await make({ campaigns: [mine.campaign, theirs.campaign] });
    const fields = { name: 'Child', permissions: ['configurations'] };
    for (const limits of [
      {},
      { campaigns: null },
      { campaigns: [mine.campaign, 999_999] },
      { placements: ['checkout'] },
      { campaigns: [mine.campaign], placements: ['checkout'] },
    ]) {
      const answer = await key.call('POST', '/keys', { ...fields, ...limits });
      expect([answer.status, answer.body.error?.code], JSON.stringify(limits)).toEqual([400, 'invalid_request']);
    }
    expect((await key.call('POST', '/keys', { ...fields, campaigns: [mine.campaign] })).status).toBe(201);
    expect((await key.call('PATCH', `/keys/${key.id}`, { campaigns: null })).status).toBe(403);
    expect((await key.call('GET', '/keys')).status).toBe(403);
  });
});

describe('a key limited to one placement', () => {
  test('sees and changes only that placement, and sees no campaigns', async () => {
    const key = await make({ placements: [' Checkout '] });
    expect((await key.call('GET', '/placements')).body.data).toMatchObject([{ name: 'checkout' }]);
    expect((await key.call('PATCH', '/placements/checkout', { display_name: 'Till' })).status).toBe(200);
    expect((await key.call('PATCH', '/placements/secret', { display_name: 'Till' })).status).toBe(404);
    expect((await key.call('POST', '/placements', { name: 'third' })).status).toBe(403);
    expect(idsOf(await key.call('GET', '/campaigns'))).toEqual([]);
    expect((await key.call('GET', `/offers/${mine.offer}`)).status).toBe(404);
    expect((await key.raw('GET', '/native/v3/catalog.json')).body.data.offers).toEqual([]);
  });

  test('fetches and reports only for its placements, even if their names contain quotes or commas', async () => {
    const key = await make({ placements: ['checkout', "x') or true --", 'checkout,secret'] });
    expect((await key.fetchAt('Checkout')).status).toBe(200);
    expect((await key.fetchAt('secret')).status).toBe(403);
    for (const [names, status] of [
      [['checkout'], 200],
      [['checkout', 'secret'], 403],
      [['secret', 'checkout'], 403],
    ] as const) {
      const placements = names.map((name) => ({ name }));
      expect((await key.raw('POST', '/native/v4/offers.json', { placements })).status).toBe(status);
      expect((await key.raw('POST', '/native/v4/any.json', { placements })).status).toBe(status);
    }
    expect((await key.call('GET', '/placements')).body.data).toMatchObject([{ name: 'checkout' }]);
    const report = (query: string) => key.raw('GET', `/native/activity.json?group_by=placement${query}`);
    expect((await report('&placement=checkout')).status).toBe(200);
    expect((await report('&placement=secret')).status).toBe(403);
    expect((await report('')).text).not.toContain('secret');
  });

  test('404: cannot access perks of a session at another placement', async () => {
    await t.pool.query('update publishers set usp_enabled = true where id = $1', [me.publisherId]);
    await t.deps.catalog.refresh();
    const key = await make({ placements: ['checkout'] });
    const free = await make({});
    const sessionAt = async (placement: string) => (await free.fetchAt(placement)).body.data.session_id as string;
    const show = async (placement: string) =>
      (await key.raw('GET', `/sdk/v4/usp/session/${await sessionAt(placement)}.json`)).body.error?.code;
    expect(await show('secret')).toBe('session_not_found');
    expect(await show('checkout')).not.toBe('session_not_found');
  });
});

test('403: a limited key is rejected by every other call, whatever its permissions', async () => {
  const key = await make({ campaigns: [mine.campaign], placements: ['checkout'] });
  const open: string[] = [];
  for (const { method, path, operationId, takesKey, takesCsv } of readOperations()) {
    if (!takesKey) continue;
    const url = path.replaceAll(/\{[^}]*\}/g, '999999');
    const body = takesCsv ? 'id\n' : {};
    const answer = await key.raw(method, url, method === 'GET' ? undefined : body);
    if (answer.status !== 403 || answer.body.error?.code !== 'permission_denied') open.push(operationId);
    else expect(answer.text, operationId).not.toContain('secret');
  }
  expect(open.sort()).toMatchSnapshot();
});

test("an operator's key has no such limits, and invalid IDs are reported by position", async () => {
  const operator = (body: object) => t.operator.call('POST', `/keys?publisher_id=${me.publisherId}`, body);
  expect(await operator({ name: 'x', permissions: ['accounts'], campaigns: [1] })).toMatchObject({ status: 400 });
  for (const limits of [{ campaigns: [] }, { campaigns: ['1'] }, { placements: [''] }, { placements: ['a\0b'] }])
    expect((await me.call('POST', '/keys', { name: 'x', permissions: all, ...limits })).status).toBe(400);
});

test('a user limits a key on the keys page and sees the limits there', async () => {
  const admin = await signInAs(t, 'admin', me.publisherId);
  const page = `/dashboard/p/${me.publisherId}/settings/keys`;
  const typed = { name: 'Narrow', permissions: 'reports' };
  expect((await admin.post(page, { ...typed, campaigns: 'Boxes' })).statusCode).toBe(422);
  const created = await admin.post(page, { ...typed, campaigns: `${mine.campaign}`, placements: 'checkout, receipt' });
  expect(created.statusCode).toBe(200);
  const { rows } = await t.pool.query('select name from campaigns where id = $1', [mine.campaign]);
  expect(created.body).toContain(`Campaign: ${rows[0]?.name}`);
  expect(created.body).toContain('Placements: checkout, receipt');
});
