import { checkDecimals } from '../../management/fields.ts';
import type { Values, View } from '../../management/resource.ts';
import type { Work } from '../../management/unit-of-work.ts';
import type { ErrorDetail } from '../../platform/errors.ts';
import { type Problem, problem } from '../../platform/problem.ts';

/** Validates a `payout_amount`, either of a campaign or of its override for a publisher. */
export const checkPayout = (kind: unknown, values: Values): ErrorDetail[] => [
  ...checkDecimals(values, 'payout_amount', 6),
  ...(kind === 'cps' && typeof values.payout_amount === 'number' && values.payout_amount > 100
    ? [{ path: '/payout_amount', message: problem('percentOfSale') }]
    : []),
];

/**
 * Validates a payout change against amounts that the campaign has already booked and against the publishers' payout
 * overrides.
 */
export async function checkPayoutChange(values: Values, work: Work, current: View): Promise<ErrorDetail[]> {
  const becomesShare = values.payout_kind === 'cps' && current.payout_kind !== 'cps';
  return [
    ...(becomesShare ? await checkOwnPayouts(current, work) : []),
    ...(values.payout_currency === current.payout_currency ? [] : await checkCurrencyChange(current, work)),
  ];
}

/**
 * Rejects a change to a share of the sale if a publisher's payout override is above 100, because the override would
 * then be interpreted as a percentage.
 */
async function checkOwnPayouts({ id }: View, { executor }: Work): Promise<ErrorDetail[]> {
  const { rows } = await executor.query<{ ids: string | null }>(
    `select string_agg(publisher_id::text, ', ' order by publisher_id) as ids from campaign_publishers
    where campaign_id = $1 and payout_amount > 100`,
    [id],
  );
  const ids = rows[0]?.ids ?? null;
  return ids === null ? [] : [{ path: '/payout_kind', message: problem('payoutsAbove', { ids }) }];
}

/** Number of the rollup grain in `rollup_money` that groups by offer, day and currency (`reports/rollup/grains.ts`). */
const offerDays = 18;

/**
 * Rejects a currency change after amounts have been booked. A campaign's budgets, usage and average sale are stored
 * without a currency, so the change would mix amounts in two currencies.
 */
async function checkCurrencyChange(
  { id, payout_currency: currency }: View,
  { executor }: Work,
): Promise<ErrorDetail[]> {
  const { rows } = await executor.query<{ has_money: boolean }>(
    `select exists (
      select from campaign_usage where campaign_id = $1 and (spent_micros <> 0 or unbilled_micros <> 0)
    ) or exists (
      select from rollup_money m
      where m.grain = ${offerDays} and m.placement = '' and m.country = '' and m.device = '' and m.os = ''
        and m.publisher_id in (
          select publisher_id from campaigns where id = $1
          union select publisher_id from campaign_publishers where campaign_id = $1
        )
        and m.offer_id in (select id from offers where campaign_id = $1) and m.revenue_micros <> 0
    ) as has_money`,
    [id],
  );
  if (rows[0]?.has_money !== true) return [];
  return [{ path: '/payout_currency', message: bookedText(currency) }];
}

const bookedText = (currency: unknown): Problem => problem('currencyBooked', { currency: String(currency) });
