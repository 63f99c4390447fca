import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { callsOf } from './support.ts';

let t: TestApp;
let api: ReturnType<typeof callsOf>;
beforeAll(async () => {
  t = await createTestApp();
  api = callsOf(t);
});
afterEach(() => api.end());
afterAll(() => t.close());

const arm = (key: string, share: number, changes: object = {}) => ({ key, share, changes });
const halves = (changes: object) => [arm('control', 0.5), arm('b', 0.5, changes)];
const adopt = (key: string, name = 'b') => api.manage('POST', `/${key}/adopt`, { arm: name });
const undo = (key: string) => api.manage('POST', `/${key}/undo`);
const placement = async (name: string) => (await api.call('GET', `/manage/v1/placements/${name}`)).body.data;
const theme = async (id: number) => (await api.call('GET', `/manage/v1/themes/${id}`)).body.data;

test('adopting an arm makes its changes permanent and ends the experiment, and one call undoes it', async () => {
  await api.start({ key: 'number', placements: ['cart'], arms: halves({ offers_per_response: 1, floor: 0.5 }) });
  const { status, body } = await adopt('number');
  expect(status, JSON.stringify(body)).toBe(200);
  expect(body.message).toBe('The arm is permanent.');
  expect(body.data).toMatchObject({ state: 'stopped', adopted: { arm: 'b', by: expect.any(String) } });
  expect(body.data.adopted.written).toEqual([
    { resource: 'placements', key: 'cart', fields: { offers_per_response: { old: null, new: 1 } } },
    { resource: 'controls', key: String(t.publisher.id), fields: { cart: { old: null, new: 0.5 } } },
  ]);
  expect((await placement('cart')).offers_per_response).toBe(1);
  const data = await api.fetch({ pub_user_id: 'u', placement: 'cart' });
  expect(data).not.toHaveProperty('experiments');
  expect(data.offers.length).toBeLessThanOrEqual(1);
  expect((await adopt('number')).status).toBe(409);

  const undone = await undo('number');
  expect(undone.body.data).toMatchObject({ state: 'stopped', adopted: null });
  expect((await placement('cart')).offers_per_response).toBeNull();
  expect((await api.call('GET', `/manage/v1/publishers/${t.publisher.id}/controls`)).body.data.floors).toEqual({});
  expect((await undo('number')).status).toBe(409);
  expect(undone.body.data.history.map((entry: { action: string }) => entry.action)).toEqual(['start', 'adopt', 'undo']);
  expect(undone.body.data.history[1]).toMatchObject({ arm: 'b', version: 1, by: body.data.adopted.by });
});

test('a shared theme is not changed, because the placement gets a copy until the adoption is undone', async () => {
  const { id } = (await api.call('POST', '/manage/v1/themes', { name: 'Shared', unit: 'mou', settings: { delay: 5 } }))
    .body.data;
  for (const name of ['one', 'two']) await api.call('POST', '/manage/v1/placements', { name, theme_id: id });
  await api.start({ key: 'delay', placements: ['one'], arms: halves({ settings: { delay: 77 } }) });
  expect((await adopt('delay')).status).toBe(200);
  expect((await theme(id)).settings).toEqual({ delay: 5 });
  const { theme_id } = await placement('one');
  expect(theme_id).not.toBe(id);
  expect(await theme(theme_id)).toMatchObject({ name: 'Shared (delay b)', settings: { delay: 77 }, is_default: false });
  expect((await api.fetch({ pub_user_id: 'u', placement: 'one' })).settings.delay).toBe(77);
  expect((await api.fetch({ pub_user_id: 'u', placement: 'two' })).settings.delay).toBe(5);
  expect((await undo('delay')).status).toBe(200);
  expect((await placement('one')).theme_id).toBe(id);
  expect((await api.call('GET', `/manage/v1/themes/${theme_id}`)).status).toBe(404);

  await api.start({ key: 'both', placements: ['one', 'two'], arms: halves({ settings: { delay: 78 } }) });
  expect((await adopt('both')).status).toBe(200);
  expect((await theme(id)).settings).toEqual({ delay: 78 });
  expect((await undo('both')).status).toBe(200);
  expect((await theme(id)).settings).toEqual({ delay: 5 });
});

test('adopts and restores a floor of a placement named like a built-in object property', async () => {
  const floors = async () =>
    (await api.call('GET', `/manage/v1/publishers/${t.publisher.id}/controls`)).body.data.floors;
  await api.start({ key: 'odd', placements: ['constructor'], arms: halves({ floor: 0.5 }) });
  const { body } = await adopt('odd');
  expect(body.data.adopted.written).toEqual([
    { resource: 'controls', key: String(t.publisher.id), fields: { constructor: { old: null, new: 0.5 } } },
  ]);
  expect(await floors()).toEqual({ constructor: 0.5 });
  expect((await undo('odd')).status).toBe(200);
  expect(await floors()).toEqual({});
});

test('an undo does not overwrite later changes, and reports them', async () => {
  await api.start({ key: 'later', placements: ['cart'], arms: halves({ offers_per_response: 1 }) });
  await adopt('later');
  await api.call('PATCH', '/manage/v1/placements/cart', { offers_per_response: 5 });
  const { status, body } = await undo('later');
  expect(status).toBe(409);
  expect(body.error.message).toContain('offers_per_response of placements cart');
  expect((await placement('cart')).offers_per_response).toBe(5);
  await api.call('PATCH', '/manage/v1/placements/cart', { offers_per_response: null });
});

test('adopting the control changes nothing, and adopting a hold-out turns the unit off', async () => {
  await api.start({ key: 'keep', arms: halves({ offers_per_response: 1 }) });
  expect((await adopt('keep', 'control')).body.data.adopted).toMatchObject({ arm: 'control', written: [] });
  await api.start({ key: 'off', placements: ['cart'], holdout: 0.5 });
  expect((await adopt('off', 'holdout')).status).toBe(200);
  expect((await api.fetch({ pub_user_id: 'u', placement: 'cart' })).offers).toEqual([]);
  expect((await undo('off')).status).toBe(200);
  expect((await api.fetch({ pub_user_id: 'u', placement: 'cart' })).offers).not.toEqual([]);
});

test('an adoption cannot be undone after the experiment is started again', async () => {
  await api.start({ key: 'again', placements: ['cart'], arms: halves({ offers_per_response: 2 }) });
  await adopt('again');
  expect((await api.manage('POST', '/again/start')).body.data).toMatchObject({ state: 'running', adopted: null });
  await api.call('PATCH', '/manage/v1/placements/cart', { offers_per_response: null });
});

test.each([
  ['an unknown arm', halves({}), 'nobody', 400],
  ['a hold-out that does not exist', halves({}), 'holdout', 400],
  ['a ranking, which placements do not have', halves({ ranking: 'fixed' }), 'b', 409],
  ['labels, which placements do not have', halves({ labels: { close: 'No' } }), 'b', 409],
])('%s cannot be adopted, and nothing is changed', async (_what, arms, name, expected) => {
  await api.start({ key: 'refused', arms });
  const { status, body } = await adopt('refused', name);
  expect(status).toBe(expected);
  expect(body.error.details).toHaveLength(1);
  expect((await api.manage('GET', '/refused')).body.data).toMatchObject({ state: 'running', adopted: null });
});

test('a draft, or an arm whose theme was removed, cannot be adopted', async () => {
  await api.manage('POST', '', { key: 'draft', arms: halves({}) });
  expect((await adopt('draft')).status).toBe(409);
  const { id } = (await api.call('POST', '/manage/v1/themes', { name: 'Going', unit: 'mou' })).body.data;
  await api.start({ key: 'gone', placements: ['cart'], arms: halves({ theme_id: id }) });
  expect((await api.call('DELETE', `/manage/v1/themes/${id}`)).status).toBeLessThan(300);
  const { status, body } = await adopt('gone');
  expect([status, body.error.details[0].path]).toEqual([400, '/theme_id']);
  expect((await api.manage('POST', '/gone/adopt', { arm: 'b', colour: 'red' })).status).toBe(400);
  expect((await api.manage('POST', '/nothing/adopt', { arm: 'b' })).status).toBe(404);
});

test('every change is in the audit log', async () => {
  await api.start({ key: 'logged', placements: ['cart'], arms: halves({ offers_per_response: 1 }) });
  await adopt('logged');
  const { rows } = await t.pool.query('select resource, action, changes from audit_log order by id desc limit 2');
  expect(rows.map(({ resource }) => resource)).toEqual(['experiments', 'placements']);
  expect(rows[0].changes.adopted.new.arm).toBe('b');
  expect(rows[1].changes.offers_per_response).toEqual({ old: null, new: 1 });
  await undo('logged');
});
