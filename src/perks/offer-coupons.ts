import type pg from 'pg';
import type { Offer } from '../catalog/types.ts';
import type { Coupon, CouponWant } from '../coupons/coupon.ts';
import type { CouponIssuer } from '../coupons/issuer.ts';
import { sharedCouponOf } from '../offers/offer-view.ts';
import { type Executor, transaction } from '../platform/db/pool.ts';
import type { SelectionChange, UspSession } from './usp-sessions.ts';

/** Coupons of a session by campaign, for offers with codes. */
export type SessionCoupons = ReadonlyMap<number, Coupon>;

/** Sources of a session's coupons. */
export type CouponContext = { coupons: CouponIssuer; offers: ReadonlyMap<number, Offer> };

type Selection = { session: UspSession; selected: readonly number[] };
type Wanted = CouponWant & { campaignId: number };

/** Selected offers of a session that have codes. For other offers, nothing is read. */
function couponWants({ session, selected }: Selection, offers: CouponContext['offers']): Wanted[] {
  const { id: sessionId, publisherId, pubUserId, dev } = session;
  if (pubUserId === null) return [];
  return session.campaignIds.flatMap((campaignId, index) => {
    const offer = offers.get(session.offerIds[index] ?? 0);
    if (offer === undefined || offer.coupon === null || !selected.includes(campaignId)) return [];
    return [{ offer, publisherId, pubUserId, sessionId, dev, campaignId }];
  });
}

/**
 * Gives the users of wrapped sessions their codes, in the transaction of the wrap.
 * @returns coupons by session
 */
export async function giveAtWrap(
  executor: Executor,
  wraps: readonly (Selection & CouponContext & { nowMs: number })[],
): Promise<Map<string, SessionCoupons>> {
  const [first] = wraps;
  const couponsBySession = new Map<string, Map<number, Coupon>>();
  const wants = wraps.flatMap((wrap) => couponWants(wrap, wrap.offers));
  if (first === undefined || wants.length === 0) return couponsBySession;
  const [atWrap, others] = [wants.filter(isGivenAt('wrap')), wants.filter((want) => !isGivenAt('wrap')(want))];
  const coupons = [
    ...(await first.coupons.give(executor, atWrap, first.nowMs)),
    ...(others.length === 0 ? [] : await first.coupons.find(executor, others, first.nowMs)),
  ];
  for (const [index, { sessionId, campaignId, offer }] of [...atWrap, ...others].entries()) {
    const ofSession = couponsBySession.get(sessionId) ?? new Map<number, Coupon>();
    ofSession.set(campaignId, coupons[index] ?? sharedCouponOf(offer, first.nowMs));
    couponsBySession.set(sessionId, ofSession);
  }
  return couponsBySession;
}

const isGivenAt =
  (at: NonNullable<Offer['coupon']>['giveAt']) =>
  ({ offer }: CouponWant): boolean =>
    offer.coupon?.giveAt === at;

/** Finds the coupons that a wrapped session was given. */
export async function findSessionCoupons(
  executor: Executor,
  { coupons, offers }: CouponContext,
  selection: Selection,
  nowMs: number,
): Promise<SessionCoupons> {
  const wants = couponWants(selection, offers);
  if (wants.length === 0) return new Map();
  const sessionCoupons = await coupons.find(executor, wants, nowMs);
  return new Map(
    wants.map(({ campaignId, offer }, index) => [campaignId, sessionCoupons[index] ?? sharedCouponOf(offer, nowMs)]),
  );
}

/** Holds the codes of selected offers, and releases those of unselected ones, if pools hold codes. */
export async function holdSelected(
  pool: pg.Pool,
  { coupons, offers }: CouponContext,
  session: UspSession,
  { selected, unselected }: SelectionChange,
  nowMs: number,
): Promise<void> {
  const heldOf = (campaignIds: readonly number[]): Wanted[] =>
    couponWants({ session, selected: campaignIds }, offers).filter(
      ({ offer }) => (offer.coupon?.holdMinutes ?? null) !== null,
    );
  const [toHold, released] = [heldOf(selected), heldOf(unselected)];
  if (toHold.length + released.length === 0) return;
  await transaction(pool, async (executor) => {
    if (toHold.length > 0) await coupons.hold(executor, toHold, nowMs);
    await coupons.release(executor, released, nowMs);
  });
}
