import { sealedColumn } from '../platform/security/sealed-column.ts';

const contextOf =
  (purpose: string) =>
  (key: readonly unknown[]): string =>
    `${purpose} ${key.join(' ')}`;

/** Contexts of sealed codes: `user_key offer_id`, `offer_id first_position`, `offer_id`. */
export const couponContext = contextOf('coupon');
export const blockContext = contextOf('coupon-block');
export const fallbackContext = contextOf('coupon-fallback');

/** All columns with codes. */
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
