import type { ErrorDetail } from '../../platform/errors.ts';

/** Other names of the parameters in advertisers' systems. */
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
 * Finds parameters that were probably meant as a missing one. A report with `amount` would book no revenue, and nobody
 * would notice (docs/guides/conversions.md). All other unknown ones are the advertiser's own, and ignored.
 */
export function findMisspelt(parameters: Readonly<Record<string, unknown>>): ErrorDetail[] {
  return Object.keys(parameters).flatMap((name) => {
    const intended = meantBy.get(bare(name)) ?? neighbourOf(bare(name));
    if (intended === undefined || intended === name || (parameters[intended] ?? '') !== '') return [];
    return [{ path: `/${name.slice(0, 64)}`, message: `is not a parameter; did you mean ${intended}?` }];
  });
}

/** The parameter that differs in one letter, or in the order of two. */
const neighbourOf = (name: string): string | undefined =>
  Object.keys(otherNames).find((parameter) => isNear(name, bare(parameter)));

function isNear(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1) return false;
  let start = 0;
  while (start < a.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < Math.min(a.length, b.length) - start && a.at(-1 - end) === b.at(-1 - end)) end += 1;
  const [rest, right] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  return (rest.length <= 1 && right.length <= 1) || (rest.length === 2 && rest === [...right].reverse().join(''));
}
