import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { loadVersion } from '../../../src/catalog/snapshot/load.ts';
import { loadSnapshot } from '../../../src/catalog/store.ts';
import type { Offer } from '../../../src/catalog/types.ts';
import { buildIndex } from '../../../src/decision/build-index.ts';
import { transaction } from '../../../src/platform/db/pool.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

/** Two processes share one database. */
let first: TestApp;
let other: TestApp;
beforeAll(async () => {
  first = await createTestApp();
  other = await createTestApp({ databaseUrl: first.databaseUrl });
});
afterAll(async () => {
  await other?.close();
  await first?.close();
});

type ShownOffer = { id: number; campaign_id: number; title: string; click_url: string };

async function offersOf({ app, publisher }: TestApp, query = ''): Promise<ShownOffer[]> {
  const answer = await app.inject({
    method: 'POST',
    url: `/native/v4/offers.json?api_key=${publisher.key}${query}`,
    payload: { placement: 'checkout' },
  });
  expect(answer.statusCode).toBe(200);
  return answer.json().data.offers;
}

/** Changes become visible within a second, or later on a busy machine, so tests poll for them. */
const patiently = { interval: 25 };

let best: ShownOffer;
beforeEach(async () => {
  await expect.poll(async () => (await offersOf(other)).length, patiently).toBe(3);
  best = (await offersOf(other))[0] as ShownOffer;
});

describe('a change made by plain SQL is served by every process without a restart', () => {
  test('to a text', async () => {
    await first.pool.query('update offers set title = $1 where id = $2', ['Changed by hand', best.id]);
    for (const app of [first, other])
      await expect.poll(async () => (await offersOf(app))[0]?.title, patiently).toBe('Changed by hand');
  });

  test('to the order', async () => {
    const [, second] = await offersOf(other);
    await first.pool.query('update campaigns set priority = 0 where id = $1', [second?.campaign_id]);
    await expect.poll(async () => (await offersOf(other))[0]?.id, patiently).toBe(second?.id);
  });

  test('to the number of offers', async () => {
    await first.pool.query('update publishers set offers_per_response = 1');
    await expect.poll(async () => (await offersOf(other)).length, patiently).toBe(1);
    await first.pool.query('update publishers set offers_per_response = 3');
    await expect.poll(async () => (await offersOf(other)).length, patiently).toBe(3);
  });

  test('to many rows in one transaction, as a whole or not at all', async () => {
    const snapshot = () => other.deps.catalog.current();
    const { rows } = await first.pool.query<{ id: number }>('select id from offers order by id');
    const before = snapshot();
    await transaction(first.pool, async (executor) => {
      for (const { id } of rows) await executor.query("update offers set cta_yes = 'All together' where id = $1", [id]);
      await other.deps.catalog.refresh();
      expect(snapshot()).toBe(before);
    });
    await expect.poll(() => snapshot() !== before, patiently).toBe(true);
    expect(new Set([...snapshot().offers.values()].map(({ copy }) => copy.ctaYes))).toEqual(new Set(['All together']));
  });

  test('to every configuration table', async () => {
    const columns: Record<string, string> = {
      api_keys: 'revoked_at',
      creatives: 'user_id',
      offers: 'title',
      campaign_publishers: 'active',
      sequence_rules: 'active',
      exchange_rates: 'rate',
    };
    await first.pool.query("insert into exchange_rates select min(id), 'USD', '2026-01-01', 1.08 from publishers");
    await first.pool.query(
      `insert into sequence_rules (publisher_id, effect, match, active)
      select min(id), 'deny', '{}', false from publishers`,
    );
    for (const table of [
      'publishers',
      'api_keys',
      'themes',
      'placements',
      'advertisers',
      'campaigns',
      'offers',
      'creatives',
      'campaign_publishers',
      'sequence_rules',
      'exchange_rates',
    ]) {
      const { version: before } = await loadVersion(first.pool);
      const column = columns[table] ?? 'name';
      await first.pool.query(`update ${table} set ${column} = ${column} where false`);
      expect((await loadVersion(first.pool)).version, `${table}, no row`).toBe(before);
      await first.pool.query(`update ${table} set ${column} = ${column}`);
      expect((await loadVersion(first.pool)).version, table).toBeGreaterThan(before);
    }
  });
});

describe('an offer disappears from responses', () => {
  const gone = (): Promise<void> =>
    expect
      .poll(async () => (await offersOf(other, `&loyaltyboost=1&campaignId=${best.campaign_id}`)).length, patiently)
      .toBe(0);
  const back = (): Promise<void> =>
    expect
      .poll(async () => (await offersOf(other, `&loyaltyboost=1&campaignId=${best.campaign_id}`)).length, patiently)
      .toBe(1);

  test.each([
    [
      'when its campaign is paused',
      'update campaigns set active = false where id = $1',
      'update campaigns set active = true where id = $1',
    ],
    [
      'when its campaign is removed',
      'update campaigns set deleted_at = now() where id = $1',
      'update campaigns set deleted_at = null where id = $1',
    ],
    [
      'when all offers of its campaign are paused',
      'update offers set active = false where campaign_id = $1',
      'update offers set active = true where campaign_id = $1',
    ],
    [
      'when it is removed',
      'update offers set deleted_at = now() where campaign_id = $1',
      'update offers set deleted_at = null where campaign_id = $1',
    ],
  ])('%s, and returns afterwards', async (_when, away, again) => {
    await first.pool.query(away, [best.campaign_id]);
    await gone();
    // A user who saw the offer earlier can still follow its link.
    const click = await other.app.inject(best.click_url.replace('http://perks.test', ''));
    expect(click.statusCode).toBe(302);
    await first.pool.query(again, [best.campaign_id]);
    await back();
  });
});

describe('an offer that was removed', () => {
  const removedAt = async (sql: string): Promise<Offer | undefined> => {
    await first.pool.query(`update offers set deleted_at = ${sql} where id = $1`, [best.id]);
    const { offers } = await loadSnapshot(first.pool, buildIndex, { nowMs: Date.now() });
    await first.pool.query('update offers set deleted_at = null where id = $1', [best.id]);
    return offers.get(best.id);
  };

  test('remains available for 31 days, because its links are valid for 30', async () => {
    expect(await removedAt('now()')).toMatchObject({ id: best.id, active: false });
    expect(await removedAt("now() - interval '30 days 23 hours'")).toMatchObject({ id: best.id, active: false });
    expect(await removedAt("now() - interval '31 days 1 minute'")).toBeUndefined();
  });
});

test('two concurrent refreshes load once, and both see the change', async () => {
  await first.pool.query("update offers set cta_no = 'Both see it' where id = $1", [best.id]);
  await Promise.all([other.deps.catalog.refresh(), other.deps.catalog.refresh(), other.deps.catalog.refresh()]);
  expect(other.deps.catalog.current().offers.get(best.id)?.copy.ctaNo).toBe('Both see it');
});

test('a request uses one snapshot throughout, because snapshots are never modified', async () => {
  const before = first.deps.catalog.current();
  const text = JSON.stringify([...before.offers.values()]);
  await first.pool.query("update offers set title = 'Another title'");
  await expect.poll(() => first.deps.catalog.current() !== before, patiently).toBe(true);
  expect(JSON.stringify([...before.offers.values()])).toBe(text);
});
