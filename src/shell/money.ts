import { unknownCurrency } from '../platform/money.ts';
import { perLocale } from './format.ts';

function style(currency: string): Intl.NumberFormatOptions {
  if (currency === '') return { minimumFractionDigits: 2, maximumFractionDigits: 2 };
  // The sign for an unknown currency is less clear than its code.
  return { style: 'currency', currency, ...(currency === unknownCurrency && { currencyDisplay: 'code' }) };
}

const format = perLocale((locale, currency) => new Intl.NumberFormat(locale, style(currency)));
const formatSmall = perLocale(
  (locale, currency) => new Intl.NumberFormat(locale, { ...style(currency), maximumSignificantDigits: 2 }),
);

/**
 * Formats amounts in a currency, or as plain numbers if it is null and shown next to them. Amounts that would be
 * rounded to 0, such as a click of 0.4 yen, keep two digits.
 */
export const moneyFormat =
  (currency: string | null): ((value: number) => string) =>
  (value) => {
    const usual = format(currency ?? '');
    const { maximumFractionDigits: digits = 2 } = usual.resolvedOptions();
    const isHidden = value !== 0 && Math.abs(value) < 0.5 * 10 ** -digits;
    return (isHidden ? formatSmall(currency ?? '') : usual).format(value);
  };
