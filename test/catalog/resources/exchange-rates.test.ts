import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { exchangeMicros, exchangeOn } from '../../../src/platform/exchange-rates.ts';
import { dayOf } from '../../../src/platform/lib/time.ts';
import { type Caller, createManagementModules, type ManagementModules, type Reply } from './support.ts';

let t: ManagementModules;
let me: Caller;
beforeAll(async () => {
  t = await createManagementModules(['accounts']);
});
afterAll(() => t?.close());
beforeEach(async () => {
  me = await t.caller(await t.addPublisher());
});

const path = '/exchange-rates';
const usd = { currency: 'USD', rate: 1.08, valid_from: '2026-01-01' };
const details = ({ body }: Reply) =>
  (body as unknown as { error: { details: { path: string; message: string }[] } }).error.details;

test('rates are stored, listed by currency with the latest first, and replaced as a whole', async () => {
  expect((await me.call('GET', path)).body.data).toEqual({
    publisher_id: me.publisherId,
    base: null,
    reporting_currency: null,
    rates: [],
  });
  const later = { currency: 'usd', rate: '1.1', valid_from: '2026-02-01' };
  const small = { currency: 'JPY', rate: 0.000000012345, valid_from: '2026-02-01' };
  const put = await me.call('PUT', path, { base: 'eur', rates: [usd, small, later] });
  expect([put.status, put.body.data]).toEqual([
    200,
    {
      publisher_id: me.publisherId,
      base: 'EUR',
      reporting_currency: null,
      rates: [small, { currency: 'USD', rate: 1.1, valid_from: '2026-02-01' }, usd],
    },
  ]);
  expect((await me.call('GET', path)).body.data).toEqual(put.body.data);
  const again = await me.call('PUT', path, { base: 'EUR', rates: [{ ...usd, rate: 1.09 }] });
  expect(again.body.data.rates).toEqual([{ ...usd, rate: 1.09 }]);
  const { body } = await me.call('GET', '/audit?resource=exchange-rates');
  expect(body.data).toEqual([
    expect.objectContaining({
      changes: expect.objectContaining({
        'USD 2026-01-01': { old: 1.08, new: 1.09 },
        'USD 2026-02-01': { old: 1.1, new: null },
        rates: { old: 3, new: 1 },
      }),
    }),
    expect.objectContaining({ changes: expect.objectContaining({ base: { old: null, new: 'EUR' } }) }),
  ]);
});

test('rates are served from memory as soon as the call has returned, and by other processes', async () => {
  const today = dayOf(t.deps.now());
  const dated = (valid_from: string, rate: number) => ({ currency: 'USD', rate, valid_from });
  await me.call('PUT', path, {
    base: 'EUR',
    rates: [dated('2001-01-01', 3), dated('2001-01-02', 2), dated('2199-01-01', 4)],
  });
  const publisher = t.deps.catalog.current().publishers.get(me.publisherId);
  const rates = publisher?.exchangeRates;
  const exchange = rates && exchangeOn(rates, 'USD', 'EUR', today);
  expect(exchange && exchangeMicros(10_000_000n, exchange)).toBe(5_000_000n);
  expect(rates?.byCurrency.get('USD')).toHaveLength(2); // past rates are not kept in memory
});

test('all invalid rates are reported, and nothing is changed', async () => {
  await me.call('PUT', path, { base: 'EUR', rates: [usd] });
  const wrong = [
    { ...usd, currency: 'EUR' },
    { ...usd, currency: 'XXX' },
    { ...usd, rate: 0 },
    { ...usd, rate: -1 },
    { ...usd, rate: '1,08' },
    { ...usd, rate: '1.0e3' },
    { ...usd, rate: 1.2345678901234 },
    { ...usd, rate: 1e21 },
    { ...usd, valid_from: '2026-02-29' },
    usd,
  ];
  const reply = await me.call('PUT', path, { base: 'EUR', rates: [usd, ...wrong] });
  expect([reply.status, details(reply).map(({ path }) => path)]).toEqual([
    400,
    [
      ...['/rates/1/currency', '/rates/2/currency'],
      ...[3, 4, 5, 6, 7, 8].map((at) => `/rates/${at}/rate`),
      ...['/rates/9/valid_from', '/rates/10/currency'],
    ],
  ]);
  for (const body of [
    {},
    { base: 'EUR' },
    { base: 'EURO', rates: [] },
    { base: 'ABC', rates: [] },
    { base: 'EUR', rates: [{ ...usd, note: 1 }] },
    { base: 'EUR', rates: [null] },
    { base: 'EUR', rates: [{ ...usd, valid_from: '01.02.2026' }] },
    { base: 'EUR', rates: Array.from({ length: 3001 }, () => usd) },
  ])
    expect((await me.call('PUT', path, body)).status, JSON.stringify(body).slice(0, 80)).toBe(400);
  expect((await me.call('GET', path)).body.data.rates).toEqual([usd]);
});

test('a change needs the current ETag and the permission for settings', async () => {
  const { headers } = await me.call('GET', path);
  const match = { 'if-match': String(headers.etag) };
  expect((await me.call('PUT', path, { base: 'EUR', rates: [usd] }, match)).status).toBe(200);
  expect((await me.call('PUT', path, { base: 'USD', rates: [] }, match)).status).toBe(412);
  const reader = await t.caller(me.publisherId, ['reports']);
  expect((await reader.call('GET', path)).status).toBe(403);
  expect((await reader.call('PUT', path, { base: 'EUR', rates: [] })).status).toBe(403);
});

test("a publisher cannot see or change another publisher's rates", async () => {
  const other = await t.caller(await t.addPublisher());
  await me.call('PUT', path, { base: 'EUR', rates: [usd] });
  expect((await other.call('GET', path)).body.data).toMatchObject({ base: null, rates: [] });
  const foreign = await other.call('PUT', `${path}?publisher_id=${me.publisherId}`, { base: 'GBP', rates: [] });
  expect(foreign.status).toBe(404);
  expect((await me.call('GET', path)).body.data).toMatchObject({ base: 'EUR', rates: [usd] });
});

test('the reporting currency of a publisher is a currency or null', async () => {
  const publisher = `/publishers/${me.publisherId}`;
  expect((await me.call('GET', publisher)).body.data.reporting_currency).toBeNull();
  for (const wrong of ['eur', 'EURO', 'XXX', ''])
    expect((await me.call('PATCH', publisher, { reporting_currency: wrong })).status, wrong).toBe(400);
  expect((await me.call('PATCH', publisher, { reporting_currency: 'JPY' })).status).toBe(200);
  expect((await me.call('GET', path)).body.data.reporting_currency).toBe('JPY');
  expect(t.deps.catalog.current().publishers.get(me.publisherId)?.reportingCurrency).toBe('JPY');
});
