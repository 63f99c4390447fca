import { type Static, Type } from '@sinclair/typebox';
import type { CouponPool, Offer } from '../catalog/types.ts';
import { dayMs } from '../platform/lib/time.ts';

/** Schema of a code (docs/reference/perks-and-wallet.md#coupons). */
export const codeSchema = Type.Object(
  {
    code: Type.String(),
    expires_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
    terms: Type.String({ description: 'Terms as plain text; empty for none.' }),
  },
  { title: 'Coupon' },
);

/** The same for a user without a code. */
export const couponSchema = Type.Union([codeSchema, Type.Null()], {
  description: 'Coupon of an offer with codes. `null` if no code was left for the user.',
});

/** A user's code in responses and webhooks; null if the offer has codes, but none was left. */
export type Coupon = Static<typeof couponSchema>;

/** A user who should receive a code of an offer. */
export type CouponWant = {
  offer: Offer;
  publisherId: number;
  pubUserId: string;
  sessionId: string;
  /** Whether the session is a developer's, which takes no code. */
  dev: boolean;
};

/**
 * Expiry of a code that is issued now (ISO 8601), or null. After the end of a pool only its fallback code is issued.
 */
export function expiryOf(pool: CouponPool | null, nowMs: number): string | null {
  const { validDays = null } = pool ?? {};
  const end = pool?.expiresAt ?? null;
  const expiresAt = end !== null && Date.parse(end) <= nowMs ? null : end;
  const own = validDays === null ? null : new Date(nowMs + validDays * dayMs).toISOString();
  if (own === null || expiresAt === null) return own ?? expiresAt;
  return own < expiresAt ? own : expiresAt;
}
