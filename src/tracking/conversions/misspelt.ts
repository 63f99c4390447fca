import type { ErrorDetail } from '../../platform/errors.ts';

/** Other words that advertisers' systems have for the parameters. */
const otherNames: Readonly<Record<string, readonly string[]>> = {
  click_id: ['click'],
  event: ['event_name', 'event_type'],
  payout: ['amount', 'value', 'revenue', 'price', 'sale_amount'],
  currency: ['ccy', 'currency_code'],
  txn_id: ['txn', 'tx_id', 'transaction', 'transaction_id', 'trans_id', 'order_id'],
};

const bare = (name: string): string => name.toLowerCase().replace(/[^a-z]/g, '');

const meantBy = new Map(
  Object.entries(otherNames).flatMap(([name, others]) =>
    [name, ...others].map((other) => [bare(other), name] as const),
  ),
);

/**
 * Parameters that stand for one which was not given: a report with `amount` would book no revenue, and nobody would
 * notice (docs/guides/conversions.md). All other unknown ones are the advertiser's own, and ignored.
 */
export function findMisspelt(given: Readonly<Record<string, unknown>>): ErrorDetail[] {
  return Object.keys(given).flatMap((name) => {
    const meant = meantBy.get(bare(name)) ?? neighbourOf(bare(name));
    if (meant === undefined || meant === name || (given[meant] ?? '') !== '') return [];
    return [{ path: `/${name.slice(0, 64)}`, message: `is not a parameter; did you mean ${meant}?` }];
  });
}

/** The parameter that differs in one letter, or in the order of two. */
const neighbourOf = (name: string): string | undefined =>
  Object.keys(otherNames).find((known) => isNear(name, bare(known)));

function isNear(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1) return false;
  let start = 0;
  while (start < a.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < Math.min(a.length, b.length) - start && a.at(-1 - end) === b.at(-1 - end)) end += 1;
  const [left, right] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  return (left.length <= 1 && right.length <= 1) || (left.length === 2 && left === [...right].reverse().join(''));
}
