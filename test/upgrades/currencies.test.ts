import { afterEach, beforeEach, expect, test } from 'vitest';
import { migrate } from '../../src/platform/db/migrate.ts';
import { restoreFixture } from './fixture.ts';

let database: Awaited<ReturnType<typeof restoreFixture>>;
beforeEach(async () => {
  database = await restoreFixture('schema-0071');
});
afterEach(() => database?.drop());

/** Publisher 2 has no rows in the fixture. */
const publisher = 2;
const hour = '2026-11-15T10:00:00Z';
const day = '2026-11-15T00:00:00Z';
const counts = 'sessions, filled_sessions, impressions, clicks, no_thanks, closes, saves, selections, conversions';
const zeros = counts.replaceAll(/\w+/g, '0');

type Sum = { grain: number; placement?: string; offer?: number; country?: string; campaign?: number; units: number };

/** Adds a sum as the earlier release stored it, without a currency. It covers an hour, or a day from grain 16 on. */
const add = ({ grain, placement = '', offer = 0, country = '', campaign = 0, units }: Sum) =>
  database.client.query(
    `insert into rollups (publisher_id, grain, bucket, placement, offer_id, country, device, os, campaign_id, ${counts},
      revenue_micros, unbilled_micros)
    values ($1, $2, $3, $4, $5, $6, '', '', $7, ${zeros}, $8::bigint, $8::bigint / 10)`,
    [publisher, grain, grain >= 16 ? day : hour, placement, offer, country, campaign, units * 1e6],
  );

/** Returns the revenue by currency for the totals of a grain, in units. */
async function moneyOf(grain: number): Promise<string[]> {
  const { rows } = await database.client.query<{ text: string }>(
    `select concat_ws(' ', nullif(placement, ''), nullif(offer_id, 0), nullif(country, ''), currency,
      revenue_micros / 1000000, unbilled_micros / 100000) as text
    from rollup_money where publisher_id = $1 and grain = $2 order by 1`,
    [publisher, grain],
  );
  return rows.map(({ text }) => text);
}

/** Adds history of mixed currencies: campaign 1 pays in USD, campaign 2 in EUR, and campaign 99999 was removed. */
async function addMixedHistory(): Promise<void> {
  const { client } = database;
  await client.query("update campaigns set payout_currency = 'EUR' where id = 2");
  await client.query(
    `insert into publishers (id, name, sdk_id) overriding system value values ($1, 'Mixed', 'eeeeeeeeeeeeeeee')
    on conflict (id) do nothing`,
    [publisher],
  );
  const offers = [
    { offer: 901, campaign: 1, units: 5 },
    { offer: 902, campaign: 2, units: 3 },
    { offer: 903, campaign: 99_999, units: 7 },
  ];
  for (const offer of offers) {
    await add({ ...offer, grain: 2 });
    await add({ ...offer, grain: 3, placement: 'checkout' });
    await add({ ...offer, grain: 18 });
    await add({ ...offer, grain: 19, placement: 'checkout' });
  }
  await add({ grain: 3, placement: 'cart', offer: 901, campaign: 1, units: 2 });
  await add({ grain: 1, placement: 'checkout', units: 15 });
  await add({ grain: 1, placement: 'cart', units: 2 });
  await add({ grain: 0, units: 15 });
  await add({ grain: 17, placement: 'checkout', units: 15 });
  await add({ grain: 5, placement: 'checkout', country: 'DE', units: 15 });
  await client.query(
    `insert into custom_rollups (publisher_id, key, grain, bucket, value, ${counts}, revenue_micros, unbilled_micros)
    values ($1, 'plan', 0, $2, 'gold', ${zeros}, 15000000, 1500000)`,
    [publisher, hour],
  );
  await client.query(
    `insert into minute_rollups (publisher_id, minute, ${counts}, revenue_micros, unbilled_micros)
    values ($1, $2, ${zeros}, 15000000, 1500000)`,
    [publisher, '2026-11-15T10:07:00Z'],
  );
  for (const [key, placement] of [
    ['mixed', 'checkout'],
    ['single', 'cart'],
  ]) {
    await client.query(
      `with made as (
        insert into experiments (publisher_id, key, name, placements, holdout, arms, salt, started_at)
        values ($1, $2, '', array[$3], 0, '{}', 'salt', $4::timestamptz - interval '1 hour') returning id
      )
      insert into experiment_units (experiment_id, version, arm, unit_key, first_at, sessions, would_see,
        revenue_micros, device, country)
      select id, 1, 'b', gen_random_uuid(), $4, 1, 1, 4000000, '', '' from made`,
      [publisher, key, placement, hour],
    );
  }
}

test('history in several currencies is split by currency, or by XXX if it is unknown', async () => {
  await addMixedHistory();
  await migrate(database.url);
  const byOffer = ['901 USD 5 5', '902 EUR 3 3', '903 XXX 7 7'];
  expect(await moneyOf(2)).toEqual(byOffer);
  expect(await moneyOf(18)).toEqual(byOffer);
  expect(await moneyOf(0)).toEqual(['EUR 3 3', 'USD 5 5', 'XXX 7 7']);
  expect(await moneyOf(1)).toEqual(['cart USD 2 2', 'checkout EUR 3 3', 'checkout USD 5 5', 'checkout XXX 7 7']);
  expect(await moneyOf(17)).toEqual(['checkout EUR 3 3', 'checkout USD 5 5', 'checkout XXX 7 7']);
  expect(await moneyOf(5)).toEqual(['checkout DE XXX 15 15']);
  const { rows } = await database.client.query(
    `select currency, revenue_micros::int as micros from custom_rollup_money where publisher_id = $1
    union all select currency, revenue_micros::int from minute_money where publisher_id = $1`,
    [publisher],
  );
  expect(rows).toEqual([
    { currency: 'XXX', micros: 15_000_000 },
    { currency: 'XXX', micros: 15_000_000 },
  ]);
});

test('no total loses or gains any amount', async () => {
  await addMixedHistory();
  await migrate(database.url);
  for (const [sums, money, key] of [
    ['rollups', 'rollup_money', 'publisher_id, grain, bucket, placement, offer_id, country, device, os'],
    ['custom_rollups', 'custom_rollup_money', 'publisher_id, key, grain, bucket, value'],
    ['minute_rollups', 'minute_money', 'publisher_id, minute'],
  ]) {
    const { rows } = await database.client.query(
      `select ${key}, sum(revenue) as revenue, sum(unbilled) as unbilled from (
        select ${key}, revenue_micros as revenue, unbilled_micros as unbilled from ${sums}
        union all select ${key}, -revenue_micros, -unbilled_micros from ${money}
      ) as sums group by ${key} having sum(revenue) <> 0 or sum(unbilled) <> 0`,
    );
    expect(rows, sums).toEqual([]);
  }
});

test('an experiment in several currencies has no revenue, and one in a single currency keeps it', async () => {
  await addMixedHistory();
  await migrate(database.url);
  const { rows } = await database.client.query(
    `select e.key, c.currency, m.currency as booked, m.revenue_micros::int as micros
    from experiments e join experiment_currencies c on c.experiment_id = e.id
    join experiment_money m on m.experiment_id = e.id where e.publisher_id = $1 order by 1`,
    [publisher],
  );
  expect(rows).toEqual([
    { key: 'mixed', currency: 'XXX', booked: 'XXX', micros: 4_000_000 },
    { key: 'single', currency: 'USD', booked: 'USD', micros: 4_000_000 },
  ]);
});
