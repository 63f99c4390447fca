import type pg from 'pg';
import { findExpiringKeys } from '../accounts/keys.ts';
import { budgetKey, findReachedBudgets, findUsedBudgets } from '../budgets/reached-budgets.ts';
import type { CatalogStore } from '../catalog/store.ts';
import { readStock } from '../coupons/stock.ts';
import { readLearningState } from '../learning/health.ts';
import { transaction } from '../platform/db/pool.ts';
import { hourMs } from '../platform/lib/time.ts';
import { findPlacementDrops, type PlacementDrop } from '../reports/placement-drops.ts';
import { readFailedTransformations } from '../webhooks/last-failure.ts';
import { type AlertCheck, type AlertFact, metricKind } from './kinds.ts';
import { findMetricFacts } from './metrics/check.ts';
import { recordAlerts, recordLasting } from './record.ts';

type CheckDeps = { pool: pg.Pool; catalog: CatalogStore; now: () => number };

/** Lock that allows only one process at a time to check for lasting problems. */
const lockSql = "select pg_advisory_xact_lock(hashtext('perkwire_alerts'))";

const nearlyUsed = 0.8;

/**
 * Records an alert for each budget that is 80% used, once per period. Exhausted budgets are reported by a separate
 * event.
 */
export async function checkBudgets({ pool, catalog, now }: CheckDeps): Promise<void> {
  const [snapshot, nowMs] = [await catalog.checked(), now()];
  const usedUp = new Set((await findReachedBudgets(pool, snapshot, nowMs)).map(budgetKey));
  const nearly = (await findUsedBudgets(pool, snapshot, nowMs, nearlyUsed)).filter(
    (usage) => usage.metric === 'budget' && !usedUp.has(budgetKey(usage)),
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

/** Days before a key's expiry on which its publisher is notified. */
const noticeDays = [30, 7, 1] as const;

/**
 * Records alerts for keys that expire soon, once per notice period. Notice periods longer than a key's initial lifetime
 * are skipped.
 */
export async function checkKeys({ pool, now }: { pool: pg.Pool; now: () => number }): Promise<void> {
  const expiring = await findExpiringKeys(pool, noticeDays, now());
  const facts = expiring.map(({ id, publisherId, name, expiresAt, lastUsedAt, days }): AlertFact => {
    const data = { key_id: id, name, days, expires_at: expiresAt, last_used_at: lastUsedAt };
    const cause = `${expiresAt.toISOString()} ${days}`;
    return { publisherId, kind: 'key.expires', subject: String(id), cause, data };
  });
  await recordAlerts(pool, facts, now());
}

/**
 * Records alerts for low coupon stock and for offers that are paused because they have no codes. Stock is low if its
 * remaining share is small, or if it would soon run out at today's rate. Each alert is recorded once, and ends when
 * codes have been added and the stock is sufficient. It does not end at the start of a new day just because that day's
 * rate is still unknown.
 */
export async function checkCoupons({ pool, catalog, now }: CheckDeps): Promise<void> {
  const [{ offers }, nowMs] = [await catalog.checked(), now()];
  await transaction(pool, async (executor) => {
    await executor.query(lockSql);
    const stock = await readStock(executor, null, nowMs);
    const facts = stock.flatMap(({ offerId, publisherId, paused, supply, view }): AlertFact[] => {
      const offer = offers.get(offerId);
      // Skip a pool that never had a code, because it is still being set up.
      if (offer === undefined || view.total === 0 || view.loading !== null || !(paused || view.low)) return [];
      const remaining = view.left;
      const hoursLeft = view.hours_left;
      const isExpired = paused && view.expired;
      const data = {
        offer_id: offerId,
        name: offer.copy.title,
        left: remaining,
        hours_left: hoursLeft,
        expired: isExpired,
      };
      const kind = paused ? 'coupons.empty' : 'coupons.low';
      return [{ publisherId, kind, subject: String(offerId), cause: isExpired ? `${supply} expired` : supply, data }];
    });
    const alertedIds = new Set(facts.map(({ subject }) => subject));
    const pools = new Map(stock.map((pool) => [String(pool.offerId), pool]));
    const stays = ({ subject, cause }: { subject: string; cause: string }): boolean => {
      const poolStock = pools.get(subject);
      return (
        !alertedIds.has(subject) &&
        poolStock !== undefined &&
        (poolStock.supply === cause || poolStock.view.loading !== null)
      );
    };
    await recordLasting(executor, ['coupons.low', 'coupons.empty'], { facts, stays }, nowMs);
  });
}

/**
 * Records alerts for the facts that a check finds. Each fact is recorded once. It is recorded again only if the check
 * has stopped finding it in the meantime.
 */
export async function checkLasting(
  { pool, now }: { pool: pg.Pool; now: () => number },
  check: AlertCheck,
): Promise<void> {
  const nowMs = now();
  await transaction(pool, async (executor) => {
    await executor.query(lockSql);
    await recordLasting(executor, check.kinds, { facts: await check.findFacts(executor, nowMs) }, nowMs);
  });
}

/** Records an alert for each endpoint whose transformation fails, until it succeeds again or is changed. */
export async function checkTransformations({ pool, now }: { pool: pg.Pool; now: () => number }): Promise<void> {
  await transaction(pool, async (executor) => {
    await executor.query(lockSql);
    const facts = (await readFailedTransformations(executor)).map(
      ({ publisherId, endpointId, since, data }): AlertFact => {
        const subject = String(endpointId);
        return { publisherId, kind: 'endpoint.transformation_failing', subject, cause: since, data };
      },
    );
    await recordLasting(executor, ['endpoint.transformation_failing'], { facts }, now());
  });
}

/**
 * Records an alert for each publisher with unprocessed events if ranking has stopped learning. The alert is not
 * repeated until learning has resumed.
 */
export async function checkLearning({ pool, now }: { pool: pg.Pool; now: () => number }): Promise<void> {
  const nowMs = now();
  const { stalledPublisherIds, learnedAt } = await readLearningState(pool, nowMs);
  const since = learnedAt?.toISOString() ?? null;
  const facts = stalledPublisherIds.map((publisherId): AlertFact => {
    const cause = since ?? 'never';
    return { publisherId, kind: 'ranking.stalled', subject: 'ranking', cause, data: { since } };
  });
  await transaction(pool, async (executor) => {
    await executor.query(lockSql);
    await recordLasting(executor, ['ranking.stalled'], { facts }, nowMs);
  });
}

/** Number of hours that are compared with the same hours of the previous week. */
const comparedHours = 6;

/**
 * Records alerts for placements whose fill rate or revenue fell by half compared with the same hours of the previous
 * week. An alert is not repeated until the drop has ended.
 */
export async function checkPlacements({ pool, catalog, now }: CheckDeps): Promise<void> {
  const nowMs = now();
  const publisherIds = [...catalog.current().publishers.keys()];
  await transaction(pool, async (executor) => {
    await executor.query(lockSql);
    const drops = await findPlacementDrops(executor, { publisherIds, nowMs, hours: comparedHours });
    if (drops === null) return;
    const facts = drops.map((drop) => factOf(drop, nowMs));
    await recordLasting(executor, ['placement.fill_rate', 'placement.revenue'], { facts }, nowMs);
  });
}

/** Records an alert for each metric alert whose condition is met, until the condition is no longer met. */
export async function checkMetrics({ pool, now }: { pool: pg.Pool; now: () => number }): Promise<void> {
  const nowMs = now();
  await transaction(pool, async (executor) => {
    await executor.query(lockSql);
    const facts = await findMetricFacts(executor, nowMs);
    if (facts !== null) await recordLasting(executor, [metricKind], { facts }, nowMs);
  });
}

const factOf = (
  { publisherId, metric, placement, now, before, currency }: PlacementDrop,
  nowMs: number,
): AlertFact => ({
  publisherId,
  kind: `placement.${metric}`,
  subject: placement,
  cause: new Date(nowMs).toISOString(),
  data: {
    placement,
    now,
    before,
    hours: comparedHours,
    currency,
    until: new Date(Math.floor(nowMs / hourMs) * hourMs).toISOString(),
  },
});
