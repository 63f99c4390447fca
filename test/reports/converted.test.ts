import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exchangeRatesOf } from '../../src/platform/exchange-rates.ts';
import { convertTotal } from '../../src/reports/converted.ts';
import { signInAs } from '../dashboard/support.ts';
import { callsOf } from '../drafts/support.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { addSums } from './support.ts';

const money = (currency: string, revenue: number, unbilled = 0) => ({
  currency,
  revenueMicros: revenue * 1e6,
  unbilledMicros: unbilled * 1e6,
});

describe('a converted total', () => {
  const rates = exchangeRatesOf('EUR', [
    { currency: 'USD', valid_from: '2026-11-01', rate: '1.25' },
    { currency: 'USD', valid_from: '2026-11-03', rate: '2' },
    { currency: 'JPY', valid_from: '2026-11-01', rate: '160' },
    { currency: 'KWD', valid_from: '2026-11-02', rate: '0.32' },
  ]);

  test('uses the rate of each day and states the latest rate date', () => {
    const days = [
      { day: '2026-11-01', money: [money('USD', 10), money('EUR', 1)] },
      { day: '2026-11-02', money: [money('JPY', 1600, 320), money('USD', 5)] },
      { day: '2026-11-04', money: [money('USD', 10), money('KWD', 0.032)] },
    ];
    const expected = { currency: 'EUR', revenue: 8 + 1 + 10 + 4 + 5 + 0.1, unbilled: 2, rates_as_of: '2026-11-03' };
    expect(convertTotal(days, rates, 'EUR')).toEqual(expected);
  });

  test('converts between two currencies through the base currency in either direction', () => {
    const days = [{ day: '2026-11-01', money: [money('USD', 1.25)] }];
    expect(convertTotal(days, rates, 'JPY')).toMatchObject({ currency: 'JPY', revenue: 160 });
  });

  test('keeps the smallest amounts of currencies with no and three decimals', () => {
    const days = [{ day: '2026-11-02', money: [money('KWD', 0.001), money('JPY', 1)] }];
    expect(convertTotal(days, rates, 'EUR')?.revenue).toBe(0.009375);
  });

  test('needs no rate for the reporting currency or for days without amounts', () => {
    const none = exchangeRatesOf(null, []);
    expect(convertTotal([{ day: '2026-11-01', money: [money('CHF', 3)] }], none, 'CHF')).toEqual({
      currency: 'CHF',
      revenue: 3,
      unbilled: 0,
      rates_as_of: null,
    });
    expect(convertTotal([], none, 'CHF')).toMatchObject({ revenue: 0 });
  });

  test.each([
    ['a currency without any rate', '2026-11-04', 'GBP'],
    ['a day before the first rate of its currency', '2026-11-01', 'KWD'],
    ['amounts of earlier releases in an unknown currency', '2026-11-04', 'XXX'],
  ])('is missing for %s', (_, day, currency) => {
    expect(convertTotal([{ day, money: [money('USD', 1), money(currency, 1)] }], rates, 'EUR')).toBeNull();
  });
});

describe("a report in a time zone other than the publisher's", () => {
  let t: TestApp;
  const nowMs = Date.UTC(2026, 10, 22, 14, 30);
  beforeAll(async () => {
    t = await createTestApp({ now: () => nowMs });
    await t.pool.query("update publishers set time_zone = 'UTC' where id = $1", [t.publisher.id]);
    await t.pool.query("select create_report_partitions('2026-11-01', '2026-11-30')");
    await t.deps.catalog.refresh();
    // 10 USD on the 20th and on the 21st (UTC). Both fall on the same day in Tokyo.
    const fact = { placement: 'checkout', offerId: 1, sessions: 10, clicks: 1, revenue_micros: 10_000_000 };
    await addSums(t, [
      { ...fact, at: new Date(Date.UTC(2026, 10, 20, 23)) },
      { ...fact, at: new Date(Date.UTC(2026, 10, 21, 1)) },
    ]);
    const rates = [
      { currency: 'USD', rate: 1, valid_from: '2026-11-20' },
      { currency: 'USD', rate: 2, valid_from: '2026-11-21' },
    ];
    const api = callsOf(t);
    expect((await api('PUT', 'exchange-rates', { base: 'EUR', rates })).status).toBe(200);
    await api('PATCH', `publishers/${t.publisher.id}`, { reporting_currency: 'EUR' });
    await t.deps.catalog.refresh();
  });
  afterAll(() => t?.close());

  const converted = async (query: string) => {
    const url = `/native/activity.json?api_key=${t.publisher.key}&from=2026-11-21&to=2026-11-21${query}`;
    const answer = await t.app.inject({ url });
    expect(answer.statusCode, answer.body).toBe(200);
    return answer.json().data.revenue_converted;
  };

  test("is converted at the rates of the publisher's days", async () => {
    expect(await converted('')).toMatchObject({ revenue: 5, rates_as_of: '2026-11-21' });
    for (const query of ['', '&aggregated_by=hour', '&group_by=placement', '&aggregated_by=month'])
      expect(await converted(`&timezone=Asia/Tokyo${query}`), query).toMatchObject({ revenue: 10 / 1 + 10 / 2 });
  });

  test('the explorer shows the total, its currency and the date of its rate', async () => {
    const analyst = await signInAs(t, 'analyst');
    const page = `/dashboard/p/${t.publisher.id}/reports?from=2026-11-20&to=2026-11-21&metrics=revenue`;
    const { body } = await analyst.get(page, { 'accept-language': 'en-GB' });
    expect(body.replaceAll(/\s+/g, ' ')).toMatch(/Revenue in the reporting currency: €15\.00 \(.*21 Nov 2026\)/);
    const other = await analyst.get(page.replace('metrics=revenue', 'metrics=clicks'));
    expect(other.body).not.toContain('reporting currency');
  });
});
