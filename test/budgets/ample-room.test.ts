import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { LimitedTotal } from '../../src/budgets/caps.ts';
import { hasAmpleRoom } from '../../src/budgets/usage/totals.ts';
import { createUsageTable, noAmounts, periodNames } from '../../src/budgets/usage/usage.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { fetchOffers } from '../tracking/journey.ts';

const nowMs = Date.UTC(2026, 4, 1, 10, 20);

function roomFor(used: { impressions: number; micros: number }, changes: Partial<LimitedTotal> = {}): boolean {
  const total: LimitedTotal = {
    key: '7',
    campaignId: 7,
    publisherId: null,
    timeZone: 'UTC',
    overspendPercent: 0,
    nextCostMicros: 100_000,
    highestCostMicros: 300_000,
    isPaced: false,
    caps: [
      { metric: 'impressions', per: 'hour', limit: 100 },
      { metric: 'budget', per: 'day', limit: 5 },
    ],
    goal: null,
    ...changes,
  };
  const table = createUsageTable();
  for (const period of periodNames('UTC', nowMs))
    table.set({ ...noAmounts, ...used, campaignId: 7, publisherId: null, period });
  return hasAmpleRoom(table, total, nowMs);
}

describe('the usage of a total matters to a decision', () => {
  test('only if the next event might not fit, at the highest price of any publisher', () => {
    expect(roomFor({ impressions: 0, micros: 0 })).toBe(true);
    expect(roomFor({ impressions: 99, micros: 4_700_000 })).toBe(true);
    expect(roomFor({ impressions: 100, micros: 0 })).toBe(false);
    expect(roomFor({ impressions: 0, micros: 4_700_001 })).toBe(false);
  });

  test('if it is compared with a pacing plan or a goal', () => {
    expect(roomFor({ impressions: 0, micros: 0 }, { isPaced: true })).toBe(false);
    const goal = { metric: 'clicks', sinceMs: 0, byMs: nowMs + 1, period: 'goal' } as const;
    expect(roomFor({ impressions: 0, micros: 0 }, { goal })).toBe(false);
  });
});

describe('fetches of a busy campaign with a total cap', () => {
  let t: TestApp;
  let campaignId: number;
  let nextUser = 0;
  beforeAll(async () => {
    t = await createTestApp();
  });
  afterAll(() => t?.close());

  async function setRules(rules: object): Promise<void> {
    const { rows } = await t.pool.query<{ id: number }>(
      `update campaigns set priority = 0, rules = $1 where id = (select min(id) from campaigns where not is_loyalty)
      returning id`,
      [rules],
    );
    campaignId = rows[0]?.id as number;
    await t.deps.catalog.refresh();
  }

  /** Sends concurrent fetches until leased slices grant them, and returns what the last sessions stored as usage. */
  async function storedTotals(): Promise<unknown[]> {
    let ids: string[] = [];
    for (let round = 0; round < 4; round += 1) {
      const answers = await Promise.all(
        Array.from({ length: 32 }, () => fetchOffers(t, { pub_user_id: `u${nextUser++}` })),
      );
      ids = answers.map(({ sessionId }) => sessionId);
    }
    expect((await t.pool.query('select from cap_leases where $1 = any(campaign_ids)', [campaignId])).rowCount).not.toBe(
      0,
    );
    for (const id of ids.slice(0, 5)) {
      const answer = await t.app.inject({ url: `/manage/v1/sessions/${id}/decision?api_key=demo-key` });
      expect(answer.json().data).toMatchObject({ identical: true });
    }
    const { rows } = await t.pool.query<{ totals: unknown }>(
      "select decision::json -> 3 -> 'totals' as totals from sessions where id = any($1::uuid[])",
      [ids],
    );
    expect(rows).toHaveLength(32);
    return rows.map(({ totals }) => totals);
  }

  test('store its usage only if it could affect the decision', async () => {
    const total_caps = [{ metric: 'impressions', per: 'day', limit: 1_000_000 }];
    await setRules({ total_caps });
    expect(await storedTotals()).toEqual(Array(32).fill(null));
    await setRules({ total_caps, pacing: 'even' });
    const paced = await storedTotals();
    expect(paced.filter((totals) => totals !== null)).toHaveLength(32);
  });

  test('count the impressions of a user who opted out of another campaign only once', async () => {
    await setRules({ total_caps: [{ metric: 'impressions', per: 'lifetime', limit: 1_000_000 }] });
    await storedTotals();
    const { rows } = await t.pool.query<{ user_key: string }>(
      `insert into user_history (user_key, publisher_id, opt_outs, updated_at)
      select user_key, publisher_id, '{"999999": null}', now() from sessions where pub_user_id in ('u0', 'u1', 'u2')
      on conflict (user_key) do update set opt_outs = excluded.opt_outs returning user_key`,
    );
    expect(rows).toHaveLength(3);
    const users = ['u0', 'v1', 'u1', 'v2', 'u2', 'v3'];
    const answers = await Promise.all(users.map((pub_user_id) => fetchOffers(t, { pub_user_id })));
    const ids = answers.map(({ sessionId }) => sessionId);
    const stored = await t.pool.query('select from sessions where id = any($1::uuid[])', [ids]);
    expect(stored.rowCount).toBe(users.length);
    const usage = await t.pool.query<{ used: number; reserved: number }>(
      `select (select impressions from campaign_usage where campaign_id = $1 and period = 'lifetime')::int
          - coalesce((select sum(slice.impressions)
          from cap_leases, unnest(campaign_ids, impressions) as slice (campaign_id, impressions)
          where slice.campaign_id = $1), 0)::int as used,
        (select count(*)::int from cap_reservations, json_array_elements(reserved::json) as zone,
          json_array_elements(zone -> 1) as entry where (entry ->> 1)::int = $1) as reserved`,
      [campaignId],
    );
    expect(usage.rows[0]?.used).toBe(usage.rows[0]?.reserved);
  });
});
