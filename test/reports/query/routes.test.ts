import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Publisher } from '../../../src/catalog/types.ts';
import { hashKey } from '../../../src/platform/http/auth.ts';
import { dayMs, dayOf } from '../../../src/platform/lib/time.ts';
import { readActivity } from '../../../src/reports/query/request.ts';
import { waitedForLocksSql } from '../../support/locks.ts';
import { portOf } from '../../support/request.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { call, fetchOffers, googlebot } from '../../tracking/journey.ts';
import { rollUpAll } from '../support.ts';

const formula = '=HYPERLINK("http://evil.example";"x")';
const today = dayOf(Date.now());
const startedAtMs = Date.now();
let testApp: TestApp;

beforeAll(async () => {
  testApp = await createTestApp();
  for (const [placement, plan] of [
    ['checkout', 'gold'],
    ['checkout', 'silver, "plus"'],
    ['cart', formula],
  ] as const) {
    const { offers } = await fetchOffers(testApp, {
      placement,
      plan,
      list: ['a'],
      date: 'monday',
      revenue: 'high',
      country: 'DE',
    });
    for (const offer of offers) await call(testApp, offer.pixel);
  }
  const keys: [string, string][] = [
    ['no-reports', '{ads/offers}'],
    ['reports', '{reports}'],
  ];
  for (const [key, permissions] of keys)
    await testApp.pool.query(
      `insert into api_keys (publisher_id, name, key_hash, permissions) values ($1, 'k', decode($3, 'hex'), $2)`,
      [testApp.publisher.id, permissions, hashKey(key)],
    );
  await testApp.pool.query("insert into publishers (name, sdk_id) values ('Other', 'ffffffffffffffff')");
  await testApp.pool.query(
    `insert into api_keys (publisher_id, name, key_hash, permissions)
    select id, 'k', decode($1, 'hex'), '{reports}' from publishers where name = 'Other'`,
    [hashKey('other')],
  );
  await testApp.deps.catalog.refresh();
  await rollUpAll(testApp);
});
afterAll(() => testApp.close());

const ask = (parameters: Record<string, string>, headers: Record<string, string> = {}, key = 'reports') =>
  testApp.app.inject({
    url: `/native/activity.json?${new URLSearchParams({ api_key: key, from: today, to: today, ...parameters })}`,
    headers,
  });

test('200: rows by day and dimension have rates, and totals count each session once', async () => {
  const answer = await ask({ group_by: 'placement' });
  expect(answer.statusCode, answer.body).toBe(200);
  expect(answer.headers['cache-control']).toBe('no-store');
  const { rows, totals, ...rest } = answer.json().data;
  expect(rest).toEqual({
    from: today,
    to: today,
    time_zone: 'UTC',
    aggregated_by: 'day',
    group_by: ['placement'],
    currency: 'USD',
    revenue_by_currency: [],
  });
  const zero = {
    currency: 'USD',
    revenue_by_currency: [],
    clicks: 0,
    no_thanks: 0,
    closes: 0,
    own_events: 0,
    saves: 0,
    selections: 0,
    conversions: 0,
    revenue: 0,
    unbilled: 0,
    ctr: 0,
    cvr: 0,
    rpm: 0,
  };
  expect(rows).toEqual([
    { date: today, placement: 'cart', sessions: 1, filled_sessions: 1, impressions: 3, fill_rate: 1, ...zero },
    { date: today, placement: 'checkout', sessions: 2, filled_sessions: 2, impressions: 6, fill_rate: 1, ...zero },
  ]);
  expect(totals).toMatchObject({ sessions: 3, impressions: 9 });
  expect((await ask({ group_by: 'offer' })).json().data.totals).toMatchObject({ sessions: 3, impressions: 9 });
});

test('200: alternative parameter names mean the same', async () => {
  const get = async (query: string) =>
    (await testApp.app.inject({ url: `/native/activity.json?api_key=reports&${query}` })).json().data;
  const plain = await get(`from=${today}&to=${today}`);
  expect(plain.totals.sessions).toBe(3);
  expect(await get(`start_date=${today}&end_date=${today}`)).toEqual(plain);
  expect(await get(`start_date=${today}&end_date=${today}&group_by=date&timezone=UTC&format=json`)).toEqual(plain);
  const grouped = await get(`from=${today}&to=${today}&group_by=date,placement`);
  expect(grouped.group_by).toEqual(['placement']);
  expect(grouped.rows).toHaveLength(2);
});

test("200: days and hours use a time zone other than the publisher's, at any offset", async () => {
  const whole = { from: dayOf(Date.now() - dayMs), to: dayOf(Date.now() + dayMs) };
  for (const timezone of ['Pacific/Kiritimati', 'America/New_York', 'Asia/Kolkata'])
    for (const group_by of ['', 'placement', 'plan', 'placement,country,device'])
      for (const aggregated_by of ['day', 'hour']) {
        const answer = await ask({ ...whole, timezone, group_by, aggregated_by });
        expect(answer.statusCode, answer.body).toBe(200);
        const { time_zone, rows, totals } = answer.json().data;
        expect([time_zone, totals.sessions, totals.impressions]).toEqual([timezone, 3, 9]);
        const local = new Intl.DateTimeFormat('en-CA', { timeZone: timezone }).format(startedAtMs);
        expect(rows.map(({ date }: { date: string }) => date)).toContain(local);
        const offset = {
          'Pacific/Kiritimati': /\+14:00$/,
          'America/New_York': /-0[45]:00$/,
          'Asia/Kolkata': /\+05:30$/,
        };
        if (aggregated_by === 'hour') expect(rows[0].hour).toMatch(offset[timezone as keyof typeof offset]);
      }
});

test.each(['Mars/Olympus', '+05:30', "UTC'; drop table x", 'x'.repeat(300)])(
  '400: %s is not a time zone',
  async (timezone) => {
    const answer = await ask({ timezone });
    expect([answer.statusCode, answer.json().error.details[0].path]).toEqual([400, '/timezone']);
  },
);

test('200: hourly rows have the UTC offset of the time zone', async () => {
  const { rows } = (await ask({ aggregated_by: 'hour' })).json().data;
  expect(rows).toHaveLength(1);
  expect(rows[0]).toMatchObject({
    date: today,
    hour: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:00:00Z$/),
    sessions: 3,
  });
});

test('200: a custom attribute with the name of a column appears in addition to that column', async () => {
  for (const [key, value, name] of [
    ['date', 'monday', 'custom.date'],
    ['revenue', 'high', 'revenue'],
  ] as const) {
    const { group_by, rows } = (await ask({ group_by: name })).json().data;
    expect(group_by).toEqual([`custom.${key}`]);
    expect(rows).toEqual([expect.objectContaining({ date: today, revenue: 0, sessions: 3, [`custom.${key}`]: value })]);
    expect((await ask({ group_by: name, format: 'csv' })).body).toMatch(new RegExp(`^date,custom\\.${key},sessions,`));
  }
});

test('200: a custom attribute is a dimension and a filter, by its name or as custom.NAME', async () => {
  const values = async (parameters: Record<string, string>, column: string) =>
    (await ask(parameters)).json().data.rows.map((row: Record<string, unknown>) => [row[column], row.sessions]);
  const all = [
    [formula, 1],
    ['gold', 1],
    ['silver, "plus"', 1],
  ];
  expect(await values({ group_by: 'plan' }, 'plan')).toEqual(all);
  expect(await values({ group_by: 'custom.plan' }, 'custom.plan')).toEqual(all);
  expect(await values({ group_by: 'plan', 'custom.plan': 'gold,none' }, 'plan')).toEqual([['gold', 1]]);
  expect(await values({ group_by: 'placement', plan: 'gold' }, 'placement')).toEqual([['checkout', 1]]);
  expect(await values({ group_by: 'plan,placement', placement: 'cart' }, 'plan')).toEqual([[formula, 1]]);
  expect(await values({ group_by: 'custom.never_sent' }, 'custom.never_sent')).toEqual([]);
});

test('200: filters accept lists in any letter case, and `unknown`', async () => {
  const sessions = async (parameters: Record<string, string>) => (await ask(parameters)).json().data.totals.sessions;
  expect(await sessions({ country: 'de' })).toBe(3);
  expect(await sessions({ country: 'unknown' })).toBe(0);
  expect(await sessions({ placement: 'Cart, nowhere' })).toBe(1);
  expect(await sessions({ offer: '999999999', campaign: '1' })).toBe(0);
});

test('200: a session of several campaigns or offers counts once, as in the raw rows, or is unknown', async () => {
  const { rows: raw } = await testApp.pool.query<{ campaign: number[]; offer: number[] }>(
    'select campaign_ids as campaign, offer_ids as offer from sessions where publisher_id = $1',
    [testApp.publisher.id],
  );
  const countedCases: string[] = [];
  for (const name of ['campaign', 'offer'] as const) {
    const ids = [...new Set(raw.flatMap((session) => session[name]))];
    for (const selectedIds of [...ids.map((id) => [id]), ids.slice(0, 2), ids])
      for (const group_by of ['', 'placement', name, 'placement,country,device']) {
        const { rows, totals } = (await ask({ [name]: selectedIds.join(), group_by })).json().data;
        const sessions = raw.filter((session) => session[name].some((id) => selectedIds.includes(id))).length;
        const what = `${name} ${selectedIds} by ${group_by}`;
        expect([sessions, null], what).toContain(totals.sessions);
        if (totals.sessions === sessions) countedCases.push(what);
        const isCounted = selectedIds.length === 1;
        expect(totals, what).toMatchObject(isCounted ? { sessions, fill_rate: 1 } : { sessions: null, rpm: null });
        const isRowCounted = isCounted || group_by === name;
        for (const row of rows) expect(row.sessions === null, what).toBe(!isRowCounted);
      }
  }
  expect(countedCases.length).toBeGreaterThan(0);
  const csv = await ask({ campaign: raw[0]?.campaign.join() ?? '', format: 'csv' });
  expect(csv.body.split('\r\n')[1]).toMatch(/^[0-9-]+,,,/);
});

test('CSV is selected by format or Accept, is quoted by RFC 4180 and contains no formulas', async () => {
  const csv = await ask({ group_by: 'plan', format: 'csv' });
  expect(csv.headers['content-type']).toBe('text/csv; charset=utf-8');
  expect(csv.headers['content-disposition']).toBe(`attachment; filename="activity-${today}-${today}.csv"`);
  const lines = csv.body.split('\r\n');
  expect(lines[0]).toBe(
    'date,plan,sessions,filled_sessions,impressions,clicks,no_thanks,closes,saves,selections,own_events,' +
      'conversions,revenue,unbilled,ctr,cvr,rpm,fill_rate,currency',
  );
  expect(lines[1]).toBe(`${today},"'=HYPERLINK(""http://evil.example"";""x"")",1,1,3,0,0,0,0,0,0,0,0,0,0,0,0,1,USD`);
  expect(lines[3]).toBe(`${today},"silver, ""plus""",1,1,3,0,0,0,0,0,0,0,0,0,0,0,0,1,USD`);
  expect(lines[4]).toBe('');
  expect((await ask({}, { accept: 'text/csv' })).headers['content-type']).toContain('text/csv');
  expect((await ask({}, { accept: 'text/csv, application/json' })).headers['content-type']).toContain(
    'application/json',
  );
});

test('503 with retry-after: raw-row reports exceed their queue, which delays no other reports', async () => {
  const holder = await testApp.pool.connect();
  await holder.query('begin; lock table bookings in access exclusive mode');
  const statuses: number[] = [];
  const raw = Array.from({ length: 18 }, () =>
    ask({ group_by: 'placement,country,device', aggregated_by: 'hour' }).then((answer) => {
      statuses.push(answer.statusCode);
      return answer;
    }),
  );
  try {
    await expect.poll(() => statuses).toEqual([503]);
    expect((await ask({ group_by: 'placement,country,device' })).json().data.rows).toHaveLength(2);
  } finally {
    await holder.query('rollback');
    holder.release();
  }
  const answers = await Promise.all(raw);
  expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([...Array.from({ length: 17 }, () => 200), 503]);
  expect(answers.find(({ statusCode }) => statusCode === 503)?.headers['retry-after']).toBe('1');
  expect(answers[0]?.json().data.rows).toHaveLength(2);
});

const rawReport = { group_by: 'placement,country,device', aggregated_by: 'hour' };
const readers = `${waitedForLocksSql} and relation = 'bookings'::regclass`;

test("a publisher's many raw-row reports do not delay another publisher", async () => {
  const holder = await testApp.pool.connect();
  await holder.query('begin; lock table bookings in access exclusive mode');
  const flood = Array.from({ length: 10 }, () => ask(rawReport));
  try {
    await expect.poll(async () => (await holder.query(readers)).rowCount).toBe(1);
    const other = ask(rawReport, {}, 'other');
    await expect.poll(async () => (await holder.query(readers)).rowCount).toBe(2);
    await holder.query('rollback');
    expect((await other).statusCode).toBe(200);
  } finally {
    await holder.query('rollback');
    holder.release();
  }
  expect((await Promise.all(flood)).map(({ statusCode }) => statusCode)).toEqual(Array.from({ length: 10 }, () => 200));
});

test('a running or queued report is cancelled when its client disconnects', async () => {
  const url = new URL(`http://127.0.0.1:${await portOf(testApp.app)}`);
  url.pathname = '/native/activity.json';
  url.search = String(new URLSearchParams({ api_key: 'reports', from: today, to: today, ...rawReport }));
  const holder = await testApp.pool.connect();
  await holder.query('begin; lock table bookings in access exclusive mode');
  const reading = async () => (await holder.query(readers)).rowCount;
  const clients = [0, 1].map(() => new AbortController());
  const [counted, waiting] = clients.map(({ signal }) => fetch(url, { signal }).catch((err: Error) => err.name));
  try {
    await expect.poll(reading).toBe(1);
    clients[1]?.abort();
    expect(await waiting).toBe('AbortError');
    expect(await reading()).toBe(1);
    clients[0]?.abort();
    expect(await counted).toBe('AbortError');
    await expect.poll(reading).toBe(0);
    const next = ask(rawReport);
    await expect.poll(reading).toBe(1);
    await holder.query('rollback');
    expect((await next).statusCode).toBe(200);
  } finally {
    await holder.query('rollback');
    holder.release();
  }
});

test('200: the totals of a custom attribute include all sessions in any time zone', async () => {
  const whole = { from: dayOf(Date.now() - dayMs), to: dayOf(Date.now() + dayMs), group_by: 'custom.never_sent' };
  for (const timezone of ['UTC', 'Asia/Kolkata']) {
    const { rows, totals } = (await ask({ ...whole, timezone })).json().data;
    expect([rows, totals.sessions, totals.impressions], timezone).toEqual([[], 3, 9]);
  }
});

test('the default range is yesterday, even at the end of a 25-hour day', async () => {
  const nowMs = Date.parse('2026-10-25T23:30:00+01:00');
  const publisher = { id: 1, timeZone: 'Europe/Berlin' } as Publisher;
  const { query } = await readActivity({}, { publisher, nowMs, hasKey: async () => false, resources: null });
  expect([query.from, query.to]).toEqual(['2026-10-24', '2026-10-24']);

  const answer = await testApp.app.inject({ url: '/native/activity.json?api_key=reports' });
  const yesterday = dayOf(Date.now() - 86_400_000);
  expect(answer.json().data).toMatchObject({ from: yesterday, to: yesterday, rows: [] });
});

test('filters by custom attributes match sessions with all of them, and none if one was never sent', async () => {
  const sessions = async (parameters: Record<string, string>): Promise<number> => {
    const answer = await ask(parameters);
    expect(answer.statusCode, answer.body).toBe(200);
    const { rows, totals } = answer.json().data;
    expect(rows.length > 0).toBe(totals.sessions > 0);
    return totals.sessions;
  };
  expect(await sessions({ plan: 'gold', 'custom.revenue': 'high' })).toBe(1);
  expect(await sessions({ 'custom.revenue': 'high', 'custom.date': 'monday' })).toBe(3);
  expect(await sessions({ plan: 'gold', 'custom.revenue': 'low' })).toBe(0);
  expect(await sessions({ group_by: 'plan', 'custom.revenue': 'high', placement: 'cart' })).toBe(1);
  expect(await sessions({ group_by: 'placement', plan: 'gold', 'custom.revenue': 'high' })).toBe(1);
  expect(await sessions({ colour: 'red' })).toBe(0);
  expect(await sessions({ plan: 'gold', colour: 'red' })).toBe(0);
  expect(await sessions({ plan: '' })).toBe(3);
});

test('weeks and months are totals of their days, listed by their first day', async () => {
  const from = dayOf(Date.now() - 60 * dayMs);
  for (const group_by of ['', 'placement', 'plan', 'placement,country,device'])
    for (const aggregated_by of ['week', 'month']) {
      const answer = await ask({ from, group_by, aggregated_by });
      expect(answer.statusCode, answer.body).toBe(200);
      const { rows, totals, aggregated_by: aggregation } = answer.json().data;
      expect([aggregation, totals.sessions, totals.impressions]).toEqual([aggregated_by, 3, 9]);
      const sum = rows.reduce((all: number, { impressions }: { impressions: number }) => all + impressions, 0);
      expect(sum).toBe(9);
      const now = new Date(startedAtMs);
      const monday = dayOf(startedAtMs - ((now.getUTCDay() + 6) % 7) * dayMs);
      const first = aggregated_by === 'week' ? monday : `${dayOf(startedAtMs).slice(0, 7)}-01`;
      expect(new Set(rows.map(({ date }: { date: string }) => date))).toEqual(new Set([first]));
    }
});

const elevenFilters = Object.fromEntries(Array.from({ length: 11 }, (_, at) => [`key_${at}`, '1']));

describe('400', () => {
  test.each([
    ['an unknown dimension', { group_by: 'planet' }, 'unknown_group_by', '/group_by'],
    ['an invalid dimension name', { group_by: 'pl an;drop' }, 'unknown_group_by', '/group_by'],
    ['the dimension __proto__', { group_by: '__proto__' }, 'unknown_group_by', '/group_by'],
    ['a repeated dimension', { group_by: 'offer,offer' }, 'invalid_request', '/group_by'],
    ['a metric as a dimension', { group_by: 'clicks' }, 'unknown_group_by', '/group_by'],
    ['a repeated custom attribute', { group_by: 'custom.plan,plan' }, 'invalid_request', '/group_by'],
    ['two custom attributes', { group_by: 'custom.a,custom.b' }, 'invalid_request', '/group_by'],
    ['an invalid parameter name', { 'col our': 'red' }, 'invalid_request', '/col our'],
    ['filters by eleven custom attributes', elevenFilters, 'invalid_request', '/group_by'],
    ['a day that does not exist', { from: '2026-02-30' }, 'invalid_request', '/from'],
    ['a time instead of a day', { to: '2026-02-03T00:00:00Z' }, 'invalid_request', '/to'],
    ['an end before the start', { from: '2026-03-02', to: '2026-03-01' }, 'invalid_request', '/to'],
    ['more than 400 days', { from: '2024-01-01', to: '2025-02-04' }, 'invalid_request', '/from'],
    [
      'more than 31 days of hourly rows',
      { from: '2026-01-01', to: '2026-02-01', aggregated_by: 'hour' },
      'invalid_request',
      '/from',
    ],
    ['an unknown aggregation', { aggregated_by: 'year' }, 'invalid_request', '/querystring/aggregated_by'],
    ['an invalid id', { offer: '1e3' }, 'invalid_request', '/offer'],
    ['a NUL character', { placement: 'a\0b' }, 'invalid_request', '/querystring/placement'],
  ])('%s', async (_what, parameters, code, path) => {
    const answer = await ask(parameters as Record<string, string>);
    expect(answer.statusCode, answer.body).toBe(400);
    expect(answer.json().error).toMatchObject({ code, details: [{ path }] });
  });

  test('a range of 400 days is allowed', async () => {
    expect((await ask({ from: '2024-01-01', to: '2025-02-03' })).statusCode).toBe(200);
  });
});

test('pages of any origin may read reports and their errors', async () => {
  for (const url of ['/native/activity.json', '/native/reconciliation.json']) {
    for (const query of ['?api_key=reports', '?api_key=reports&from=yesterday', '']) {
      const { headers } = await testApp.app.inject({
        url: `${url}${query}`,
        headers: { origin: 'https://shop.example' },
      });
      expect(headers['access-control-allow-origin']).toBe('*');
      expect(headers['access-control-allow-credentials']).toBeUndefined();
    }
  }
});

test('401 without a key, and 403 for a key without reports', async () => {
  expect((await testApp.app.inject('/native/activity.json')).statusCode).toBe(401);
  expect((await ask({}, {}, 'no-reports')).statusCode).toBe(403);
  expect((await ask({}, {}, testApp.publisher.sdkId)).statusCode).toBe(403);
});

test("another publisher's key sees nothing, not even the names of custom keys", async () => {
  expect((await ask({ group_by: 'placement' }, {}, 'other')).json().data.rows).toEqual([]);
  expect((await ask({ group_by: 'plan' }, {}, 'other')).json().error.code).toBe('unknown_group_by');
  expect((await ask({ placement: 'checkout', campaign: '1' }, {}, 'other')).json().data.totals.sessions).toBe(0);
});

test('the reconciliation explains every gap and adds up', async () => {
  const { offers } = await fetchOffers(testApp, { placement: 'gap' });
  await call(testApp, offers[0]?.click_url as string);
  await call(testApp, offers[1]?.pixel as string, { 'user-agent': googlebot });
  await fetchOffers(testApp, { dev: '1' });
  await testApp.pool.query(
    `insert into sessions
      (day, id, publisher_id, placement, offer_ids, campaign_ids, dev, usp, usp_check_all, created_at, empty_reason)
    select $1, gen_random_uuid(), $2, 'gap', '{}', '{}', false, false, false, now(), reason
    from unnest(array['no_campaigns', 'no_campaigns', null]) as reason`,
    [today, testApp.publisher.id],
  );
  await rollUpAll(testApp);
  const answer = await testApp.app.inject({
    url: `/native/reconciliation.json?api_key=reports&from=${today}&to=${today}`,
  });
  expect(answer.statusCode, answer.body).toBe(200);
  expect(answer.json().data).toEqual({
    from: today,
    to: today,
    sessions: 7,
    filled_sessions: 4,
    empty_sessions: 3,
    empty_reasons: { no_campaigns: 2, unknown: 1 },
    dev_sessions: 1,
    offers_served: 12,
    events: { impression: 9 },
    suspicious: { click: { no_impression: 1 }, impression: { bot: 1 } },
    offers_not_seen: 3,
    impressions_not_clicked: 9,
    balanced: true,
  });
  const ask = (parameters: string, key: string) =>
    testApp.app.inject({ url: `/native/reconciliation.json?api_key=${key}&${parameters}` });
  expect((await ask(`from=${today}`, 'other')).json().data).toMatchObject({
    sessions: 0,
    suspicious: {},
    balanced: true,
  });
  expect((await ask('from=2024-01-01&to=2025-02-03', 'reports')).json().data).toMatchObject({
    sessions: 0,
    balanced: true,
  });
  expect((await ask('from=2024-01-01&to=2025-02-04', 'reports')).statusCode).toBe(400);
  expect((await ask('', 'no-reports')).statusCode).toBe(403);
});
