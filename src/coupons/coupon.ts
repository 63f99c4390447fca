import { type Static, Type } from '@sinclair/typebox';
import type { CouponPool, Offer } from '../catalog/types.ts';
import { dayMs } from '../platform/lib/time.ts';

/** Schema of an issued coupon code (docs/reference/perks-and-wallet.md#coupons). */
export const codeSchema = Type.Object(
  {
    code: Type.String(),
    expires_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
    terms: Type.String({ description: 'Terms as plain text; empty for none.' }),
  },
  { title: 'Coupon' },
);

/** Schema of an issued coupon code, or null if no code was available for the user. */
export const couponSchema = Type.Union([codeSchema, Type.Null()], {
  description: 'Coupon of an offer with codes. `null` if no code was left for the user.',
});

/** Coupon of a user in responses and webhooks. Null if the offer uses codes but none was available. */
export type Coupon = Static<typeof couponSchema>;

/** Request to issue one of an offer's coupon codes to a user. */
export type CouponWant = {
  offer: Offer;
  publisherId: number;
  pubUserId: string;
  sessionId: string;
  /** Whether the session is a dev session. Dev sessions get a test code. */
  dev: boolean;
};

/**
 * Returns the expiry (ISO 8601) of a code that is issued now, or null if it doesn't expire. The expiry date of an
 * expired pool is ignored, because such a pool issues only its fallback code.
 */
export function expiryOf(pool: CouponPool | null, nowMs: number): string | null {
  const { validDays = null } = pool ?? {};
  const end = pool?.expiresAt ?? null;
  const expiresAt = end !== null && Date.parse(end) <= nowMs ? null : end;
  const own = validDays === null ? null : new Date(nowMs + validDays * dayMs).toISOString();
  if (own === null || expiresAt === null) return own ?? expiresAt;
  return own < expiresAt ? own : expiresAt;
}
