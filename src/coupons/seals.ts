import { sealedColumn } from '../platform/security/sealed-column.ts';

const contextOf =
  (purpose: string) =>
  (key: readonly unknown[]): string =>
    `${purpose} ${key.join(' ')}`;

/**
 * Encryption contexts for the three columns with codes. They are built from `user_key offer_id`, `offer_id
 * first_position`, and `offer_id`.
 */
export const couponContext = contextOf('coupon');
export const blockContext = contextOf('coupon-block');
export const fallbackContext = contextOf('coupon-fallback');

/** All columns that contain encrypted codes. */
export const sealedCodes = [
  sealedColumn({ table: 'coupons', column: 'sealed', key: ['user_key', 'offer_id'], context: couponContext }),
  sealedColumn({
    table: 'coupon_blocks',
    column: 'sealed',
    key: ['offer_id', 'first_position'],
    context: blockContext,
  }),
  sealedColumn({
    table: 'coupon_pools',
    column: 'fallback_sealed',
    key: ['offer_id'],
    context: fallbackContext,
  }),
];
