import { afterAll, beforeAll, expect, test } from 'vitest';
import { emptyModel, loadModel, readModel, writeModel } from '../../src/learning/posteriors.ts';
import { posteriorKey } from '../../src/learning/types.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
const nowMs = Date.now();
beforeAll(async () => {
  t = await createTestApp();
});
afterAll(() => t.close());

async function addRollup(
  offerId: number,
  placement: string,
  counts: { impressions: number; clicks: number; conversions: number; micros: number },
) {
  await t.pool.query(
    `insert into rollups (publisher_id, grain, bucket, placement, offer_id, country, device, os, campaign_id, sessions,
      filled_sessions, impressions, clicks, no_thanks, closes, saves, selections, conversions, revenue_micros)
    values ($1, 19, date_trunc('day', now()), $2, $3, '', '', '', 0, 0, 0, $4, $5, 0, 0, 0, 0, $6, $7)`,
    [t.publisher.id, placement, offerId, counts.impressions, counts.clicks, counts.conversions, counts.micros],
  );
}

test('the average sale is reckoned by the share that the publisher pays, not by that of the campaign', async () => {
  const [offer] = [...t.deps.catalog.current().offers.values()].slice(-1);
  const campaignId = offer?.campaign.id as number;
  await t.pool.query("update campaigns set payout_kind = 'cps', payout_amount = 5 where id = $1", [campaignId]);
  await t.pool.query(
    `insert into campaign_publishers (campaign_id, publisher_id, payout_amount) values ($1, $2, 10)
    on conflict (campaign_id, publisher_id) do update set payout_amount = 10`,
    [campaignId, t.publisher.id],
  );
  await t.deps.catalog.refresh();
  await addRollup(offer?.id as number, 'wallet', { impressions: 9, clicks: 3, conversions: 2, micros: 8_000_000 });
  const { posteriors } = await loadModel(t.pool, t.deps.catalog.current(), nowMs);
  // 4 earned by a sale are 10 % of 40.
  expect(posteriors.averageSaleMicros.get(campaignId)).toBe(40_000_000);
  await t.pool.query('delete from rollups');
});

test('the model is empty without events', async () => {
  expect(await loadModel(t.pool, t.deps.catalog.current(), nowMs)).toBe(emptyModel);
});

test('the model counts events by placement, offer and category, and survives its serialisation', async () => {
  const offers = [...t.deps.catalog.current().offers.values()];
  const [first, second] = offers.filter((offer) => offer.campaign.category === offers[0]?.campaign.category);
  const [firstId, secondId] = [first?.id as number, second?.id as number];
  await t.pool.query("update campaigns set payout_kind = 'cps', payout_amount = 10 where id = $1", [
    first?.campaign.id,
  ]);
  await t.deps.catalog.refresh();
  await addRollup(firstId, 'checkout', { impressions: 100, clicks: 10, conversions: 2, micros: 8_000_000 });
  await addRollup(firstId, 'order-status', { impressions: 50, clicks: 1, conversions: 0, micros: 0 });
  await addRollup(secondId, 'checkout', { impressions: 7, clicks: 7, conversions: 7, micros: 0 });

  const { id, posteriors } = await loadModel(t.pool, t.deps.catalog.current(), nowMs);
  expect(posteriors.placements.get(posteriorKey(t.publisher.id, 'checkout'))?.get(firstId)).toEqual({
    impressions: 100,
    clicks: 10,
    conversions: 2,
  });
  expect(posteriors.offers.get(firstId)).toEqual({ impressions: 150, clicks: 11, conversions: 2 });
  expect(posteriors.categories.get(first?.campaign.category as string)).toEqual({
    impressions: 157,
    clicks: 18,
    conversions: 9,
  });
  // 4 earned by a sale are 10 % of 40.
  expect(posteriors.averageSaleMicros.get(first?.campaign.id as number)).toBe(40_000_000);
  expect(readModel(writeModel(posteriors))).toEqual(posteriors);
  expect((await loadModel(t.pool, t.deps.catalog.current(), nowMs)).id).toBe(id);
  expect(await loadModel(t.pool, t.deps.catalog.current(), nowMs + 32 * 86_400_000)).toBe(emptyModel);
});
