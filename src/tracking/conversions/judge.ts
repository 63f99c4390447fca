import { AppError, type ErrorCode } from '../../platform/errors.ts';
import { dayMs } from '../../platform/lib/time.ts';
import { microsToNumber, shareOf, times } from './amounts.ts';
import { type Booking, type ClickFacts, countedBookings } from './clicks.ts';
import type { ConversionCall } from './request.ts';

/**
 * How long after the click a conversion is accepted (milliseconds; docs/interface.md#conversions). A void is for as
 * long as the
 * click is kept.
 */
export const acceptedForMs = 30 * dayMs;

/** What becomes of a report: it is refused, was there already, leaves no trace (a developer's), or is to be booked. */
export type Verdict =
  | { outcome: 'refused'; error: AppError }
  | { outcome: 'duplicate' | 'untraced' }
  | { outcome: 'book'; booking: Booking };

/** What judging needs beside the facts: a new id, the hash of the transaction, the time. */
export type JudgeInput = { id: string; txnKey: string; nowMs: number };

const refused = (code: ErrorCode, message?: string): Verdict => ({
  outcome: 'refused',
  error: new AppError(code, message === undefined ? {} : { message }),
});

/**
 * Decides about a report whose signature was checked. Pure. Refusals: click_expired, conversion_not_found,
 * conversion_conflict, too_many_conversions, invalid_request.
 */
export function judge(call: ConversionCall, click: ClickFacts, input: JudgeInput): Verdict {
  if (call.isVoid) return judgeVoid(call, click, input);
  const payoutMicros = payoutOf(call, click);
  if (payoutMicros === null)
    return refused('invalid_request', 'payout is required: the campaign pays a share of the sale.');
  if (click.conversion !== null)
    return isSame(call, click.conversion) ? { outcome: 'duplicate' } : conflict(click.conversion);
  if (click.dev || click.clickAtMs === null) return { outcome: 'untraced' };
  if (input.nowMs - click.clickAtMs > acceptedForMs) return refused('click_expired');
  if (click.bookings >= countedBookings) return refused('too_many_conversions');
  const paid = click.suspicious === null ? payoutMicros : 0n;
  return {
    outcome: 'book',
    booking: {
      id: input.id,
      event: call.event,
      txnKey: input.txnKey,
      isVoid: false,
      givenMicros: call.givenMicros,
      payoutMicros: paid,
      currency: call.currency ?? click.payout.currency,
      isLoyalty: click.isLoyalty,
      loyaltyMicros: click.isLoyalty ? times(paid, click.currencyMultiplier) : 0n,
      suspicious: click.suspicious,
      clickAtMs: click.clickAtMs,
      bookedAtMs: input.nowMs,
    },
  };
}

function judgeVoid(
  call: ConversionCall,
  { dev, conversion, void: taken }: ClickFacts,
  { id, nowMs }: JudgeInput,
): Verdict {
  if (dev) return { outcome: 'untraced' };
  if (conversion === null) return refused('conversion_not_found');
  if (!isSame(call, conversion)) return conflict(conversion);
  if (taken !== null) return { outcome: 'duplicate' };
  const { payoutMicros, loyaltyMicros } = conversion;
  return {
    outcome: 'book',
    booking: {
      ...conversion,
      id,
      isVoid: true,
      payoutMicros: -payoutMicros,
      loyaltyMicros: -loyaltyMicros,
      bookedAtMs: nowMs,
    },
  };
}

/** An amount that is given counts; else the campaign's fixed one. A share needs the sale: without it, null. */
function payoutOf({ givenMicros }: ConversionCall, { payout }: ClickFacts): bigint | null {
  if (payout.kind === 'cps') return givenMicros === null ? null : shareOf(givenMicros, payout.amountMicros);
  return givenMicros ?? (payout.kind === 'cpa' ? payout.amountMicros : 0n);
}

/** A repeat may leave the amount out; what it says must be what was said first. */
function isSame({ givenMicros, currency }: ConversionCall, first: Booking): boolean {
  const isSameAmount = givenMicros === null || givenMicros === (first.givenMicros ?? first.payoutMicros);
  return isSameAmount && (currency === null || currency === first.currency);
}

const conflict = ({ givenMicros, payoutMicros, currency }: Booking): Verdict =>
  refused(
    'conversion_conflict',
    `The transaction is recorded with ${microsToNumber(givenMicros ?? payoutMicros)} ${currency}, which stays as it is.`,
  );
