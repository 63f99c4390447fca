import { perLocale } from './format.ts';

const format = perLocale(
  (locale, currency) =>
    new Intl.NumberFormat(
      locale,
      currency === '' ? { minimumFractionDigits: 2, maximumFractionDigits: 2 } : { style: 'currency', currency },
    ),
);

/** Writes amounts in a currency; null: as plain numbers, beside which their currency is named. */
export const moneyFormat =
  (currency: string | null): ((value: number) => string) =>
  (value) =>
    format(currency ?? '').format(value);
