import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Publisher } from '../../../src/catalog/types.ts';
import { loadDemoCatalogue, randomDemoIds } from '../../../src/demo/catalogue.ts';
import { dashboardLinks, withoutLinks } from '../../../src/offers/pages/live/advice.ts';
import { sessionItem } from '../../../src/offers/pages/live/items.ts';
import { findRequests } from '../../../src/offers/pages/live/requests.ts';
import { watchCalls } from '../../../src/offers/pages/live/watch.ts';
import { maskAnswer, maskRequest } from '../../../src/offers/request-log/mask.ts';
import { createRequestLog } from '../../../src/offers/request-log/request-log.ts';
import { readCalls } from '../../../src/offers/request-log/store.ts';
import { applyOfferRetention } from '../../../src/offers/retention.ts';
import { transaction } from '../../../src/platform/db/pool.ts';
import { hashKey } from '../../../src/platform/http/auth.ts';
import { inLanguage } from '../../../src/platform/i18n/reader.ts';
import { minuteMs } from '../../../src/platform/lib/time.ts';
import { newUuid7 } from '../../../src/platform/lib/uuid7.ts';
import { problem, storedProblem } from '../../../src/platform/problem.ts';
import { signInAs } from '../../dashboard/support.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

let t: TestApp;
let nowMs = Date.UTC(2033, 6, 18, 12);
const other = randomDemoIds();
beforeAll(async () => {
  t = await createTestApp({ now: () => nowMs });
  await transaction(t.pool, (executor) => loadDemoCatalogue(executor, other));
  await t.pool.query(
    `insert into api_keys (publisher_id, name, key_hash, permissions) values ($1, 'Reports', decode($2, 'hex'), $3)`,
    [t.publisher.id, hashKey('reports-only'), ['reports']],
  );
  await t.deps.catalog.refresh();
});
afterAll(() => t.close());

async function send(body: unknown, { key = t.publisher.sdkId, path = '/native/v4/offers.json' } = {}) {
  const answer = await t.app.inject({
    method: 'POST',
    url: `${path}?api_key=${key}`,
    headers: { 'content-type': 'application/json' },
    payload: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return answer.statusCode;
}

const recorded = async () => {
  await t.deps.requestLog.write();
  return readCalls(t.pool, t.publisher.id, { sinceMs: nowMs - minuteMs, except: [], limit: 100 });
};
const placement = 'checkout';

test('records nothing while nobody watches', async () => {
  expect(await send({ placement })).toBe(200);
  expect(await recorded()).toEqual([]);
});

test('records and masks the calls of a watched publisher, including rejected ones, and no others', async () => {
  await t.deps.requestLog.watch(t.publisher.id)();
  const attributes = { plan: 'plus', first_name: 'Adamina', pub_user_id: 'user-4711', contact: 'ada@example.com' };
  expect(await send({ placement, ...attributes, country: 'Germany', themeId: 'none' })).toBe(200);
  nowMs += 1;
  expect(await send({ pub_user_id: 'user-4711' })).toBe(400);
  nowMs += 1;
  expect(await send({ placement }, { key: 'reports-only' })).toBe(403);
  nowMs += 1;
  expect(await send('{"placement":')).toBe(400);
  nowMs += 1;
  const path = `/sdk/v4/usp/session/${newUuid7(nowMs)}.json`;
  expect(await send({ action: 'wrap', pub_user_id: 'user-4711' }, { path })).toBe(404);
  expect(await send({ placement: '' }, { key: other.sdkId })).toBe(400);
  expect(await send({ placement }, { key: 'unknown' })).toBe(401);
  const calls = (await recorded()).map(({ call }) => call);
  const refused = (status: number, code: string) =>
    expect.objectContaining({ status, error: expect.objectContaining({ code }), sessionId: null });
  expect(calls).toEqual([
    expect.objectContaining({
      method: 'POST',
      path: '/native/v4/offers.json',
      query: { api_key: '•••' },
      status: 200,
      error: null,
      sessionId: expect.any(String),
      notes: [
        { path: '/country', message: storedProblem(problem('countryIgnored')) },
        { path: '/themeId', message: storedProblem(problem('noTheme')) },
      ],
    }),
    refused(400, 'missing_placement'),
    refused(403, 'permission_denied'),
    refused(400, 'malformed_json'),
    refused(404, 'session_not_found'),
  ]);
  expect(calls[0]?.body).toMatchObject({ placement, plan: 'plus', first_name: '•••', contact: '•••' });
  const { answer } = calls[0] as unknown as { answer: { data: { offers: { click_url: string }[] } } };
  expect(answer.data.offers.map(({ click_url }) => click_url)).toEqual(Array(3).fill(expect.stringMatching(/\?…$/)));
  const text = JSON.stringify(calls);
  for (const secret of ['Adamina', 'user-4711', 'ada@example.com', t.publisher.sdkId, 'reports-only', 't=1'])
    expect(text).not.toContain(secret);
});

test('masks the response to a request with hundreds of masked texts completely', () => {
  const few = maskRequest({ mail: ['ada@shop.test'], note: `${'x '.repeat(200)} ada@shop.test` });
  expect(few.visible).toMatchObject({ mail: '•••', note: expect.stringMatching(/^x .*… \(414 characters\)$/) });
  expect(maskAnswer({ title: 'For ada@shop.test' }, few.hiddenTexts)).toEqual({ title: 'For •••' });
  const many = maskRequest({ user_list: Array.from({ length: 13_000 }, (_, index) => `user ${index}`) });
  expect(maskAnswer({ title: 'For user 12999' }, many.hiddenTexts)).toBe('•••');
});

test('tells other processes which publishers are watched, and merges the calls of all processes', async () => {
  const elsewhere = createRequestLog({ ...t.deps, pool: t.pool, now: () => nowMs });
  expect(elsewhere.isWatched(t.publisher.id)).toBe(false);
  await elsewhere.write();
  expect(elsewhere.isWatched(t.publisher.id)).toBe(true);
  const calls = await recorded();
  const call = calls[0]?.call;
  if (call === undefined) throw new Error('nothing was recorded');
  elsewhere.addCall(t.publisher.id, () => ({ ...call, path: '/elsewhere' }));
  await elsewhere.write();
  expect((await recorded()).map((entry) => entry.call.path)).toContain('/elsewhere');
});

test('limits a flood of calls, stops with the page, and deletes calls after an hour', async () => {
  const before = (await recorded()).length;
  for (let call = 0; call < 40; call += 1) await send({});
  expect(await recorded()).toHaveLength(before + 25);
  nowMs += 15_001;
  await send({ placement });
  expect(await recorded()).toHaveLength(before + 25);
  expect(t.deps.requestLog.isAnyWatched()).toBe(false);
  await applyOfferRetention(t.pool, t.deps.config, nowMs + 60 * minuteMs);
  expect((await t.pool.query('select from live_calls union all select from live_watches')).rowCount).toBe(0);
});

test('stores rejected calls for an hour while no page is open, including management calls', async () => {
  await t.deps.requestLog.write();
  expect(t.deps.requestLog.isAnyWatched()).toBe(false);
  expect(await send({ placement })).toBe(200);
  expect(await send({})).toBe(400);
  expect(await send({ placement }, { key: 'pk_nobody_knows_it' })).toBe(401);
  const secret = { name: 'x', permissions: ['a-secret-of-theirs'] };
  expect(await send(secret, { key: 'reports-only', path: '/manage/v1/keys' })).toBe(403);
  const statuses = async (sinceMs: number) => {
    await t.deps.requestLog.write();
    const query = { sinceMs: nowMs - minuteMs, refusedSinceMs: sinceMs, except: [], limit: 100 };
    return readCalls(t.pool, t.publisher.id, query);
  };
  const calls = await statuses(nowMs - minuteMs);
  expect(calls.map(({ call }) => `${call.status} ${call.path}`).sort()).toEqual([
    '400 /native/v4/offers.json',
    '403 /manage/v1/keys',
  ]);
  expect(JSON.stringify(calls)).not.toMatch(/a-secret-of-theirs|nobody_knows/);
  nowMs += 59 * minuteMs;
  await applyOfferRetention(t.pool, t.deps.config, nowMs);
  expect(await statuses(nowMs - 60 * minuteMs)).toHaveLength(2);
  expect(await statuses(nowMs - minuteMs)).toHaveLength(0);
  for (let call = 0; call < 20; call += 1) await send({});
  expect(await statuses(nowMs - minuteMs)).toHaveLength(5);
});

test('lists a perks call separately, and keeps the request and response of the fetch', async () => {
  const publisher = t.deps.catalog.current().publishers.get(t.publisher.id) as Publisher;
  const items = watchCalls({ ...t.deps, pool: t.pool }, publisher, dashboardLinks(publisher));
  const itemTexts = async () => {
    await t.deps.requestLog.write();
    return (await items()).map(({ data }) => data);
  };
  await itemTexts();
  nowMs += 1;
  expect(await send({ placement, pub_user_id: 'u' })).toBe(200);
  const { rows } = await t.pool.query<{ id: string; campaign: number }>(
    'select id, campaign_ids[1] as campaign from sessions order by id desc limit 1',
  );
  const [{ id, campaign }] = rows as [{ id: string; campaign: number }];
  const select = `/sdk/v4/usp/${id}/${campaign}/select.json`;
  expect(await send({ pub_user_id: 'u' }, { path: select })).toBe(200);
  const markups = await itemTexts();
  const item = markups.find((markup) => markup.includes(`id="request-${id}"`));
  expect(item).toContain('POST /native/v4/offers.json');
  expect(markups.find((markup) => markup.includes('id="call-') && markup.includes(select))).toContain('POST');
});

test('shows advice without links in a portal, which has none of the linked pages', async () => {
  const publisher = t.deps.catalog.current().publishers.get(t.publisher.id) as Publisher;
  const items = watchCalls({ ...t.deps, pool: t.pool }, publisher, withoutLinks);
  await items();
  nowMs += 1;
  expect(await send({ placement, pub_user_id: 'u' })).toBe(200);
  expect(await send({ pub_user_id: 'u' })).toBe(400);
  await t.deps.requestLog.write();
  const markup = (await items()).map(({ data }) => data).join('');
  expect(markup).toContain('class="advice"');
  expect(markup).toContain('POST /native/v4/offers.json');
  expect(markup).not.toContain('href=');
});

test('states the reason for a rejected call or field in the language of the reader', async () => {
  const publisher = t.deps.catalog.current().publishers.get(t.publisher.id) as Publisher;
  const items = watchCalls({ ...t.deps, pool: t.pool }, publisher, withoutLinks);
  await items();
  nowMs += 1;
  const url = `/native/v4/offers.json?api_key=${t.publisher.sdkId}&loyaltyboost=7`;
  expect((await t.app.inject({ method: 'POST', url, payload: { placement } })).statusCode).toBe(400);
  expect(await send({ placement }, { key: 'reports-only' })).toBe(403);
  await t.deps.requestLog.write();
  const markup = await inLanguage('de', async () => (await items()).map(({ data }) => data).join(''));
  expect(markup).toMatch(/<code>loyaltyboost<\/code> Der Wert muss/);
  expect(markup).toContain('<span>Dieser API-Schlüssel hat die Berechtigung ads/offers nicht.');
});

test('marks new placements on the live page and updates its list of notices', async () => {
  const user = await signInAs(t, 'analyst');
  const publisher = t.deps.catalog.current().publishers.get(t.publisher.id) as Publisher;
  nowMs += 1;
  expect(await send({ placement: 'brand-new', pub_user_id: 'u' })).toBe(200);
  expect(await send({ placement, pub_user_id: 'u' })).toBe(200);
  const { rows } = await t.pool.query<{ id: string }>('select id from sessions order by id desc limit 2');
  const ids = rows.map(({ id }) => id);
  const requests = await findRequests(t.pool, t.publisher.id, ids);
  const marked = requests
    .filter((request) => sessionItem(request, undefined, publisher, withoutLinks).markup.includes('new placement'))
    .map((request) => request.placement);
  expect(marked).toEqual(['brand-new']);
  const base = `/dashboard/p/${t.publisher.id}`;
  const page = (await user.get(`${base}/live`)).body;
  expect(page).toContain(`hx-get="${base}/live/notices" hx-trigger="every 5s"`);
  const fragment = (await user.get(`${base}/live/notices`, { 'hx-request': 'true' })).body;
  expect(fragment).toContain(`hx-get="${base}/live/notices"`);
  expect(fragment).not.toContain('<html');
});

test('the live page never says that everything works while it lists a rejected call', async () => {
  const user = await signInAs(t, 'analyst');
  const notices = async () => (await user.get(`/dashboard/p/${t.publisher.id}/live/notices`)).body;
  nowMs += 61 * minuteMs;
  await t.pool.query('truncate request_notices');
  expect(await notices()).toContain('No field of an offer request was ignored or rejected');
  expect((await t.app.inject(`/manage/v1/offers?api_key=reports-only`)).statusCode).toBe(403);
  await t.deps.requestLog.write();
  const body = await notices();
  expect(body).toContain('1 request was rejected in the last hour for another reason.');
  expect(body).not.toContain('No problems<');
});
