import type pg from 'pg';
import { findExpiringKeys } from '../accounts/keys.ts';
import type { AccountDeps } from '../accounts/ports.ts';
import { budgetKey, findReachedBudgets } from '../budgets/reached-budgets.ts';
import { readStock } from '../coupons/stock.ts';
import { transaction } from '../platform/db/pool.ts';
import { hourMs } from '../platform/lib/time.ts';
import { findPlacementDrops, type PlacementDrop } from '../reports/placement-drops.ts';
import { currencyOf } from '../reports/service.ts';
import type { AlertFact } from './kinds.ts';
import { recordAlerts } from './record.ts';

type CheckDeps = { pool: pg.Pool; catalog: AccountDeps['catalog']; now: () => number };

const nearlyUsed = 0.8;

/** Records the budgets of which 80% are used, once for each period. Those used up have an event of their own. */
export async function checkBudgets({ pool, catalog, now }: CheckDeps): Promise<void> {
  const [snapshot, nowMs] = [catalog.current(), now()];
  const usedUp = new Set((await findReachedBudgets(pool, snapshot, nowMs)).map(budgetKey));
  const nearly = (await findReachedBudgets(pool, snapshot, nowMs, nearlyUsed)).filter(
    (one) => one.metric === 'budget' && !usedUp.has(budgetKey(one)),
  );
  const facts = nearly.map((budget): AlertFact => {
    const { campaign, per, limit } = budget;
    const { currency } = campaign.payout;
    const data = { campaign_id: campaign.id, name: campaign.name, per, limit, currency };
    const publisherId = budget.publisherId ?? campaign.publisherId;
    return { publisherId, kind: 'budget.80', subject: String(campaign.id), cause: budgetKey(budget), data };
  });
  await recordAlerts(pool, facts, nowMs);
}

/** Days before the end of a key at which its publisher is told of it. */
const noticeDays = [30, 7, 1] as const;

/** Records the keys that end soon: once for each of these days, and for none that was made with less left. */
export async function checkKeys({ pool, now }: Pick<CheckDeps, 'pool' | 'now'>): Promise<void> {
  const expiring = await findExpiringKeys(pool, noticeDays, now());
  const facts = expiring.map(({ id, publisherId, name, expiresAt, lastUsedAt, days }): AlertFact => {
    const data = { key_id: id, name, days, expires_at: expiresAt, last_used_at: lastUsedAt };
    const cause = `${expiresAt.toISOString()} ${days}`;
    return { publisherId, kind: 'key.expires', subject: String(id), cause, data };
  });
  await recordAlerts(pool, facts, now());
}

/**
 * Records the offers whose codes run low, by share or at today's rate, and those that are paused without any: each
 * once, until codes are added or removed.
 */
export async function checkCoupons({ pool, catalog, now }: CheckDeps): Promise<void> {
  const [{ offers }, nowMs] = [catalog.current(), now()];
  const facts = (await readStock(pool, null, nowMs)).flatMap(({ offerId, publisherId, paused, view }): AlertFact[] => {
    const offer = offers.get(offerId);
    // A pool without a code ever is one that is being filled.
    if (offer === undefined || view.total === 0 || !(paused || view.low)) return [];
    const { left, hours_left: hoursLeft, total } = view;
    const data = { offer_id: offerId, name: offer.copy.title, left, hours_left: hoursLeft };
    const kind = paused ? 'coupons.empty' : 'coupons.low';
    return [{ publisherId, kind, subject: String(offerId), cause: `of ${total}`, data }];
  });
  await recordAlerts(pool, facts, nowMs);
}

/** Hours that are compared with those of last week (count). */
const comparedHours = 6;

/**
 * Records the placements whose fill rate or revenue is down by half against the same hours of last week: once, until
 * it is no longer so.
 */
export async function checkPlacements({ pool, catalog, now }: CheckDeps): Promise<void> {
  const nowMs = now();
  const publisherIds = [...catalog.current().publishers.keys()];
  await transaction(pool, async (executor) => {
    await executor.query("select pg_advisory_xact_lock(hashtext('perkwire_alerts'))");
    const drops = await findPlacementDrops(executor, { publisherIds, nowMs, hours: comparedHours });
    if (drops === null) return;
    const { rows } = await executor.query<{ id: string; key: string }>(
      `select id, concat_ws(' ', publisher_id, kind, subject) as key from alerts
      where kind like 'placement.%' and ended_at is null`,
    );
    const found = new Set(drops.map(keyOf));
    const over = rows.filter(({ key }) => !found.has(key)).map(({ id }) => id);
    await executor.query('update alerts set ended_at = $2 where id = any($1::bigint[])', [over, new Date(nowMs)]);
    const open = new Set(rows.map(({ key }) => key));
    const fresh = drops.filter((drop) => !open.has(keyOf(drop)));
    await recordAlerts(
      executor,
      fresh.map((drop) => factOf(drop, currencyOf(catalog.current(), drop.publisherId), nowMs)),
      nowMs,
    );
  });
}

const keyOf = ({ publisherId, metric, placement }: PlacementDrop): string =>
  `${publisherId} placement.${metric} ${placement}`;

const factOf = (
  { publisherId, metric, placement, now, before }: PlacementDrop,
  currency: string | null,
  nowMs: number,
): AlertFact => ({
  publisherId,
  kind: `placement.${metric}`,
  subject: placement,
  cause: new Date(nowMs).toISOString(),
  data: {
    ...{ placement, now, before, hours: comparedHours, currency },
    until: new Date(Math.floor(nowMs / hourMs) * hourMs).toISOString(),
  },
});
