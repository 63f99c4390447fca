import type pg from 'pg';
import type { Registry } from 'prom-client';
import type { CatalogStore } from '../../catalog/store.ts';
import { emptyModel } from '../../learning/model.ts';
import { registerGauge } from '../../platform/metrics/gauges.ts';
import { fromMicros } from '../../platform/money.ts';
import { activeCapsOf } from '../caps.ts';
import { loadTrueUsage } from '../slices/rows.ts';
import { findStandings } from '../standing.ts';

type Sources = { pool: pg.Pool; catalog: CatalogStore; now: () => number };

/** Maximum age of reported budget figures, in milliseconds. */
const maxAgeMs = 15_000;

const amounts = [
  { name: 'spent', help: 'Total booked amount of campaigns with budgets or total caps, by currency.' },
  { name: 'reserved', help: 'Amount reserved for recently shown offers of these campaigns, by currency.' },
  { name: 'unbilled', help: 'Amount of their events that was not booked because it exceeded a budget, by currency.' },
] as const;

type Money = Record<(typeof amounts)[number]['name'], number>;

/** Registers the budget gauges. All processes report the same values. */
export function registerBudgetMetrics(registry: Registry, sources: Sources): void {
  for (const { name, help } of amounts)
    registerGauge(registry, {
      name: `perkwire_budget_${name}`,
      help,
      labelName: 'currency',
      maxAgeMs,
      now: sources.now,
      read: async () => [...(await readMoney(sources))].map(([label, money]) => ({ label, value: money[name] })),
    });
  registerGauge(registry, {
    name: 'perkwire_budgets',
    help: 'Number of budgets and total caps in their current period, by state (open, waiting or reached).',
    labelName: 'state',
    maxAgeMs,
    now: sources.now,
    read: () => readStates(sources),
  });
}

/** Adds up the lifetime amounts of campaigns by currency. Each campaign is counted once. */
async function readMoney({ pool, catalog }: Sources): Promise<Map<string, Money>> {
  const { offers } = await catalog.checked();
  const campaigns = new Map([...offers.values()].map(({ campaign }) => [campaign.id, campaign]));
  const usages = await loadTrueUsage(pool, ['lifetime']);
  const counted = new Set(usages.filter((used) => used.publisherId === null).map((used) => used.campaignId));
  const sums = new Map<string, Money>();
  for (const { campaignId, publisherId, micros, spentMicros, unbilledMicros } of usages) {
    const campaign = campaigns.get(campaignId);
    // Skip the publisher's usage if the campaign has caps of its own: the campaign's usage over all publishers already
    // includes it.
    if (campaign === undefined || (publisherId !== null && counted.has(campaignId))) continue;
    const { currency } = campaign.payout;
    const sum = sums.get(currency) ?? { spent: 0, reserved: 0, unbilled: 0 };
    sums.set(currency, {
      spent: sum.spent + fromMicros(spentMicros),
      reserved: sum.reserved + fromMicros(Math.max(0, micros - spentMicros)),
      unbilled: sum.unbilled + fromMicros(unbilledMicros),
    });
  }
  return sums;
}

async function readStates({ pool, catalog, now }: Sources): Promise<{ label: string; value: number }[]> {
  const { totals } = activeCapsOf(await catalog.checked());
  const standings = await findStandings(pool, { totals, nowMs: now(), model: emptyModel, rulesOf: () => null });
  const states = { open: 0, waiting: 0, reached: 0 };
  for (const { limit, spent, reserved, nextCost, exhausted } of [...standings.values()].flatMap(
    ({ limits }) => limits,
  )) {
    if (exhausted) states.reached += 1;
    else if (spent + reserved + nextCost > limit) states.waiting += 1;
    else states.open += 1;
  }
  return Object.entries(states).map(([label, value]) => ({ label, value }));
}
