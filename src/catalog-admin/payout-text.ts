import type { View } from '../management/resource.ts';
import { percent, perLocale } from '../shell/format.ts';

/** Number format for payouts, which have up to six decimals. */
const payoutFormat = perLocale(
  (locale, currency) => new Intl.NumberFormat(locale, { style: 'currency', currency, maximumFractionDigits: 6 }),
);

/** Describes a campaign's payout, such as `$0.50 CPC` or `8% CPS`. */
export function payoutText({ payout_amount: amount, payout_kind: kind, payout_currency: currency }: View): string {
  const text = kind === 'cps' ? percent(Number(amount) / 100) : payoutFormat(String(currency)).format(Number(amount));
  return `${text}\u00a0${String(kind).toUpperCase()}`;
}
