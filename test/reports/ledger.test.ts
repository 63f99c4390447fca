import { afterAll, beforeAll, expect, test } from 'vitest';
import { signInAs } from '../dashboard/support.ts';
import { callsOf } from '../drafts/support.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { clickIdOf, track } from '../tracking/conversions/support.ts';
import { call, type ShownOffer } from '../tracking/journey.ts';
import { differences, rollUpAll } from './support.ts';

/*
 * Random campaigns in currencies with no, two or three decimal places, whose events are sent through the public API.
 * The test records all payments in a separate ledger, which uses no product code.
 */

const seed = Number(process.env.TEST_SEED);
let state = seed;
/** Returns a random number from 0 to less than 1. */
const random = (): number => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return state / 2 ** 32;
};
const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;

/** Currencies that campaigns pay in, with their smallest unit in millionths. Payouts in IDR are in the millions. */
const units = { USD: 10_000, EUR: 1000, JPY: 1_000_000, KRW: 1_000_000, KWD: 1000, BHD: 1000, IDR: 1_000_000_000 };
type Currency = keyof typeof units;
const currencies = Object.keys(units) as Currency[];

type Kind = 'cpc' | 'cpm' | 'cpa';
type TestCampaign = { id: number; kind: Kind; currency: Currency; micros: bigint };

let t: TestApp;
const campaigns: TestCampaign[] = [];
/** Booked and unbilled amounts by currency, in millionths. */
const ledger = new Map<string, { revenue: bigint; unbilled: bigint }>();
function enter(currency: string, { revenue = 0n, unbilled = 0n }): void {
  const sum = ledger.get(currency) ?? { revenue: 0n, unbilled: 0n };
  ledger.set(currency, { revenue: sum.revenue + revenue, unbilled: sum.unbilled + unbilled });
}

const decimal = (micros: bigint): string => `${micros / 1_000_000n}.${String(micros % 1_000_000n).padStart(6, '0')}`;

/** Exchange rates in units per USD, as fractions. JPY, KRW, BHD and IDR have no rate. */
const rates: Partial<Record<Currency, [bigint, bigint]>> = { USD: [1n, 1n], EUR: [8n, 10n], KWD: [3n, 10n] };

async function convert({ currency, micros }: TestCampaign, clickId: string, txn: string): Promise<void> {
  const form = pick(['none', 'own', 'other'] as const);
  if (form === 'none') {
    expect((await track(t, { click_id: clickId, txn_id: txn })).statusCode).toBe(200);
    return enter(currency, { revenue: micros });
  }
  const payoutCurrency = form === 'own' ? currency : pick(currencies);
  const amount = BigInt(1 + Math.floor(random() * 500)) * BigInt(units[payoutCurrency]);
  const fields = { click_id: clickId, txn_id: txn, payout: decimal(amount), currency: payoutCurrency };
  const { statusCode, body } = await track(t, fields);
  expect(statusCode, body).toBe(200);
  expect((await track(t, fields)).json().message).toBe('duplicate');
  const [sold, bought] = [rates[payoutCurrency], rates[currency]];
  if (payoutCurrency === currency) enter(currency, { revenue: amount });
  else if (sold === undefined || bought === undefined) enter(payoutCurrency, { unbilled: amount });
  else {
    const [numerator, denominator] = [amount * bought[0] * sold[1], bought[1] * sold[0]];
    enter(currency, { revenue: (2n * numerator + denominator) / (2n * denominator) });
  }
  // A void reverses the amount of its conversion.
  if (payoutCurrency !== currency || random() > 0.3) return;
  expect((await track(t, { click_id: clickId, txn_id: txn, void: '1' })).statusCode).toBe(200);
  enter(currency, { revenue: -amount });
}

async function visit(campaign: TestCampaign, at: number): Promise<void> {
  const answer = await t.app.inject({
    method: 'POST',
    url: `/native/v4/offers.json?api_key=${t.publisher.key}&campaignId=${campaign.id}&loyaltyboost=1`,
    payload: {
      placement: pick(['checkout', 'cart', 'done']),
      country: pick(['DE', 'JP', 'KW']),
      plan: pick(['a', 'b']),
    },
  });
  const [offer] = answer.json().data.offers as ShownOffer[];
  expect(offer?.campaign_id, answer.body).toBe(campaign.id);
  const { pixel, click_url: click } = offer as ShownOffer;
  for (let repeat = 0; repeat < 2; repeat += 1) expect((await call(t, pixel)).statusCode).toBe(200);
  if (campaign.kind === 'cpm') enter(campaign.currency, { revenue: campaign.micros / 1000n });
  if (random() < 0.3) return;
  await t.pool.query("update events set at = at - interval '5 seconds' where kind = 'impression'");
  const clickId = await clickIdOf(t, click);
  if (campaign.kind === 'cpc') enter(campaign.currency, { revenue: campaign.micros });
  if (campaign.kind !== 'cpa') return;
  for (let times = Math.floor(random() * 3); times > 0; times -= 1) await convert(campaign, clickId, `${at}-${times}`);
}

beforeAll(async () => {
  t = await createTestApp();
  const { rows } = await t.pool.query<{ id: number }>(
    'select id from campaigns where id in (select campaign_id from offers) order by id',
  );
  for (const [at, { id }] of rows.entries()) {
    const currency = currencies[at % currencies.length] as Currency;
    // A thousandth of the amount is a whole number of millionths, so that an impression (CPM) is paid exactly.
    const micros = BigInt(1 + Math.floor(random() * 900)) * BigInt(units[currency]);
    const campaign: TestCampaign = { id, kind: pick(['cpc', 'cpm', 'cpa', 'cpa']), currency, micros };
    campaigns.push(campaign);
    await t.pool.query(
      "update campaigns set rules = '{}', payout_kind = $2, payout_amount = $3, payout_currency = $4 where id = $1",
      [id, campaign.kind, decimal(micros), currency],
    );
  }
  const stored = [
    { currency: 'EUR', rate: 0.8, valid_from: '2020-01-01' },
    { currency: 'KWD', rate: 0.3, valid_from: '2020-01-01' },
  ];
  expect((await callsOf(t)('PUT', 'exchange-rates', { base: 'USD', rates: stored })).status).toBe(200);
  await t.deps.catalog.refresh();
  for (let at = 0; at < 60; at += 1) await visit(campaigns[at % campaigns.length] as TestCampaign, at);
  await rollUpAll(t);
});
afterAll(() => t?.close());

type Money = { currency: string; revenue: number; unbilled: number };
const expected = (): Money[] =>
  [...ledger]
    .filter(([, { revenue, unbilled }]) => revenue !== 0n || unbilled !== 0n)
    .map(([currency, { revenue, unbilled }]) => ({
      currency,
      revenue: Number(revenue) / 1e6,
      unbilled: Number(unbilled) / 1e6,
    }))
    .sort((a, b) => (a.currency < b.currency ? -1 : 1));

/** Adds up amounts by currency, exact to the millionth. Omits currencies without amounts. */
function sumOf(amounts: readonly Money[]): Money[] {
  const sums = new Map<string, [number, number]>();
  for (const { currency, revenue, unbilled } of amounts) {
    const [paid, unpaid] = sums.get(currency) ?? [0, 0];
    sums.set(currency, [paid + Math.round(revenue * 1e6), unpaid + Math.round(unbilled * 1e6)]);
  }
  return [...sums]
    .filter(([, [paid, unpaid]]) => paid !== 0 || unpaid !== 0)
    .map(([currency, [paid, unpaid]]) => ({ currency, revenue: paid / 1e6, unbilled: unpaid / 1e6 }))
    .sort((a, b) => (a.currency < b.currency ? -1 : 1));
}

const today = () => new Date().toISOString().slice(0, 10);
const report = (query: string) =>
  t.app.inject({
    url: `/native/activity.json?api_key=${t.publisher.key}&from=${today()}&to=${today()}${query}`,
  });

/** Returns the amounts in the rows of a CSV file. */
function csvMoney(body: string): Money[] {
  const [head = '', ...lines] = body.trim().split('\r\n');
  const names = head.split(',');
  const at = (cells: readonly string[], name: string): string => cells.at(names.indexOf(name) - names.length) ?? '';
  return lines
    .map((line) => line.split(','))
    .map((cells) => ({
      currency: at(cells, 'currency'),
      revenue: Number(at(cells, 'revenue')),
      unbilled: Number(at(cells, 'unbilled')),
    }));
}

test('the test ledger has several currencies and unbilled amounts', () => {
  expect(expected().length).toBeGreaterThan(3);
});

test.each(['', 'placement', 'campaign', 'offer', 'country', 'device', 'plan', 'placement,campaign,country'])(
  'API and CSV totals by currency, grouped by "%s", equal the ledger',
  async (groupBy) => {
    for (const by of ['day', 'hour', 'month']) {
      const query = `${groupBy === '' ? '' : `&group_by=${groupBy}`}&aggregated_by=${by}`;
      const { data } = (await report(query)).json();
      const rows = data.rows as { revenue_by_currency: Money[] }[];
      expect(sumOf(rows.flatMap((row) => row.revenue_by_currency)), `${seed} ${query}`).toEqual(expected());
      expect(data.totals.revenue_by_currency, `${seed} ${query}`).toEqual(expected());
      expect(sumOf(csvMoney((await report(`${query}&format=csv`)).body)), `${seed} ${query} csv`).toEqual(expected());
    }
  },
);

test('the overview and the explorer show the ledger amounts by currency', async () => {
  const analyst = await signInAs(t, 'analyst');
  const path = `/dashboard/p/${t.publisher.id}`;
  const write = ({ currency, revenue }: Money): string => {
    const usual = new Intl.NumberFormat('en-GB', { style: 'currency', currency });
    // Amounts that would round to 0 keep two digits.
    const isHidden = revenue < 0.5 * 10 ** -(usual.resolvedOptions().maximumFractionDigits ?? 0);
    return isHidden
      ? new Intl.NumberFormat('en-GB', { style: 'currency', currency, maximumSignificantDigits: 2 }).format(revenue)
      : usual.format(revenue);
  };
  // The pages omit currencies without revenue.
  const withRevenue = expected().filter(({ revenue }) => revenue !== 0);
  const whole = withRevenue.map(write).join(' + ');
  for (const page of ['/overview?days=7', '/reports?range=today&metrics=revenue,unbilled']) {
    const { body } = await analyst.get(`${path}${page}`, { 'accept-language': 'en-GB' });
    const texts = body.replaceAll('&nbsp;', '\u00a0').replaceAll(/<a class="opens-rows"[^>]*>([^<]*)<\/a>/g, '$1');
    expect(texts, `${seed} ${page}`).toContain(`<strong>${whole}</strong>`);
  }
  for (const by of ['time', 'campaign', 'advertiser', 'placement']) {
    const { body } = await analyst.get(
      `${path}/reports.csv?range=today&by=${by}&metrics=revenue,unbilled&compare=none`,
    );
    expect(sumOf(csvMoney(body)), `${seed} ${by}`).toEqual(expected());
  }
});

test('advertiser reports add up to the ledger', async () => {
  const api = callsOf(t);
  const { rows } = await t.pool.query<{ id: number }>('select id from advertisers');
  for (const by of ['campaign', 'date', 'publisher']) {
    const amounts: Money[] = [];
    for (const { id } of rows) {
      const { body } = await api('GET', `advertisers/${id}/report?by=${by}&from=${today()}&to=${today()}`);
      for (const row of body.data.rows as { currency: string; spent: number; unbilled: number }[])
        amounts.push({ currency: row.currency, revenue: row.spent, unbilled: row.unbilled });
    }
    expect(sumOf(amounts), `${seed} ${by}`).toEqual(expected());
  }
});

test('the stored totals equal those of the raw rows', async () => {
  expect(await differences(t)).toEqual([]);
});

test('the converted total equals the ledger, and is null while a currency has no rate', async () => {
  const api = callsOf(t);
  await api('PATCH', `publishers/${t.publisher.id}`, { reporting_currency: 'EUR' });
  await t.deps.catalog.refresh();
  const missing = expected().some(({ currency }) => !(currency in rates));
  if (missing) expect((await report('')).json().data.revenue_converted).toBeNull();
  // Exchange rates in units per USD.
  const all = { EUR: 0.8, KWD: 0.3, BHD: 0.25, JPY: 160, KRW: 1280, IDR: 16_000 };
  const stored = Object.entries(all).map(([currency, rate]) => ({ currency, rate, valid_from: '2020-01-01' }));
  expect((await api('PUT', 'exchange-rates', { base: 'USD', rates: stored })).status).toBe(200);
  const total = (name: 'revenue' | 'unbilled') =>
    expected().reduce((sum, row) => sum + (row[name] / ({ USD: 1, ...all }[row.currency] ?? Number.NaN)) * 0.8, 0);
  const { revenue_converted: converted } = (await report('&group_by=campaign')).json().data;
  expect(converted).toMatchObject({ currency: 'EUR', rates_as_of: '2020-01-01' });
  expect(converted.revenue).toBeCloseTo(total('revenue'), 3);
  expect(converted.unbilled).toBeCloseTo(total('unbilled'), 3);
});
