import type pg from 'pg';
import { findExpiringKeys } from '../accounts/keys.ts';
import { budgetKey, findReachedBudgets, findUsedBudgets } from '../budgets/reached-budgets.ts';
import type { Snapshot } from '../catalog/types.ts';
import { readStock } from '../coupons/stock.ts';
import { readLearningState } from '../learning/health.ts';
import { transaction } from '../platform/db/pool.ts';
import { hourMs } from '../platform/lib/time.ts';
import { findPlacementDrops, type PlacementDrop } from '../reports/placement-drops.ts';
import type { AlertCheck, AlertFact } from './kinds.ts';
import { recordAlerts, recordLasting } from './record.ts';

type CheckDeps = { pool: pg.Pool; catalog: { current: () => Snapshot }; now: () => number };

/** One process at a time looks at what lasts. */
const lockSql = "select pg_advisory_xact_lock(hashtext('perkwire_alerts'))";

const nearlyUsed = 0.8;

/** Records the budgets of which 80% are used, once for each period. Those used up have an event of their own. */
export async function checkBudgets({ pool, catalog, now }: CheckDeps): Promise<void> {
  const [snapshot, nowMs] = [catalog.current(), now()];
  const usedUp = new Set((await findReachedBudgets(pool, snapshot, nowMs)).map(budgetKey));
  const nearly = (await findUsedBudgets(pool, snapshot, nowMs, nearlyUsed)).filter(
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
 * Records the offers whose codes run low, by share or at today's rate, and those that are paused without any: each
 * once, until codes were added and it is no longer so. A day that begins, whose rate is not known, ends nothing.
 */
export async function checkCoupons({ pool, catalog, now }: CheckDeps): Promise<void> {
  const [{ offers }, nowMs] = [catalog.current(), now()];
  await transaction(pool, async (executor) => {
    await executor.query(lockSql);
    const stock = await readStock(executor, null, nowMs);
    const facts = stock.flatMap(({ offerId, publisherId, paused, supply, view }): AlertFact[] => {
      const offer = offers.get(offerId);
      // A pool without a code ever is one that is being filled.
      if (offer === undefined || view.total === 0 || view.loading !== null || !(paused || view.low)) return [];
      const { left, hours_left: hoursLeft } = view;
      const isExpired = paused && view.expired;
      const data = { offer_id: offerId, name: offer.copy.title, left, hours_left: hoursLeft, expired: isExpired };
      const kind = paused ? 'coupons.empty' : 'coupons.low';
      return [{ publisherId, kind, subject: String(offerId), cause: isExpired ? `${supply} expired` : supply, data }];
    });
    const told = new Set(facts.map(({ subject }) => subject));
    const pools = new Map(stock.map((one) => [String(one.offerId), one]));
    const stays = ({ subject, cause }: { subject: string; cause: string }): boolean => {
      const known = pools.get(subject);
      return !told.has(subject) && known !== undefined && (known.supply === cause || known.view.loading !== null);
    };
    await recordLasting(executor, ['coupons.low', 'coupons.empty'], { facts, stays }, nowMs);
  });
}

/** Records the facts that a check finds, each once, until it is no longer found. */
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

/** Records that ranking learns nothing new, for the publishers whose events wait: once, until it learns again. */
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
    await executor.query(lockSql);
    const drops = await findPlacementDrops(executor, { publisherIds, nowMs, hours: comparedHours });
    if (drops === null) return;
    const facts = drops.map((drop) => factOf(drop, nowMs));
    await recordLasting(executor, ['placement.fill_rate', 'placement.revenue'], { facts }, nowMs);
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
