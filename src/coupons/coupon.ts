import { type Static, Type } from '@sinclair/typebox';
import type { CouponPool } from '../catalog/coupon-pool.ts';
import type { Offer } from '../catalog/types.ts';
import { dayMs } from '../platform/lib/time.ts';

/** The schema of a code (docs/reference/perks-and-wallet.md#coupons). */
export const codeSchema = Type.Object(
  {
    code: Type.String(),
    expires_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
    terms: Type.String({ description: 'Plain text; empty: none.' }),
  },
  { title: 'Coupon' },
);

/** The same of a user who may have got none. */
export const couponSchema = Type.Union([codeSchema, Type.Null()], {
  description: 'Of offers with codes; null: the user has none, because none was left.',
});

/** A user's code as answers and webhooks show it; null: the offer has codes, and none was left. */
export type Coupon = Static<typeof couponSchema>;

/** A user who is to get the code of an offer. */
export type CouponWant = {
  offer: Offer;
  publisherId: number;
  pubUserId: string;
  sessionId: string;
  /** Of a developer's session, which takes no code. */
  dev: boolean;
};

/** When a code ends that is given now (ISO 8601); null: never. After the end of a pool only its fallback is given. */
export function expiryOf(pool: CouponPool | null, nowMs: number): string | null {
  const { validDays = null } = pool ?? {};
  const end = pool?.expiresAt ?? null;
  const expiresAt = end !== null && Date.parse(end) <= nowMs ? null : end;
  const own = validDays === null ? null : new Date(nowMs + validDays * dayMs).toISOString();
  if (own === null || expiresAt === null) return own ?? expiresAt;
  return own < expiresAt ? own : expiresAt;
}
