/** Writes amounts in a currency; null: campaigns pay in several, whose amounts are added as they are. */
export function moneyFormat(currency: string | null): (value: number) => string {
  const format = new Intl.NumberFormat(
    'en-GB',
    currency === null ? { minimumFractionDigits: 2, maximumFractionDigits: 2 } : { style: 'currency', currency },
  );
  return (value) => format.format(value);
}
