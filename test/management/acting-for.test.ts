import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseNets } from '../../src/config/nets.ts';
import { newUuid7 } from '../../src/platform/lib/uuid7.ts';
import { createManagementApp, type ManagementApp } from '../catalog/resources/support.ts';

let t: ManagementApp;
let publisherId: number;
beforeAll(async () => {
  t = await createManagementApp({ config: { webhookAllowHttp: true, webhookAllowNets: parseNets('127.0.0.0/8') } });
  publisherId = await t.addPublisher('Shop');
});
afterAll(() => t.close());

const forShop = (path: string): string => `${path}?publisher_id=${publisherId}`;
const endpoint = { url: 'http://127.0.0.1:8099/hook', method: 'POST' };

describe('an operator who acts for a publisher', () => {
  test("manages its webhook endpoints, which use the publisher's settings", async () => {
    const path = '/webhook-endpoints/usp.selection';
    expect((await t.operator.call('PUT', forShop(path), endpoint)).status).toBe(201);
    const shop = await t.caller(publisherId);
    expect((await shop.call('GET', path)).body.data).toMatchObject({ url: endpoint.url });
    expect((await t.operator.call('POST', forShop(`${path}/pause`))).status).toBe(200);
    expect((await t.operator.call('POST', forShop(`${path}/rotate-secret`), {})).status).toBe(200);
    expect((await t.operator.call('GET', path)).status).toBe(404);
    const log = await shop.call('GET', '/audit?resource=webhook-endpoints');
    expect((log.body.data as unknown as { actor_label: string }[]).map((entry) => entry.actor_label)).toHaveLength(3);
  });

  test('manages its deliveries, replays, decisions, conversion secrets and users', async () => {
    const { data: advertiser } = (await (await t.caller(publisherId)).call('POST', '/advertisers', { name: 'A' })).body;
    const secret = `/advertisers/${advertiser.id}/conversion-secret`;
    const explained = { placement: 'checkout' };
    expect((await t.operator.call('GET', forShop('/deliveries'))).status).toBe(200);
    expect((await t.operator.call('GET', forShop('/deliveries/balance'))).body.data).toMatchObject({
      created: 0,
      balanced: true,
    });
    expect(
      (await t.operator.call('POST', forShop('/deliveries/replay'), { status: ['failed'], dry_run: true })).status,
    ).toBe(200);
    expect((await t.operator.call('GET', forShop('/replays'))).body.data).toEqual([]);
    expect((await t.operator.call('GET', forShop(`/sessions/${newUuid7(Date.now())}/decision`))).status).toBe(404);
    expect((await t.operator.call('POST', forShop('/explain'), explained)).body.data).toMatchObject({ count: 0 });
    expect((await t.operator.call('POST', forShop(secret))).status).toBe(201);
    expect((await t.operator.call('POST', secret)).status).toBe(404);
    const erasure = await t.operator.call('POST', forShop('/privacy/erasure'), { pub_user_id: 'u-1' });
    expect(erasure.status).toBe(202);
    const { rows } = await t.pool.query('select publisher_id from erasures where id = $1', [erasure.body.data.id]);
    expect(rows).toEqual([{ publisher_id: publisherId }]);
    expect((await t.operator.call('POST', forShop('/privacy/export'), { pub_user_id: 'u-1' })).status).toBe(200);
  });
});

test.each([
  ['GET', '/webhook-endpoints'],
  ['GET', '/webhook-endpoints/usp.selection'],
  ['PUT', '/webhook-endpoints/usp.selection', endpoint],
  ['POST', '/webhook-endpoints/usp.selection/test', endpoint],
  ['GET', '/deliveries'],
  ['GET', '/deliveries/balance'],
  ['POST', '/deliveries/replay', { status: ['failed'] }],
  ['GET', '/replays'],
  ['POST', '/explain', { placement: 'checkout' }],
  ['POST', '/privacy/erasure', { pub_user_id: 'u-1' }],
  ['POST', '/privacy/export', { pub_user_id: 'u-1' }],
] as const)(
  '%s %s responds with 404 to anyone else who names another publisher',
  async (method, path, body?: object) => {
    const other = await t.caller(await t.addPublisher('Other'));
    const foreign = await other.call(method, forShop(path), body);
    const unknown = await other.call(method, `${path}?publisher_id=999999`, body);
    expect(foreign.status).toBe(404);
    expect(foreign.body.error).toEqual(unknown.body.error);
  },
);

test('rejects a replay with a misspelt filter and names the field', async () => {
  const shop = await t.caller(publisherId);
  const refused = await shop.call('POST', '/deliveries/replay', { status: ['failed'], form: '2026-01-01' });
  expect(refused.status).toBe(400);
  expect(refused.body.error).toMatchObject({
    details: [{ path: '/form', message: 'This field is unknown. Check its spelling, or remove it.' }],
  });
  expect((await shop.call('GET', '/deliveries?statuss=failed')).status).toBe(400);
});
