import { afterAll, beforeAll, expect, test } from 'vitest';
import { addSums } from '../../reports/support.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { signInAs } from '../support.ts';

let t: TestApp;
let nowMs = 0;
beforeAll(async () => {
  t = await createTestApp({ now: () => nowMs });
  await t.pool.query("update publishers set time_zone = 'Europe/Berlin'");
  await t.deps.catalog.refresh();
  await t.pool.query("select create_report_partitions('2026-03-01', '2026-11-30')");
});
afterAll(() => t?.close());

const sums = (at: string, sessions: number) => ({
  at: new Date(at),
  placement: 'checkout',
  campaignId: 1,
  offerId: 1,
  sessions,
});

test('the base path of a publisher redirects to its overview, and that of another is not found', async () => {
  nowMs = Date.parse('2026-06-10T12:00:00Z');
  const analyst = await signInAs(t, 'analyst');
  const own = `/dashboard/p/${t.publisher.id}`;
  expect((await analyst.get(own)).headers.location).toBe(`${own}/overview`);
  expect((await analyst.get('/dashboard/p/999999')).statusCode).toBe(404);
});

test('offers of other publishers have no link, and no name once they are no longer shown', async () => {
  nowMs = Date.parse('2026-07-10T12:00:00Z');
  const { rows } = await t.pool.query<{ id: number; campaign_id: number }>(
    `with other as (insert into publishers (name, sdk_id) values ('Other', 'ffffffffffffffff') returning id),
      advertiser as (insert into advertisers (publisher_id, name) select id, 'Their ads' from other returning *),
      campaign as (insert into campaigns (publisher_id, advertiser_id, name, landing_url)
        select publisher_id, id, 'Theirs', 'https://theirs.example/' from advertiser returning *)
    insert into offers (publisher_id, campaign_id, title) select publisher_id, id, 'Their offer' from campaign
    returning id, campaign_id`,
  );
  const [{ id, campaign_id: campaignId } = { id: 0, campaign_id: 0 }] = rows;
  await addSums(t, [{ ...sums('2026-07-09T10:00:00Z', 5), offerId: id, campaignId, impressions: 5 }]);
  const analyst = await signInAs(t, 'analyst');
  const readVisibility = async (): Promise<[boolean, boolean]> => {
    await t.deps.catalog.refresh();
    const { body } = await analyst.get(`/dashboard/p/${t.publisher.id}/overview/offers?days=7`);
    expect(body).not.toContain(`/offers/${id}"`);
    return [body.includes('Their offer'), body.includes(`Offer ${id}`)];
  };
  expect(await readVisibility()).toEqual([false, true]);
  await t.pool.query('insert into campaign_publishers (campaign_id, publisher_id) values ($1, $2)', [
    campaignId,
    t.publisher.id,
  ]);
  expect(await readVisibility()).toEqual([true, false]);
});

test('offers have no fill rate, because every session that shows one is filled', async () => {
  nowMs = Date.parse('2026-08-10T12:00:00Z');
  await addSums(t, [{ ...sums('2026-08-09T10:00:00Z', 5), filled_sessions: 4, impressions: 4 }]);
  const analyst = await signInAs(t, 'analyst');
  const overview = `/dashboard/p/${t.publisher.id}/overview`;
  const [placements] = (await analyst.get(`${overview}?days=7`)).body.split('<h2 class="section">').slice(-1);
  const offers = (await analyst.get(`${overview}/offers?days=7`)).body;
  expect(placements).toContain('Fill rate');
  expect(placements).toContain('80%');
  expect(offers).toContain('CTR');
  expect(offers).not.toContain('Fill rate');
});

test("the tables for its charts format days and amounts in the reader's locale", async () => {
  nowMs = Date.parse('2026-06-10T12:00:00Z');
  await addSums(t, [{ ...sums('2026-06-09T10:00:00Z', 5), revenue_micros: 1_234_567_890 }]);
  const analyst = await signInAs(t, 'analyst');
  const overview = `/dashboard/p/${t.publisher.id}/overview?days=7`;
  const { body } = await analyst.get(overview, { 'accept-language': 'de-DE' });
  expect(body).toMatch(/<td>Di\.?, 9\. Juni?<\/td><td class="numeric"><a [^>]*>1\.234,57\s\$<\/a><\/td>/);
  expect(body).toContain('&quot;style&quot;:{&quot;currency&quot;:&quot;USD&quot;}');
});

test.each([
  ['00:30', 'spring', '2026-04-01T00:30+02:00', '2026-03-25T00:00+01:00', '2026-03-25T01:00+01:00'],
  ['23:30', 'autumn', '2026-10-28T23:30+01:00', '2026-10-21T23:00+02:00', '2026-10-22T00:00+02:00'],
])(
  'compares today with the same hours of last week at %s after the clock change in %s',
  async (_time, _season, now, lastWeek, later) => {
    nowMs = Date.parse(now);
    await addSums(t, [sums(now.replace(':30', ':00'), 150), sums(lastWeek, 100), sums(later, 7000)]);
    const analyst = await signInAs(t, 'analyst');
    const { body } = await analyst.get(`/dashboard/p/${t.publisher.id}/overview?days=7`);
    const text = body.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
    expect(text).toMatch(/Sessions 150 up ▲ 50\.0\s?%/);
  },
);
