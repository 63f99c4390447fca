import type pg from 'pg';
import { describe, expect, test } from 'vitest';
import { verifyRollups } from '../../src/reports/verify.ts';
import { clonePool } from '../support/database.ts';
import { hasNats } from '../support/nats.ts';
import { timeLimit } from '../support/time-limit.ts';
import { type Hook, startHook } from '../webhooks/dispatcher/support.ts';
import { createCatalogue, limits } from './set-ups/catalogue.ts';
import { type Client, createClient } from './set-ups/client.ts';
import { createJourney } from './set-ups/journey.ts';
import { balanceOf, days, type Report, reconciliationOf, reportOf } from './set-ups/reports.ts';
import { type Running, setUps, startSetUp } from './set-ups/set-ups.ts';

const cappedUsers = 3;

if (!hasNats) console.warn('The set-up with an event log is left out: apt-get install nats-server.');

describe.each(setUps)('the same results in every setup: $name', (setUp) => {
  test.skipIf(setUp.eventLog && !hasNats)(
    'enforces caps and budgets, deduplicates calls and webhooks, re-decides, and reports exactly',
    // Long timeout: built processes handle a day of traffic.
    { timeout: timeLimit(300_000) },
    async () => {
      const { url, pool, close } = await clonePool(1);
      const hook = await startHook();
      let running: Running | null = null;
      try {
        await pool.query('update campaigns set active = false');
        running = await startSetUp(setUp, url);
        await check(running, pool, hook);
      } finally {
        await running?.stop();
        await hook.close();
        await close();
      }
    },
  );
});

async function check({ urls }: Pick<Running, 'urls'>, pool: pg.Pool, hook: Hook): Promise<void> {
  const client = createClient(urls);
  const catalogue = await createCatalogue(client, hook.url);
  const journey = createJourney(client, catalogue);
  const slices = async () => (await pool.query<{ id: string }>('select id from cap_leases')).rows.map(({ id }) => id);

  const leased = await journey.lease(urls.length, slices);
  const total = await journey.exhaust.total();
  expect(total).toHaveLength(limits.total);
  const budget = await journey.exhaust.budget();
  expect(budget).toHaveLength(limits.budget);
  expect(await journey.exhaust.users(cappedUsers)).toBe(cappedUsers * limits.user);
  await journey.track();
  const hasty = await journey.clickTooFast();
  await journey.refuse();
  await journey.convert();
  const wrapped = await journey.wrap();

  const decided = [total[0], total.at(-1), budget.at(-1)].map((offer) => offer?.sessionId as string);
  expect(await journey.redecide([...decided, wrapped.selected])).toEqual([true, true, true, true]);
  await checkWebhooks(client, hook, wrapped);
  const byHand = {
    leased: { impressions: leased },
    total: { impressions: limits.total },
    budget: { impressions: limits.budget, revenue: limits.budget },
    user: { impressions: cappedUsers * limits.user },
    tracked: { impressions: 2, clicks: 1, closes: 1, revenue: 0.5 },
    hasty: { impressions: hasty.attempts },
    refused: { impressions: 1, no_thanks: 1 },
    sold: { impressions: 1, clicks: 1, conversions: 1, revenue: 10 },
    perk: { selections: 1 },
  };
  await checkReports(client, () => reportOf(client, catalogue), byHand, hasty);
  const { from, to } = days();
  const connection = await pool.connect();
  const { compared, differences } = await verifyRollups(connection, from, to).finally(() => connection.release());
  expect(differences).toEqual([]);
  expect(compared).toBeGreaterThan(0);
}

/** Checks that each expected webhook arrived once, and no others. */
async function checkWebhooks(client: Client, hook: Hook, wrapped: { selected: string; none: string }): Promise<void> {
  // One postback per booking: a paid click, two sales, the void of one sale, and the conversion of a suspicious click.
  const postbacks = ['click', 'conversion', 'sale', 'sale', 'sale'];
  const selections = [`${wrapped.selected} selected 1`, `${wrapped.none} selected 0`];
  await expect.poll(() => contentsOf(hook)).toEqual([...selections, ...postbacks].sort());
  await expect.poll(() => balanceOf(client)).toEqual({ created: 7, delivered: 7, balanced: true });
  expect(new Set(hook.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(7);
}

const contentsOf = ({ requests }: Hook): string[] =>
  requests
    .map(({ body }) => {
      const { body: selection, event } = JSON.parse(body.toString());
      return selection === undefined ? event : `${selection.session_id} selected ${selection.selected}`;
    })
    .sort();

/**
 * Checks that reports and reconciliation match what the client did and received. Among the fast clicks, those that came
 * late enough count.
 */
async function checkReports(
  client: Client,
  report: () => Promise<Report>,
  byHand: Report,
  hasty: { attempts: number; certain: number },
): Promise<void> {
  const { served } = client;
  let lateClicks = 0;
  await expect
    .poll(async () => {
      const { hasty: hastyCounts, ...others } = await report();
      const { clicks = 0, ...rest } = hastyCounts;
      lateClicks = clicks;
      return { ...others, hasty: rest };
    })
    .toEqual(byHand);
  const impressions = Object.values(byHand).reduce((sum, counts) => sum + (counts.impressions ?? 0), 0);
  await expect
    .poll(() => reconciliationOf(client))
    .toMatchObject({
      sessions: served.sessions,
      filled_sessions: served.filled,
      offers_served: served.offers,
      events: { impression: impressions, click: 2 + lateClicks, close: 1, no_thanks: 1, selection: 1 },
      suspicious: { click: { no_impression: 1, too_fast: hasty.attempts - lateClicks }, impression: { bot: 1 } },
      balanced: true,
    });
  expect(hasty.attempts - lateClicks).toBeGreaterThanOrEqual(hasty.certain);
}
