import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { uspCalls } from '../perks/usp/calls.ts';
import { createTestModules, type TestBase } from '../support/test-modules.ts';
import { fetchOffers, type ShownOffer } from '../tracking/journey.ts';
import { readText } from './source.ts';
import { tables } from './tables.ts';

const document = 'docs/what-each-call-writes.md';
const isUpdate = process.env.UPDATE_WRITES !== undefined;

/** Time until the later batches of a call have been written, in milliseconds. */
const quietMs = 2000;

let t: TestBase;
const clock = { ms: Date.now() };
beforeAll(async () => {
  t = await createTestModules(['catalog-admin', 'perks', 'audiences', 'privacy'], { now: () => clock.ms });
  await recordWrites();
});
afterAll(() => t?.close());

/**
 * Records each written row with triggers, so that the page also lists the writes of the schema's own triggers. Rows of
 * rolled-back transactions are not recorded.
 */
async function recordWrites(): Promise<void> {
  await t.pool.query(
    `create unlogged table recorded_writes (name text, operation text);
    create function record_write() returns trigger language plpgsql as $$
    begin
      insert into recorded_writes values (tg_argv[0], tg_op);
      return null;
    end $$`,
  );
  for (const name of Object.keys(tables))
    await t.pool.query(
      `create trigger recorded after insert or update or delete on ${name}
      for each row execute function record_write('${name}')`,
    );
}

const operations = { INSERT: 'inserts into', UPDATE: 'updates', DELETE: 'deletes from' };

/** Returns the table rows of the documentation page for a call, one per kind of operation since the previous call. */
async function rowsOf({ name, path }: Call): Promise<string> {
  const { rows } = await t.pool.query<{ name: string; operation: string }>(
    'select distinct name, operation from recorded_writes order by 1',
  );
  const cells = Object.entries(operations).flatMap(([operation, verb]) => {
    const names = rows.filter((row) => row.operation === operation).map((row) => `\`${row.name}\``);
    return names.length === 0 ? [] : [`${verb} | ${names.join(', ')} |`];
  });
  return cells.map((cell, at) => (at === 0 ? `| ${name}: ${path} | ${cell}` : `| | ${cell}`)).join('\n');
}

type Send = (
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  payload?: object | string,
) => Promise<Data>;
type Data = Record<string, unknown>;

/**
 * Sends a call with the publisher's key.
 * @returns `data` of the response
 */
const send: Send = async (method, path, payload) => {
  const { key } = t.publisher;
  const url = path.startsWith('/manage/') ? path : `${path}${path.includes('?') ? '&' : '?'}api_key=${key}`;
  const headers = {
    ...(path.startsWith('/manage/') && { authorization: `Bearer ${key}` }),
    ...(typeof payload === 'string' && { 'content-type': 'text/csv' }),
    'user-agent':
      'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36',
  };
  const answer = await t.app.inject({ method, url, headers, ...(payload === undefined ? {} : { payload }) });
  expect([url, answer.statusCode, answer.statusCode < 400 ? '' : answer.body]).toEqual([url, expect.any(Number), '']);
  clock.ms += 1500;
  const isJson = String(answer.headers['content-type']).includes('json');
  return isJson ? (answer.json().data ?? {}) : { location: answer.headers.location };
};

const pathOf = (url: string): string => url.replace('http://perks.test', '');

/** Values from earlier responses that later calls need. */
const state = { sessionId: '', offers: [] as ShownOffer[], clickId: '', secret: '', advertiserId: 0 };
const offer = (index = 0): ShownOffer => state.offers[index] as ShownOffer;
const pub_user_id = 'u-1';

const show = async (): Promise<void> => {
  const { sessionId, offers } = await fetchOffers(t, { pub_user_id });
  Object.assign(state, { sessionId, offers });
};

/** Sends an advertiser's signed report that a coupon code was redeemed. */
async function redeem(): Promise<void> {
  const { advertiserId, secret } = state;
  const text = [advertiserId, offer().id, 'CODE-1', 'redeemed'].join('\n');
  const signature = createHmac('sha256', secret).update(text).digest('hex');
  await send('POST', '/coupons/v1/redeemed.json', {
    advertiser_id: advertiserId,
    offer_id: offer().id,
    code: 'CODE-1',
    signature,
  });
}

type Call = { name: string; path: string; run: () => Promise<unknown> };

/** Calls, ordered so that each one has the data that it needs. */
const calls: readonly Call[] = [
  {
    name: 'Configure a webhook',
    path: '`PUT /manage/v1/webhook-endpoints/{event}`',
    run: () =>
      send('PUT', '/manage/v1/webhook-endpoints/usp.selection', { url: 'http://127.0.0.1:9/hook', method: 'POST' }),
  },
  { name: 'Fetch offers', path: '`POST /native/v2/offers.json`', run: show },
  { name: 'Impression', path: '`pixel` of an offer', run: () => send('GET', pathOf(offer().pixel)) },
  { name: 'Close', path: '`beacons.close`', run: () => send('GET', pathOf(offer(1).beacons.close)) },
  {
    name: '"No thanks"',
    path: '`beacons.no_thanks_click`',
    run: () => send('GET', pathOf(offer(2).beacons.no_thanks_click)),
  },
  {
    name: 'Click',
    path: '`click_url` of an offer',
    run: async () => {
      const { location } = await send('GET', pathOf(offer().click_url));
      const values = [...new URL(String(location)).searchParams.values()];
      state.clickId = values.find((value) => /^[\w-]{51}$/.test(value)) as string;
    },
  },
  {
    name: 'Conversion',
    path: '`GET /track`',
    run: () => send('GET', `/track?click_id=${state.clickId}&event=sale&txn_id=1`),
  },
  {
    name: 'Save to the wallet',
    path: '`POST /wallet/v1/save.json`',
    run: () => send('POST', `/wallet/v1/save.json?t=${new URL(offer().click_url).searchParams.get('t')}`),
  },
  {
    name: 'Remove from the wallet',
    path: '`DELETE /wallet/v1/offers/{offer_id}.json`',
    run: () => send('DELETE', `/wallet/v1/offers/${offer().id}.json?pub_user_id=${pub_user_id}`),
  },
  {
    name: 'Add coupon codes',
    path: '`POST /manage/v1/offers/{id}/coupon-codes`',
    run: () => send('POST', `/manage/v1/offers/${offer().id}/coupon-codes`, { codes: ['CODE-1'] }),
  },
  {
    name: 'Select a perk',
    path: '`POST /sdk/v4/usp/{session_id}/{campaign_id}/select.json`',
    run: () => uspCalls(t).select(state.sessionId, offer().campaign_id),
  },
  {
    name: 'Wrap',
    path: '`POST /sdk/v4/usp/session/{session_id}.json`',
    run: () => uspCalls(t).wrap(state.sessionId, { user: pub_user_id }),
  },
  {
    name: 'Create the secret of an advertiser',
    path: '`POST /manage/v1/advertisers/{id}/conversion-secret`',
    run: async () => {
      state.advertiserId = t.deps.catalog.current().offers.get(offer().id)?.campaign.advertiserId ?? 0;
      const { secret } = await send('POST', `/manage/v1/advertisers/${state.advertiserId}/conversion-secret`);
      state.secret = String(secret);
    },
  },
  { name: 'Redeem a coupon', path: '`POST /coupons/v1/redeemed.json`', run: redeem },
  {
    name: 'Create an audience',
    path: '`POST /manage/v1/audiences`',
    run: () => send('POST', '/manage/v1/audiences', { key: 'list', name: 'List' }),
  },
  {
    name: 'Import members',
    path: '`POST /manage/v1/audiences/{key}/import`',
    run: () => send('POST', '/manage/v1/audiences/list/import', 'pub_user_id\nu-1\nu-2'),
  },
  {
    name: 'Set attributes of a user',
    path: '`PUT /manage/v1/users/{pub_user_id}`',
    run: () => send('PUT', '/manage/v1/users/u-1', { attributes: { plan: 'gold' } }),
  },
  {
    name: 'Save a campaign',
    path: '`PATCH /manage/v1/campaigns/{id}`',
    run: () => send('PATCH', `/manage/v1/campaigns/${offer().campaign_id}`, { name: 'Renamed' }),
  },
  {
    name: 'Save an offer',
    path: '`PATCH /manage/v1/offers/{id}`',
    run: () => send('PATCH', `/manage/v1/offers/${offer().id}`, { title: 'Renamed' }),
  },
  {
    name: 'Create a key',
    path: '`POST /manage/v1/keys`',
    run: () => send('POST', '/manage/v1/keys', { name: 'Second', permissions: ['reports'] }),
  },
  {
    name: 'Export a user',
    path: '`POST /manage/v1/privacy/export`',
    run: () => send('POST', '/manage/v1/privacy/export', { pub_user_id }),
  },
  {
    name: 'Erase a user',
    path: '`POST /manage/v1/privacy/erasure`',
    run: () => send('POST', '/manage/v1/privacy/erasure', { pub_user_id }),
  },
];

const introduction = `# What each call writes

This page lists the tables that each main API call writes. It covers a single process without background jobs. Jobs
write to more tables later, for example for reports, deliveries and erasures. Only the module that owns a table writes
to it. See [storage](architecture.md#storage).

A test makes the calls in this order and compares the written tables with this page. To update the page, run
\`UPDATE_WRITES=1 npx vitest run test/architecture/writes.test.ts\`.

`;

test('each call writes exactly the tables that the documentation lists', async () => {
  const parts = ['| Call | Operation | Tables |\n| --- | --- | --- |'];
  const written = isUpdate ? '' : readText(document);
  for (const call of calls) {
    await t.pool.query('truncate recorded_writes');
    await call.run();
    if (isUpdate) await new Promise((resolve) => setTimeout(resolve, quietMs));
    else await expect.poll(async () => written.includes(await rowsOf(call)), { timeout: 20_000 }).toBe(true);
    parts.push(await rowsOf(call));
  }
  const text = `${introduction}${parts.join('\n')}\n`;
  if (isUpdate) writeFileSync(new URL(`../../${document}`, import.meta.url), text);
  else expect(text, 'to update, run UPDATE_WRITES=1 npx vitest run test/architecture/writes.test.ts').toBe(written);
});
