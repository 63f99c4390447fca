import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { openAs, signInAs } from '../../dashboard/support.ts';
import { closeContexts, openBrowser } from '../../support/browser.ts';
import { type Caller, createManagementApp, type ManagementApp, type Reply } from './support.ts';

let t: ManagementApp;
let me: Caller;
beforeAll(async () => {
  t = await createManagementApp();
});
afterAll(() => t?.close());
beforeEach(async () => {
  me = await t.caller(await t.addPublisher());
});

const send = (file: string | Buffer, query = ''): Promise<Reply> =>
  me.call('POST', `/exchange-rates/import${query}`, file, { 'content-type': 'text/csv' });
const put = (rates: object[], base = 'EUR') => me.call('PUT', '/exchange-rates', { base, rates });
const stored = async (): Promise<string[]> =>
  (
    (await me.call('GET', '/exchange-rates')).body.data.rates as {
      currency: string;
      rate: number;
      valid_from: string;
    }[]
  )
    .map(({ currency, rate, valid_from: day }) => `${currency} ${day} ${rate}`)
    .sort();
const errorOf = ({ body }: Reply) =>
  (body as unknown as { error: { code: string; message: string; details?: { path: string; message: string }[] } })
    .error;

const list = 'currency,rate,valid_from\nUSD,1.08,2026-11-20\nJPY,161.5,2026-11-20\nKWD,0.332,2026-11-20\n';

test('a dry run shows how a file is interpreted, and stores nothing', async () => {
  const { status, body } = await send(list, '?base=eur&dry_run=true');
  expect(status, JSON.stringify(body)).toBe(200);
  expect(body.data).toMatchObject({
    dry_run: true,
    base: 'EUR',
    changed: 3,
    removed: 0,
    separator: ',',
    header: true,
    rows: 3,
    bad: 0,
    sample: [{ values: { currency: 'USD', rate: '1.08', valid_from: '2026-11-20' } }, {}, {}],
  });
  expect(await stored()).toEqual([]);
});

test('rates in a file are added to the stored ones, and unchanged ones are counted', async () => {
  await put([
    { currency: 'USD', rate: 1.08, valid_from: '2026-11-20' },
    { currency: 'GBP', rate: 0.85, valid_from: '2026-11-19' },
  ]);
  const { body } = await send(list);
  expect(body.data).toMatchObject({ base: 'EUR', changed: 2, removed: 0, duplicates: 1 });
  expect(await stored()).toEqual([
    'GBP 2026-11-19 0.85',
    'JPY 2026-11-20 161.5',
    'KWD 2026-11-20 0.332',
    'USD 2026-11-20 1.08',
  ]);
  expect((await send(list, '?replace=true')).body.data).toMatchObject({ changed: 0, removed: 1, duplicates: 3 });
  expect(await stored()).toHaveLength(3);
});

test.each([
  ['a month in words and one column per currency', 'Date, USD, JPY, \n20 November 2026, 1.08, 161.5, \n'],
  ['a trailing comma and missing rates', 'Date,USD,JPY,CYP,\n2026-11-20,1.08,161.5,N/A,\n'],
  ['semicolons', 'Datum;Währung;Kurs\n2026-11-20;USD;1.08\n2026-11-20;JPY;161.5\n'],
  [
    'tabs, a byte order mark and CR line endings',
    '\uFEFFdate\tcurrency\trate\r2026-11-20\tUSD\t1.08\r2026-11-20\tJPY\t161.5\r',
  ],
  [
    'SDMX column names and a base currency column',
    'CURRENCY,CURRENCY_DENOM,TIME_PERIOD,OBS_VALUE\nUSD,EUR,2026-11-20,1.08\nJPY,EUR,2026-11-20,161.5\n',
  ],
])('a file with %s is read', async (_, file) => {
  const { status, body } = await send(file, '?base=EUR');
  expect(status, JSON.stringify(body)).toBe(200);
  expect(await stored()).toEqual(['JPY 2026-11-20 161.5', 'USD 2026-11-20 1.08']);
});

test('decimal commas are accepted only if the call specifies them, and thousands separators never', async () => {
  const file = 'currency;rate;valid_from\nUSD;1,085;2026-11-20\n';
  const refused = await send(file, '?base=EUR');
  expect(refused.status).toBe(400);
  expect(errorOf(refused).details).toEqual([
    {
      path: '/lines/2/rate',
      message: 'The rate contains a comma. Set the decimal separator to comma, or write a point.',
    },
  ]);
  expect((await send(file, '?base=EUR&decimal=comma')).status).toBe(200);
  expect(await stored()).toEqual(['USD 2026-11-20 1.085']);
  for (const rate of ['1.234,5', '"1,234.5"', '1 234,5', '1,2,3'])
    for (const decimal of ['point', 'comma'])
      expect((await send(`currency;rate;valid_from\nIDR;${rate};2026-11-20\n`, `?decimal=${decimal}`)).status).toBe(
        400,
      );
  expect(await stored()).toHaveLength(1);
});

test.each([
  ['an unknown currency', 'XXX,1.1,2026-11-20', 'currency'],
  ['the base currency', 'EUR,1,2026-11-20', 'currency'],
  ['a rate of zero', 'USD,0,2026-11-20', 'rate'],
  ['a negative rate', 'USD,-1.08,2026-11-20', 'rate'],
  ['a rate with an exponent', 'USD,1.08E+00,2026-11-20', 'rate'],
  ['a rate with more than 12 digits', 'USD,1.0812345678912,2026-11-20', 'rate'],
  ['no rate', 'USD,,2026-11-20', 'rate'],
  ['a currency symbol', 'USD,$1.08,2026-11-20', 'rate'],
  ['an ambiguous date', 'USD,1.08,01/02/2026', 'valid_from'],
  ['a date that does not exist', 'USD,1.08,2026-02-30', 'valid_from'],
  ['a two-digit year', 'USD,1.08,20-11-26', 'valid_from'],
])('a row with %s is rejected with its line, and nothing is stored', async (_, row, column) => {
  const answer = await send(`currency,rate,valid_from\nGBP,0.85,2026-11-20\n${row}\n`, '?base=EUR');
  expect(answer.status).toBe(400);
  expect(errorOf(answer).details?.[0]?.path).toBe(`/lines/3/${column}`);
  expect(await stored()).toEqual([]);
  const partial = await send(`currency,rate,valid_from\nGBP,0.85,2026-11-20\n${row}\n`, '?base=EUR&partial=true');
  expect(partial.body.data).toMatchObject({ changed: 1, rows: 2, bad: 1 });
  expect(await stored()).toEqual(['GBP 2026-11-20 0.85']);
});

test('two rates for the same currency and day are rejected unless they are equal', async () => {
  const twice = (rate: string) => `currency,rate,valid_from\nUSD,1.08,2026-11-20\nUSD,${rate},2026-11-20\n`;
  expect(errorOf(await send(twice('1.09'), '?base=EUR')).details).toEqual([
    { path: '/lines/3/rate', message: 'The rate differs from the one for the same day in line 2.' },
  ]);
  expect((await send(twice('1.080'), '?base=EUR')).body.data).toMatchObject({ changed: 1, duplicates: 1, bad: 0 });
});

test('the base currency is never guessed, and a new base replaces all rates or none', async () => {
  expect(errorOf(await send(list)).details).toEqual([
    { path: '/querystring/base', message: 'Enter the base currency. Each rate converts one unit of it.' },
  ]);
  await put([{ currency: 'EUR', rate: 0.92, valid_from: '2026-11-20' }], 'USD');
  expect(errorOf(await send(list, '?base=CHF')).details?.[0]?.path).toBe('/querystring/base');
  expect(await stored()).toEqual(['EUR 2026-11-20 0.92']);
  expect((await send(list, '?base=CHF&replace=true')).body.data).toMatchObject({ base: 'CHF', changed: 3, removed: 1 });
});

test.each([
  ['without a date column', 'currency,rate\nUSD,1.08\n'],
  ['without a rate column', 'date,comment\n2026-11-20,none\n'],
  ['with a currency column and a column per currency', 'date,currency,rate,USD\n2026-11-20,JPY,161,1.08\n'],
])('a file %s is rejected by its header', async (_, file) => {
  const answer = await send(file, '?base=EUR');
  expect([answer.status, errorOf(answer).code]).toEqual([400, 'unknown_header']);
});

test('rates that double or halve are stored with a warning that they may be inverted', async () => {
  const file = 'date,USD\n2026-11-19,1.08\n2026-11-20,0.45\n';
  const { body } = await send(file, '?base=EUR&dry_run=true');
  expect(body.data.warnings).toEqual([
    {
      code: 'rate_jumps',
      message: 'A rate is more than twice or less than half of the one before: USD 2026-11-20.',
      count: 1,
    },
  ]);
});

test('a publisher has at most 20,000 rates', async () => {
  const day = (at: number): string => new Date(Date.UTC(1990, 0, 1 + at)).toISOString().slice(0, 10);
  const rows = Array.from({ length: 10_001 }, (_, at) => `${day(at)},1.08,161`);
  const answer = await send(`date,USD,JPY\n${rows.join('\n')}\n`, '?base=EUR');
  expect([answer.status, errorOf(answer).message]).toEqual([
    400,
    expect.stringContaining('at most 20,000 exchange rates'),
  ]);
});

test('rates of another publisher are neither changed nor visible', async () => {
  const other = await t.caller(await t.addPublisher());
  await send(list, '?base=EUR');
  expect((await other.call('GET', '/exchange-rates')).body.data.rates).toEqual([]);
  const answer = await me.call('POST', `/exchange-rates/import?base=EUR&publisher_id=${other.publisherId}`, list, {
    'content-type': 'text/csv',
  });
  expect(answer.status).toBe(404);
});

test('an admin validates a file before importing it, in English and in German', async () => {
  const browser = await openBrowser();
  const url = await t.app.listen({ port: 0, host: '127.0.0.1' });
  try {
    const admin = await signInAs(t, 'admin', me.publisherId);
    const page = await openAs(browser, admin, url, `/dashboard/p/${me.publisherId}/settings/exchange-rates`);
    await page.getByText('No exchange rates yet').waitFor();
    const file = {
      name: 'kurse.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from('Datum;USD;JPY\n2026-11-20;1,08;161,5\n'),
    };
    await page.getByLabel('File with rates').setInputFiles(file);
    await page.getByLabel('Base currency').fill('eur');
    await page.getByLabel('Decimal separator').selectOption('comma');
    await page.getByRole('button', { name: 'Check file' }).click();
    await page.getByText('Base currency: EUR. 2 rates will be saved.').waitFor();
    expect(await stored()).toEqual([]);
    await page.getByRole('button', { name: /^Import/ }).click();
    await page.getByText('2 rates saved.').waitFor();
    expect(await stored()).toEqual(['JPY 2026-11-20 161.5', 'USD 2026-11-20 1.08']);
    await page.getByRole('link', { name: 'JPY' }).click();
    await page.getByRole('heading', { name: 'Exchange rates' }).waitFor();
    expect(await page.locator('table').innerText()).toContain('20 Nov 2026');
  } finally {
    await closeContexts(browser);
  }
  const analyst = await signInAs(t, 'analyst', me.publisherId);
  const german = await analyst.get(`/dashboard/p/${me.publisherId}/settings/exchange-rates`, {
    'accept-language': 'de',
  });
  expect(german.body).toContain('Aktuelle Kurse');
  expect(german.body).not.toContain('type="file"');
});
