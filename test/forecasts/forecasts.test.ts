import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ForecastView } from '../../src/forecasts/view.ts';
import { ensurePartitions } from '../../src/platform/db/partitions.ts';
import { dayMs, hourMs, minuteMs } from '../../src/platform/lib/time.ts';
import { jobsOf } from '../../src/runtime/run-jobs.ts';
import { addCatalogue, type Caller, createManagementApp, type ManagementApp } from '../catalog/resources/support.ts';
import { signInAs } from '../dashboard/support.ts';
import { rollUpAll } from '../reports/support.ts';

let t: ManagementApp;
let me: Caller;
let ids: Record<string, number>;
/** Start of the history, which must be close to the real time, because partitions exist only around it. */
const startMs = Math.floor(Date.now() / hourMs) * hourMs;
let nowMs = startMs;

const days = 4;
const perDay = 30;

beforeAll(async () => {
  t = await createManagementApp({ now: () => nowMs });
  me = await t.caller(await t.addPublisher());
  ids = await addCatalogue(me);
  // Sessions of four days: two thirds from Germany, the rest from Austria. Each user comes every day.
  for (let day = 0; day < days; day++)
    for (let at = 0; at < perDay; at++) {
      nowMs = startMs + day * dayMs + at * 30 * minuteMs;
      const answer = await t.app.inject({
        method: 'POST',
        url: `/native/v4/offers.json?api_key=${me.key}`,
        payload: { placement: 'checkout', pub_user_id: `user-${at}`, country: at % 3 === 0 ? 'AT' : 'DE', count: 1 },
      });
      const [offer] = answer.json().data.offers;
      await t.app.inject({
        method: 'GET',
        url: String(offer.beacons?.pixel ?? offer.pixel).replace(/^https?:\/\/[^/]+/, ''),
      });
    }
  nowMs = startMs + days * dayMs;
  await rollUpAll(t, nowMs);
});
afterAll(() => t?.close());

const draft = (over: object = {}) => ({
  advertiser_id: ids.advertiser,
  payout_kind: 'cpm',
  payout_amount: 1000,
  ...over,
});

async function forecastOf(body: object): Promise<ForecastView> {
  const reply = await me.call('POST', '/campaigns/forecast', body);
  expect(reply.status, JSON.stringify(reply.body)).toBe(200);
  return reply.body.data as ForecastView;
}

test('a draft that pays most wins the sessions that it targets, and no others', async () => {
  const {
    totals,
    days: byDay,
    sample,
    notes,
  } = await forecastOf(draft({ rules: { targeting: { countries: { include: ['DE'] } } } }));
  expect(sample).toMatchObject({ sessions: days * perDay, matching: (days * perDay * 2) / 3 });
  const share = totals.matching.mid / totals.sessions.mid;
  expect(share).toBeGreaterThan(0.55);
  expect(share).toBeLessThan(0.8);
  expect(totals.impressions.mid).toBeGreaterThan(0.8 * totals.matching.mid);
  // About 30 sessions a day.
  expect(totals.sessions.low).toBeLessThan(30 * perDay);
  expect(totals.sessions.high).toBeGreaterThan(30 * perDay);
  expect(byDay).toHaveLength(30);
  for (const { low, mid, high } of Object.values(totals)) expect([low <= mid, mid <= high]).toEqual([true, true]);
  expect(totals.users.mid).toBeLessThan(totals.impressions.mid);
  expect(notes).toContain('short_history');
});

test('a forecast says which condition no session satisfies', async () => {
  const { totals, conditions, notes } = await forecastOf(
    draft({ rules: { targeting: { countries: { include: ['JP'] }, placements: { include: ['checkout'] } } } }),
  );
  expect(totals.impressions).toEqual({ low: 0, mid: 0, high: 0 });
  expect(notes).toContain('nothing_matches');
  expect(conditions).toEqual([{ rule: 'targeting', key: 'countries', matching_sessions: 0 }]);
});

test('the forecast of a draft that pays nothing says that other campaigns take its positions', async () => {
  const { totals, notes } = await forecastOf(draft({ payout_amount: 0, priority: 9000 }));
  expect([totals.impressions.mid, notes]).toEqual([0, expect.arrayContaining(['never_wins'])]);
});

test('frequency caps and budgets reduce what a draft delivers', async () => {
  const free = await forecastOf(draft());
  const cap = { scope: 'campaign', event: 'impression', limit: 1, window_minutes: 7 * 1440 };
  const rare = await forecastOf(draft({ rules: { frequency_caps: [cap] } }));
  expect(rare.totals.impressions.mid).toBeLessThan(0.5 * free.totals.impressions.mid);
  const budget = { total_caps: [{ metric: 'budget', per: 'day', limit: 5 }] };
  const limited = await forecastOf(draft({ rules: budget }));
  // The 30 days touch 31 calendar days. An interval is never narrower than one paid event, which costs 1 here.
  expect(limited.totals.spend.high).toBeLessThanOrEqual(31 * 5 + 1);
  expect(limited.totals.spend.mid).toBeLessThanOrEqual(31 * 5);
  expect(limited.notes).toContain('budget_limits');
});

test('a draft whose end has passed or whose budget is too small delivers nothing', async () => {
  const ended = await forecastOf(draft({ rules: { schedule: { end_at: '2020-01-01T00:00:00Z' } } }));
  expect([ended.totals.impressions.high, ended.notes]).toEqual([0, ['ended']]);
  const poor = { total_caps: [{ metric: 'budget', per: 'lifetime', limit: 0.5 }] };
  const spent = await forecastOf(draft({ rules: poor }));
  expect([spent.totals.impressions.high, spent.notes]).toEqual([0, expect.arrayContaining(['budget_spent'])]);
});

test('the same draft gets the same forecast', async () => {
  const body = draft({ rules: { conditions: { key: 'plan', op: 'not_exists' } } });
  expect(await forecastOf(body)).toEqual(await forecastOf(body));
});

test('a targeting check counts the sessions that each condition excludes, alone or with others', async () => {
  const rules = {
    targeting: { countries: { include: ['DE'] }, placements: { include: ['thanks'] } },
    conditions: { all: [{ key: 'cart_total', op: 'gt', value: 50 }] },
  };
  const reply = await me.call('POST', '/campaigns/targeting', { rules });
  const { data, warnings } = reply.body;
  const all = days * perDay;
  expect([reply.status, data.sessions, data.matching, data.is_sampled, warnings]).toEqual([200, all, 0, false, []]);
  expect(data.conditions).toEqual([
    { rule: 'targeting', key: 'placements', text: 'Placements: thanks', excluded: all, only: 0 },
    { rule: 'conditions', key: '0', text: 'cart_total is above 50', excluded: all, only: 0 },
    { rule: 'targeting', key: 'countries', text: 'Countries: Germany', excluded: all / 3, only: 0 },
  ]);
  expect(data.unseen).toEqual([{ kind: 'attribute', key: 'cart_total' }]);
  type Example = { country: string; unmet: object[] };
  const examples = (data.examples as Example[]).map(({ country, unmet }) => [country, unmet.length]);
  expect(examples).toEqual(Array.from({ length: 3 }, () => ['DE', 2]));
  const open = await me.call('POST', '/campaigns/targeting', {
    rules: { targeting: { countries: { include: ['DE'] } } },
  });
  expect(open.body.data).toMatchObject({ matching: (all * 2) / 3, conditions: [{ excluded: all / 3, only: all / 3 }] });
  expect((open.body.data.examples as Example[]).filter(({ unmet }) => unmet.length === 0)).toHaveLength(3);
});

test('a targeting check warns about conditions that no value can meet, and rejects invalid rules', async () => {
  const key = 'plan';
  const contrary = [
    [
      { op: 'equals', value: 'gold' },
      { op: 'equals', value: 'silver' },
    ],
    [
      { op: 'in', value: ['gold'] },
      { op: 'not_in', value: ['gold'] },
    ],
    [
      { op: 'gt', value: 50 },
      { op: 'lte', value: 50 },
    ],
    [
      { op: 'gte', value: 50 },
      { op: 'lt', value: 50 },
    ],
    [{ op: 'not_exists' }, { op: 'prefix', value: 'g' }],
    [
      { op: 'prefix', value: 'go' },
      { op: 'prefix', value: 'si' },
    ],
  ];
  const fitting = [
    [
      { op: 'equals', value: '60' },
      { op: 'gt', value: 50 },
    ],
    [
      { op: 'gte', value: 50 },
      { op: 'lte', value: 50 },
    ],
    [{ op: 'not_exists' }, { op: 'not_equals', value: 'gold' }],
    [
      { op: 'prefix', value: 'go' },
      { op: 'prefix', value: 'gold' },
    ],
  ];
  const warningsOf = async (pair: object[]) => {
    const conditions = { all: pair.map((part) => ({ key, ...part })) };
    return (await me.call('POST', '/campaigns/targeting', { rules: { conditions } })).body.warnings;
  };
  for (const pair of contrary)
    expect([pair, await warningsOf(pair)]).toEqual([
      pair,
      [
        {
          path: '/rules/conditions',
          message: 'No value of plan can meet all conditions on this attribute, so the campaign is never shown.',
        },
      ],
    ]);
  for (const pair of fitting) expect([pair, await warningsOf(pair)]).toEqual([pair, []]);
  const wrong = await me.call('POST', '/campaigns/targeting', {
    rules: { targeting: { countries: { include: ['XX'] } } },
  });
  expect([wrong.status, JSON.stringify(wrong.body)]).toEqual([
    400,
    expect.stringContaining('/rules/targeting/countries/include/0'),
  ]);
});

test('a lifetime budget that cannot be reached because of the daily budget gets a warning', async () => {
  const rules = (perDay: number) => ({
    schedule: { end_at: new Date(nowMs + 9.5 * dayMs).toISOString() },
    total_caps: [
      { metric: 'budget', per: 'lifetime', limit: 1000 },
      { metric: 'budget', per: 'day', limit: perDay },
    ],
  });
  const { warnings } = (await me.call('PATCH', `/campaigns/${ids.campaign}`, { rules: rules(50) })).body;
  expect(warnings).toEqual([
    {
      path: '/rules/total_caps/0/limit',
      message: 'The limit 1000 cannot be reached: caps for shorter periods allow at most 550 until the campaign ends.',
    },
  ]);
  expect((await me.call('PATCH', `/campaigns/${ids.campaign}`, { rules: rules(200) })).body.warnings).toEqual([]);
  await me.call('PATCH', `/campaigns/${ids.campaign}`, { rules: {} });
});

test('the section for targeting shows the effect of each condition, and can copy another campaign', async () => {
  const admin = await signInAs(t, 'admin', me.publisherId);
  const page = `/dashboard/p/${me.publisherId}/campaigns`;
  const rules = { targeting: { countries: { include: ['AT'] } } };
  const other = { advertiser_id: ids.advertiser, name: 'Source', landing_url: 'https://shop.example/', rules };
  const source = (await me.call('POST', '/campaigns', other)).body.data;
  const estimate = await admin.post(`${page}/estimate?edit=targeting`, {
    _stored: '{}',
    'rules.targeting.countries.include': 'AT',
  });
  expect(estimate.body).toContain('Countries: Austria');
  expect(estimate.body).toContain('Excludes 67% of sessions. Without this condition, another 67% would match.');
  const incomplete = await admin.post(`${page}/estimate?edit=targeting`, {
    _stored: '{}',
    'rules.targeting.countries.include': 'XX',
  });
  expect(incomplete.body).toContain('XX is not a country code');
  const copied = await admin.get(`${page}/${ids.campaign}?edit=targeting&copy=${source.id}`);
  expect(copied.body).toContain('The values of Source are filled in.');
  expect(copied.body).toMatch(/name="rules\.targeting\.countries\.include"[^>]*value="AT"/);
  const stored = (await me.call('GET', `/campaigns/${ids.campaign}`)).body.data;
  expect(stored.rules).toEqual({});
  expect((await admin.get(`${page}/${ids.campaign}?edit=targeting&copy=999999`)).statusCode).toBe(200);
});

test('a second forecast of a publisher waits for the first one to end', async () => {
  const bodies = [1, 2].map((weight) => draft({ weight }));
  const replies = await Promise.all(bodies.map((body) => me.call('POST', '/campaigns/forecast', body)));
  expect(replies.map(({ status }) => status).sort()).toEqual([200, 429]);
});

test('an invalid draft is rejected with all its errors', async () => {
  const reply = await me.call('POST', '/campaigns/forecast', draft({ payout_amount: -1, rules: { pacing: 'slow' } }));
  expect(reply.status).toBe(400);
  const { error } = reply.body as unknown as { error: { details: { path: string }[] } };
  expect(error.details.map(({ path }) => path)).toEqual(expect.arrayContaining(['/payout_amount', '/rules/pacing']));
});

test('a publisher without sessions gets an empty forecast that says so', async () => {
  const other = await t.caller(await t.addPublisher());
  const { campaign } = await addCatalogue(other);
  const { body } = await other.call('GET', `/campaigns/${campaign}/forecast`);
  const { totals, notes, record } = body.data as ForecastView;
  expect([totals.impressions.high, notes, record]).toEqual([0, ['no_history'], null]);
});

test('campaigns of other publishers and keys without the permission are refused', async () => {
  const other = await t.caller(await t.addPublisher());
  expect((await other.call('GET', `/campaigns/${ids.campaign}/forecast`)).status).toBe(404);
  const foreign = await other.call('POST', '/campaigns/forecast', draft());
  expect(foreign.status).toBe(400);
  const reader = await t.caller(me.publisherId, ['reports']);
  expect((await reader.call('GET', `/campaigns/${ids.campaign}/forecast`)).status).toBe(403);
  expect((await reader.call('POST', '/campaigns/forecast', draft())).status).toBe(403);
});

test('the dashboard forecasts a campaign and the values in its form, in English and German', async () => {
  const admin = await signInAs(t, 'admin', me.publisherId);
  const page = `/dashboard/p/${me.publisherId}/campaigns/${ids.campaign}`;
  expect((await admin.get(page)).body).toContain(`hx-get="${page}/forecast"`);
  const whole = (await admin.get(`${page}/forecast`)).body;
  expect(whole).toContain('Unique users');
  // The charts of impressions, clicks and spend are drawn by the server, with labelled axes and a table.
  expect(whole.match(/<figure class="band">/g)).toHaveLength(3);
  expect(whole.match(/<polygon points="[\d., ]+"/g)).toHaveLength(3);
  expect(whole).toMatch(/<text[^>]*>\s*\d+ [A-Z][a-z]{2}\s*<\/text>/);
  const fragment = (await admin.get(`${page}/forecast`, { 'hx-request': 'true' })).body;
  expect(fragment.match(/<figure class="band">/g)).toHaveLength(1);
  const german = await admin.get(`${page}/forecast`, { 'accept-language': 'de' });
  expect(german.body).toContain('Eindeutige Nutzer');
  expect((await admin.get(`${page}?edit=targeting`)).body).toContain(`hx-post="${page}/forecast?edit=targeting"`);
  const typed = await admin.post(`${page}/forecast?edit=targeting`, { 'rules.targeting.countries.include': 'JP' });
  expect(typed.statusCode).toBe(200);
  const analyst = await signInAs(t, 'analyst', me.publisherId);
  expect((await analyst.get(`${page}/forecast`)).statusCode).toBe(200);
  expect((await analyst.post(`${page}/forecast?edit=targeting`)).statusCode).toBe(403);
});

test('the form of a new campaign forecasts its values before anything is saved', async () => {
  const editor = await signInAs(t, 'manager', me.publisherId);
  const path = `/dashboard/p/${me.publisherId}/campaigns/new`;
  expect((await editor.get(path)).body).toContain(`hx-post="${path}/forecast"`);
  const values = { advertiser_id: String(ids.advertiser), payout_kind: 'cpm', payout_amount: '1000' };
  const campaignCount = async () => (await t.pool.query('select from campaigns')).rowCount;
  const before = await campaignCount();
  const forecast = await editor.post(`${path}/forecast`, { ...values, payout_currency: 'EUR' });
  expect(forecast.statusCode).toBe(200);
  expect(forecast.body).toContain('Matching sessions');
  expect(forecast.body).toContain('<figure class="band">');
  expect(await campaignCount()).toBe(before);
  for (const wrong of [{ payout_amount: '-1' }, { payout_currency: '' }, { advertiser_id: '' }]) {
    const { statusCode, body } = await editor.post(`${path}/forecast`, { ...values, payout_currency: 'EUR', ...wrong });
    expect([statusCode, body], JSON.stringify(wrong)).toEqual([200, expect.stringContaining('Complete')]);
  }
  const other = await t.caller(await t.addPublisher());
  const foreign = { ...values, advertiser_id: String((await addCatalogue(other)).advertiser), payout_currency: 'EUR' };
  expect((await editor.post(`${path}/forecast`, foreign)).body).toContain('Complete');
  const analyst = await signInAs(t, 'analyst', me.publisherId);
  expect((await analyst.post(`${path}/forecast`, values)).statusCode).toBe(403);
});

const keepRecord = async (): Promise<void> => {
  const job = jobsOf(t.contributions, t.deps).find(({ name }) => name === 'forecast record');
  if (job === undefined || 'start' in job) throw new Error('the job is missing');
  await job.run(() => false);
};
const recordOf = async (): Promise<ForecastView['record']> =>
  ((await me.call('GET', `/campaigns/${ids.campaign}/forecast`)).body.data as ForecastView).record;
const stored = async (): Promise<object[]> =>
  (
    await t.pool.query(
      'select campaign_id, actual, closed_at is not null as closed from forecasts where publisher_id = $1 order by id',
      [me.publisherId],
    )
  ).rows;

test('forecasts of live campaigns are compared with what happened, but not if the campaign was changed', async () => {
  await keepRecord();
  await keepRecord();
  expect(await stored()).toEqual([{ campaign_id: ids.campaign, actual: null, closed: false }]);
  expect(await recordOf()).toBeNull();

  await me.call('PATCH', `/campaigns/${ids.campaign}`, { priority: 50 });
  await keepRecord();
  expect(await stored()).toEqual([
    { campaign_id: ids.campaign, actual: null, closed: true },
    { campaign_id: ids.campaign, actual: null, closed: false },
  ]);

  nowMs += 31 * dayMs;
  await ensurePartitions(t.pool, nowMs);
  await keepRecord();
  expect((await stored())[1]).toEqual({
    campaign_id: ids.campaign,
    actual: { impressions: 0, clicks: 0, spend: 0 },
    closed: true,
  });
  // Nobody came in these 30 days.
  expect(await recordOf()).toMatchObject({ forecasts: 1, impressions: { inside: 0 } });
});

const none = { low: 0, mid: 0, high: 0 };

test('the forecast page compares ended forecasts with the actual impressions, and links their campaigns', async () => {
  const predicted = { impressions: { low: 80, mid: 100, high: 130 }, clicks: none, spend: none };
  for (const [at, impressions] of [90, 200].entries())
    await t.pool.query(
      `insert into forecasts (publisher_id, campaign_id, digest, currency, starts_at, ends_at, predicted, actual,
        closed_at) values ($1, $2, '', 'EUR', $3, $4, $5, $6, $4)`,
      [
        ...[me.publisherId, ids.campaign, new Date(nowMs - 40 * dayMs), new Date(nowMs - (9 - at) * dayMs)],
        ...[JSON.stringify(predicted), JSON.stringify({ impressions, clicks: 0, spend: 0 })],
      ],
    );
  const admin = await signInAs(t, 'admin', me.publisherId);
  const page = `/dashboard/p/${me.publisherId}/campaigns/${ids.campaign}`;
  const { body } = await admin.get(`${page}/forecast`);
  const chart = body.slice(body.indexOf('Actual impressions relative to the forecast'));
  expect(chart.match(/<circle/g)).toHaveLength(3);
  expect(chart.match(/<circle class="outside"/g)?.length).toBeGreaterThanOrEqual(1);
  expect(chart).toContain('80 – 130');
  expect(chart).toContain(`<a href="${page}">`);
  const german = await admin.get(`${page}/forecast`, { 'accept-language': 'de' });
  expect(german.body).toContain('Bisherige Genauigkeit');
});
