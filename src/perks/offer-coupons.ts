import type pg from 'pg';
import type { Offer } from '../catalog/types.ts';
import type { CouponWant } from '../coupons/coupon.ts';
import type { CouponIssuer, CouponPlan } from '../coupons/issuer.ts';
import type { StoredCoupon } from '../coupons/rows.ts';
import { sharedCouponOf } from '../offers/offer-view.ts';
import { type Executor, transaction } from '../platform/db/pool.ts';
import type { ConfirmedPerk } from './confirmed-perk.ts';

/** Session and its perks. */
type SessionPerks = { session: { pubUserId: string | null }; perks: readonly ConfirmedPerk[] };

type PerkWant = CouponWant & { perk: ConfirmedPerk };

/** Returns the perks whose offers have codes. Other perks need no coupon lookup. */
function couponWants({ session: { pubUserId }, perks }: SessionPerks): PerkWant[] {
  if (pubUserId === null) return [];
  return perks.flatMap((perk) => {
    const { offer, claims } = perk;
    if (offer === null || offer.coupon === null) return [];
    const { publisherId, sessionId, dev } = claims;
    return [{ perk, offer, publisherId, pubUserId, sessionId, dev }];
  });
}

/** Whether a perk's offer has codes. */
export const needsCoupons = (perks: SessionPerks): boolean => couponWants(perks).length > 0;

/** Assigns codes to the users of wrapped sessions in the transaction of the wrap, and adds them to the perks. */
export async function issueAtWrap(
  executor: Executor,
  coupons: CouponIssuer,
  wraps: readonly (SessionPerks & { nowMs: number })[],
): Promise<void> {
  const wants = wraps.flatMap(couponWants);
  const nowMs = wraps[0]?.nowMs;
  if (nowMs === undefined || wants.length === 0) return;
  const [atWrap, others] = [wants.filter(isIssuedAt('wrap')), wants.filter((want) => !isIssuedAt('wrap')(want))];
  const userCoupons = [
    ...(await coupons.issue(executor, atWrap, nowMs)),
    ...(others.length === 0 ? [] : await coupons.find(executor, others, nowMs)),
  ];
  for (const [index, { perk, offer }] of [...atWrap, ...others].entries())
    perk.coupon = userCoupons[index] ?? sharedCouponOf(offer, nowMs);
}

/**
 * Plans the codes of wrapped sessions, and adds them to the perks. The statement of the wrap must then assign them.
 * @param owned coupons that the users already have, as far as they are known
 * @returns null if the codes can only be assigned with `issueAtWrap`
 */
export async function planAtWrap(
  executor: Executor,
  coupons: CouponIssuer,
  wraps: readonly (SessionPerks & { nowMs: number })[],
  owned: readonly StoredCoupon[],
): Promise<CouponPlan | null> {
  const wants = wraps.flatMap(couponWants);
  const nowMs = wraps[0]?.nowMs;
  if (nowMs === undefined || !wants.every(isIssuedAt('wrap'))) return null;
  const plan = await coupons.plan(executor, wants, { nowMs, owned });
  if (plan === null) return null;
  for (const [index, { perk, offer }] of wants.entries())
    perk.coupon = plan.coupons[index] ?? sharedCouponOf(offer, nowMs);
  return plan;
}

const isIssuedAt =
  (at: NonNullable<Offer['coupon']>['giveAt']) =>
  ({ offer }: CouponWant): boolean =>
    offer.coupon?.giveAt === at;

/** Finds the codes that were already assigned to a wrapped session's user, and adds them to its perks. */
export async function findCoupons(
  executor: Executor,
  coupons: CouponIssuer,
  wrapped: SessionPerks,
  nowMs: number,
): Promise<void> {
  const wants = couponWants(wrapped);
  if (wants.length === 0) return;
  const userCoupons = await coupons.find(executor, wants, nowMs);
  for (const [index, { perk, offer }] of wants.entries())
    perk.coupon = userCoupons[index] ?? sharedCouponOf(offer, nowMs);
}

/** Reserves codes for selected perks and releases those of unselected perks. Affects only pools that reserve codes. */
export async function holdSelected(
  pool: pg.Pool,
  coupons: CouponIssuer,
  { selected, unselected }: { selected: SessionPerks; unselected: SessionPerks },
  nowMs: number,
): Promise<void> {
  const [toHold, released] = [heldWants(selected), heldWants(unselected)];
  if (toHold.length + released.length === 0) return;
  await transaction(pool, async (executor) => {
    if (toHold.length > 0) await coupons.hold(executor, toHold, nowMs);
    await coupons.release(executor, released, nowMs);
  });
}

const heldWants = (perks: SessionPerks): PerkWant[] =>
  couponWants(perks).filter(({ offer }) => (offer.coupon?.holdMinutes ?? null) !== null);
