import { afterAll, beforeAll, expect, test } from 'vitest';
import { dayOf } from '../../src/platform/lib/time.ts';
import { callsOf, keyWith } from '../drafts/support.ts';
import { addMoneyOfSums } from '../reports/support.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { advertisersOf, pathOf, type TestAdvertiser } from './support.ts';

/* The report of an advertiser for keys: its own rows at every publisher that shows them, and no others. */

let t: TestApp;
let own: TestAdvertiser;
let other: TestAdvertiser;
let carrier: number;
let foreign: string;
let call: ReturnType<typeof callsOf>;
beforeAll(async () => {
  t = await createTestApp();
  [own, other] = (await advertisersOf(t, 2)) as [TestAdvertiser, TestAdvertiser];
  const { rows } = await t.pool.query<{ id: number }>(
    "insert into publishers (name, sdk_id) values ('Carrier', 'ffffffffffffffff') returning id",
  );
  carrier = rows[0]?.id ?? 0;
  await t.pool.query('insert into campaign_publishers (campaign_id, publisher_id) values ($1, $2)', [
    own.campaign,
    carrier,
  ]);
  await t.pool.query(
    `insert into rollups (publisher_id, grain, bucket, placement, offer_id, country, device, os, campaign_id, sessions,
      filled_sessions, impressions, clicks, no_thanks, closes, saves, selections, conversions, revenue_micros)
    select p.id, 18, date_trunc('day', now() - interval '1 day', 'UTC'), '', o.id, '', '', '', o.campaign_id, 0, 0,
      case when o.id <> $3 then 98765 when p.id = $2 then 20 else 1000 end, 7, 0, 0, 0, 0, 0, 2500000
    from offers o cross join publishers p where o.id in ($3, $4) and p.id in ($1, $2)`,
    [t.publisher.id, carrier, own.offer, other.offer],
  );
  await addMoneyOfSums(t.pool);
  await t.deps.catalog.refresh();
  call = callsOf(t);
  foreign = (
    await callsOf(t, 'demo-key')('POST', 'keys', {
      name: 'Other campaign',
      permissions: ['reports'],
      campaigns: [other.campaign],
    })
  ).body.data.key;
});
afterAll(() => t?.close());

const ofKey = async (more: object): Promise<ReturnType<typeof callsOf>> =>
  callsOf(t, await keyWith(t, ['reports'], more));
const report = (query = '', as = call, { id } = own) => as('GET', `advertisers/${id}/report${query}`);
const sumsOf = (rows: { name: string; impressions: number; spent: number }[]) =>
  rows.map(({ name, impressions, spent }) => [name, impressions, spent]);

test("an advertiser's report adds up its campaigns at every publisher, by campaign, publisher or day", async () => {
  const { name } = (await call('GET', `campaigns/${own.campaign}`)).body.data;
  const byCampaign = (await report()).body.data;
  expect(sumsOf(byCampaign.rows)).toEqual([[name, 1020, 5]]);
  expect(byCampaign.rows[0]).toMatchObject({ id: own.campaign, clicks: 14, conversions: 0, unbilled: 0 });
  const byPublisher = (await report('?by=publisher')).body.data.rows;
  expect(sumsOf(byPublisher)).toEqual(expect.arrayContaining([['Carrier', 20, 2.5]]));
  expect(byPublisher).toHaveLength(2);
  const yesterday = dayOf(t.deps.now() - 86_400_000);
  expect((await report(`?by=date&from=${dayOf(0)}&to=${yesterday}`)).status).toBe(400);
  const byDay = (await report('?by=date')).body.data.rows;
  expect(byDay.reduce((sum: number, row: { impressions: number }) => sum + row.impressions, 0)).toBe(1020);
});

test("the report matches the report page of the advertiser's accounts", async () => {
  const { body } = await own.user.get(pathOf(own, '/reports/csv'));
  const [row] = (await report()).body.data.rows;
  expect(body).toContain(`"${row.name}",${row.currency},${row.impressions},${row.clicks},${row.conversions},5.000000`);
});

test("a key limited to the advertiser's campaigns reads only their report and changes nothing", async () => {
  const key = await ofKey({ campaigns: [own.campaign], read_only: true });
  expect((await report('', key)).body).toEqual((await report()).body);
  expect((await report('', key, other)).status).toBe(404);
  expect((await key('GET', `campaigns/${own.campaign}`)).status).toBe(403);
});

test("404: rejects unknown advertisers, another publisher's, and those outside a key's limits", async () => {
  expect((await report('', callsOf(t, foreign))).status).toBe(404);
  const { rows } = await t.pool.query<{ id: number }>(
    "insert into advertisers (publisher_id, name) values ($1, 'Elsewhere') returning id",
    [carrier],
  );
  for (const id of [rows[0]?.id, 987_654, 'x', '0'])
    expect((await call('GET', `advertisers/${id}/report`)).status, String(id)).toBe(404);
});

test('400 and 403: rejects an invalid day or grouping, and keys without reports or with placement limits', async () => {
  expect((await report('', callsOf(t, await keyWith(t, ['offers/management'])))).status).toBe(403);
  expect((await report('', await ofKey({ placements: ['checkout'] }))).status).toBe(403);
  for (const query of ['?from=yesterday', '?by=placement', '?from=2026-13-45', '?from=2026-02-01&to=2026-01-01'])
    expect((await report(query)).status, query).toBe(400);
});

test('a conversion count opens its conversions, by day in the time zone of the publisher that booked', async () => {
  const { pool, deps, publisher } = t;
  await pool.query("update publishers set time_zone = 'Pacific/Auckland' where id = $1", [carrier]);
  await pool.query("update publishers set time_zone = 'UTC' where id = $1", [publisher.id]);
  await pool.query('update rollups set conversions = 1 where offer_id = any($1)', [[own.offer, other.offer]]);
  await deps.catalog.refresh();
  const yesterday = dayOf(deps.now() - 86_400_000);
  const book = (publisherId: number, { id, offer, campaign }: TestAdvertiser, txn: string) =>
    pool.query(
      `insert into conversions (day, session_id, offer_id, event, txn_key, void, id, publisher_id, campaign_id,
        advertiser_id, txn_id, payout_micros, currency, is_loyalty, loyalty_micros, click_at, booked_at)
      values ($1, gen_random_uuid(), $2, 'sale', gen_random_uuid(), false, gen_random_uuid(), $3, $4, $5, $6, 1000000,
        'USD', false, 0, $7, $7)`,
      [dayOf(deps.now()), offer, publisherId, campaign, id, txn, `${yesterday}T20:00:00Z`],
    );
  await book(publisher.id, own, 'txn-own');
  await book(carrier, own, 'txn-carrier');
  await book(publisher.id, other, 'txn-other');
  const linkIn = async (by: string): Promise<string[]> => {
    const { body } = await own.user.get(pathOf(own, `/reports?by=${by}`));
    return [...body.matchAll(/class="opens-rows" href="([^"]*)"/g)].map(([, href = '']) =>
      href.replaceAll('&amp;', '&'),
    );
  };
  const bookedIn = async (url = ''): Promise<string[]> => {
    const { body } = await own.user.get(url);
    return [...body.matchAll(/txn-(\w+)/g)].map(([, name = '']) => name).sort();
  };
  expect(await Promise.all((await linkIn('campaign')).map(bookedIn))).toEqual([['carrier', 'own']]);
  expect(await Promise.all((await linkIn('publisher')).map(bookedIn))).toEqual([['carrier'], ['own']]);
  expect(await bookedIn(pathOf(own, `/conversions?from=${yesterday}&to=${yesterday}`))).toEqual(['own']);
  expect(await bookedIn(pathOf(own, `/conversions?from=${dayOf(deps.now())}`))).toEqual(['carrier']);
  expect(await bookedIn(pathOf(own, `/conversions?campaign=${other.campaign}`))).toEqual([]);
});
