import { endMsOf } from '../../catalog/provisioning.ts';
import type { Offer } from '../../catalog/types.ts';
import type { Coupon } from '../../coupons/coupon.ts';

/**
 * Returns when a saved offer ends for its user: at the end of its campaign or when the user's code expires. Returns
 * null if it has no end.
 */
export function savedUntilMs({ campaign }: Offer, coupon: Coupon): number | null {
  const ends = [endMsOf(campaign), coupon?.expires_at == null ? null : Date.parse(coupon.expires_at)];
  const knownEnds = ends.filter((end) => end !== null);
  return knownEnds.length === 0 ? null : Math.min(...knownEnds);
}
