import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readDecisionRecord } from '../../../src/offers/session-record.ts';
import { buildMmdb } from '../../support/mmdb.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

let t: TestApp;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perkwire-places-'));
  const geoipDb = join(folder, 'city.mmdb');
  const record = {
    country: { iso_code: 'US' },
    subdivisions: [{ iso_code: 'CA' }],
    city: { names: { en: 'Los "Angeles", \\' } },
  };
  await writeFile(geoipDb, buildMmdb('GeoLite2-City', [{ net: '198.41.0.0/16', record }]));
  t = await createTestApp({ config: { geoipDb } });
});
afterAll(async () => {
  await t.close();
  await rm(folder, { recursive: true, force: true });
});

const iphone =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 Version/18.1 Mobile/15E148 Safari/604.1';

async function post(body: object, query = '', headers: Record<string, string> = {}) {
  const answer = await t.app.inject({
    method: 'POST',
    url: `/native/v4/offers.json?api_key=demo-key${query}`,
    headers,
    payload: { placement: 'checkout', ...body },
  });
  return { status: answer.statusCode, body: answer.json() };
}

async function sessionOf(body: object, query = '', headers: Record<string, string> = {}) {
  const answer = await post(body, query, headers);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  const { rows } = await t.pool.query('select * from sessions where id = $1', [answer.body.data.session_id]);
  const [session] = rows;
  const { region = null, city = null, browser } = readDecisionRecord(session.decision).inputs;
  return { data: answer.body.data, session: { ...session, region, city, browser } };
}

describe('a session stores', () => {
  test("the user's location and device, but never the IP address", async () => {
    const { session } = await sessionOf({ ip: '198.41.7.7', ua: iphone });
    expect(session).toMatchObject({
      country: 'US',
      region: 'US-CA',
      city: 'Los "Angeles", \\',
      device: 'mobile',
      os: 'ios',
      browser: 'safari',
    });
    expect(JSON.stringify(session)).not.toContain('198.41');
  });

  test('the specified country, and a region and city only if they belong to it', async () => {
    expect((await sessionOf({ ip: '198.41.7.7', country: 'us' })).session).toMatchObject({
      country: 'US',
      region: 'US-CA',
    });
    expect((await sessionOf({ ip: '198.41.7.7' }, '&country=de')).session).toMatchObject({
      country: 'DE',
      region: null,
      city: null,
    });
  });

  test('no location for an IP address without one', async () => {
    for (const ip of ['10.0.0.1', 'nonsense', '198.51.100.1']) {
      expect((await sessionOf({ ip })).session).toMatchObject({ country: null, region: null, city: null });
    }
  });
});

describe('without consent', () => {
  const refusals: [string, object, Record<string, string>][] = [
    ['Sec-GPC: 1', {}, { 'sec-gpc': '1' }],
    ['consent "0"', { consent: '0' }, {}],
    ['consent 0', { consent: 0 }, {}],
    ['consent false', { consent: false }, {}],
    ['consent "false"', { consent: 'false' }, {}],
    ['Sec-GPC: 1, sent twice', {}, { 'sec-gpc': '1, 1' }],
    ['consent "False"', { consent: 'False' }, {}],
    ['consent "no"', { consent: 'no' }, {}],
    ['consent "denied"', { consent: 'denied' }, {}],
    ['denied Google Consent Mode', { consent: { ad_storage: 'denied' } }, {}],
    ['an unsupported consent object', { consent: { ad_storage: 'granted' } }, {}],
    ['consent [true]', { consent: [true] }, {}],
    ['consent 2', { consent: 2 }, {}],
    ['consent " "', { consent: ' ' }, {}],
    ['a TCF consent string', { consent: 'CPXxRfAPXxRfAAfKABENB-CgAAAAAAAAAAYgAAAAAAAA' }, {}],
  ];

  test.each(refusals)(
    '%s still returns offers, but neither uses nor stores identity or custom keys',
    async (_name, body, headers) => {
      const { data, session } = await sessionOf(
        { ad_fp: 'fp-1', pub_user_id: 'u-1', first_name: 'u-1', ...body },
        '',
        headers,
      );
      expect(data.count).toBe(3);
      expect(data.settings.enable_usp).toBe(false);
      expect(data.offers.map((offer: { save_for_later_url: unknown }) => offer.save_for_later_url)).toEqual([
        null,
        null,
        null,
      ]);
      expect(session).toMatchObject({ user_key: null, pub_user_id: null, usp: false, custom: null });
      expect(JSON.stringify(session)).not.toMatch(/fp-1|u-1/);
    },
  );

  test('consent that is given or omitted is never a custom attribute', async () => {
    for (const body of [
      {},
      { consent: '1' },
      { consent: true },
      { consent: '' },
      { consent: null },
      { consent: 1 },
      { consent: 'true' },
      { consent: 'yes' },
      { consent: 'granted' },
    ]) {
      const { session } = await sessionOf({ pub_user_id: 'u-1', ...body }, '', { 'sec-gpc': '0' });
      expect(session).toMatchObject({ pub_user_id: 'u-1', custom: null });
      expect(session.user_key).not.toBeNull();
    }
  });

  test('the request is still validated', async () => {
    expect((await post({ consent: '0', pub_user_id: 'ada@shop.example' })).body.error.code).toBe('pub_user_id_is_pii');
  });
});
