import { endMsOf } from '../../catalog/provisioning.ts';
import type { Offer } from '../../catalog/types.ts';
import type { Coupon } from '../../coupons/coupon.ts';

/** When a saved offer ends for its user: with its campaign, or with the user's code; null: it does not. */
export function savedUntilMs({ campaign }: Offer, coupon: Coupon): number | null {
  const ends = [endMsOf(campaign), coupon?.expires_at == null ? null : Date.parse(coupon.expires_at)];
  const known = ends.filter((end) => end !== null);
  return known.length === 0 ? null : Math.min(...known);
}
