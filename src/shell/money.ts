import { perLocale } from './format.ts';

const format = perLocale(
  (locale, currency) =>
    new Intl.NumberFormat(
      locale,
      currency === '' ? { minimumFractionDigits: 2, maximumFractionDigits: 2 } : { style: 'currency', currency },
    ),
);

/** Writes amounts in a currency; null: campaigns pay in several, whose amounts are added as they are. */
export const moneyFormat =
  (currency: string | null): ((value: number) => string) =>
  (value) =>
    format(currency ?? '').format(value);
