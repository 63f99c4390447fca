import { AppError, type ErrorCode } from '../../platform/errors.ts';
import { type Exchange, exchangeMicros } from '../../platform/exchange-rates.ts';
import { dayMs } from '../../platform/lib/time.ts';
import { microsToNumber, shareOf, times } from '../../platform/money.ts';
import type { Booking } from './booking.ts';
import { type ConvertedClick, maxBookings } from './find-clicks.ts';
import type { ConversionReport } from './request.ts';

/**
 * How long after the click a conversion is accepted (milliseconds;
 * docs/reference/tracking-and-conversions.md#conversions). A void is accepted as long as the click is stored.
 */
const maxClickAgeMs = 30 * dayMs;

/**
 * Decision about a report, with its booking, or the first booking for a duplicate. `ignored` is for a developer's
 * session, whose booking is not stored; the booking is null for a void.
 */
export type Evaluation =
  | { outcome: 'refused'; error: AppError }
  | { outcome: 'ignored'; booking: Booking | null }
  | { outcome: 'book' | 'duplicate'; booking: Booking };

/**
 * Id of a new booking, hash of the transaction id, and time. `exchange` converts from a currency to that of the
 * campaign by the publisher's rate of the day; null if there is no rate.
 */
export type EvaluationInput = {
  id: string;
  txnKey: string;
  nowMs: number;
  exchange: (from: string, to: string) => Exchange | null;
};

const refused = (code: ErrorCode, message?: string): Evaluation => ({
  outcome: 'refused',
  error: new AppError(code, message === undefined ? {} : { message }),
});

/**
 * Decides about a report whose signature was verified. Pure function. Rejections: click_expired, conversion_not_found,
 * conversion_conflict, too_many_conversions, invalid_request.
 */
export function evaluate(report: ConversionReport, click: ConvertedClick, input: EvaluationInput): Evaluation {
  if (report.isVoid) return evaluateVoid(report, click, input);
  const payoutMicros = payoutOf(report, click);
  if (payoutMicros === null)
    return refused('invalid_request', 'payout is required: the campaign pays a share of the sale.');
  const { currency } = click.payout;
  if (report.givenMicros === null && report.currency !== null && report.currency !== currency)
    return refused(
      'invalid_request',
      `payout is required with the currency ${report.currency}: the campaign pays in ${currency}.`,
    );
  if (click.conversion !== null)
    return isSame(report, click.conversion)
      ? { outcome: 'duplicate', booking: click.conversion }
      : conflict(click.conversion);
  if (click.dev || click.clickAtMs === null)
    return { outcome: 'ignored', booking: bookingOf(report, click, input, payoutMicros) };
  if (input.nowMs - click.clickAtMs > maxClickAgeMs) return refused('click_expired');
  if (click.bookings >= maxBookings) return refused('too_many_conversions');
  return { outcome: 'book', booking: bookingOf(report, click, input, payoutMicros) };
}

function bookingOf(
  report: ConversionReport,
  click: ConvertedClick,
  { id, txnKey, nowMs, exchange }: EvaluationInput,
  payoutMicros: bigint,
): Booking {
  const money = moneyOf(report, click, payoutMicros, exchange);
  return {
    id,
    event: report.event,
    txnKey,
    isVoid: false,
    givenMicros: report.givenMicros,
    givenCurrency: money.givenCurrency,
    payoutMicros: money.payoutMicros,
    unbilledMicros: money.unbilledMicros,
    unbilledReason: money.unbilledReason,
    currency: money.currency,
    isLoyalty: click.isLoyalty,
    loyaltyMicros: click.isLoyalty ? times(money.payoutMicros, click.currencyMultiplier) : 0n,
    suspicious: click.suspicious,
    countedIn: null,
    clickAtMs: click.clickAtMs ?? nowMs,
    bookedAtMs: nowMs,
  };
}

type BookedMoney = {
  payoutMicros: bigint;
  unbilledMicros: bigint;
  unbilledReason: Booking['unbilledReason'];
  currency: string;
  givenCurrency: string | null;
};

/** Maximum amount that is booked (millionths): that of a report without conversion. */
const mostMicros = 999_999_999_999_999n;

/**
 * Payment of a conversion in the currency of its campaign. It is unbilled if there is no exchange rate, or the
 * converted amount exceeds the maximum.
 */
function moneyOf(
  { currency: reportedCurrency }: ConversionReport,
  { suspicious, payout: { currency } }: ConvertedClick,
  micros: bigint,
  exchange: EvaluationInput['exchange'],
): BookedMoney {
  if (reportedCurrency === null || reportedCurrency === currency) {
    const payoutMicros = suspicious === null ? micros : 0n;
    return { payoutMicros, unbilledMicros: 0n, unbilledReason: null, currency, givenCurrency: null };
  }
  const rate = exchange(reportedCurrency, currency);
  const payoutMicros = rate === null ? null : exchangeMicros(micros, rate);
  if (payoutMicros === null || payoutMicros > mostMicros) {
    const unbilledMicros = suspicious === null ? micros : 0n;
    const unbilledReason = unbilledMicros === 0n ? null : 'currency';
    return { payoutMicros: 0n, unbilledMicros, unbilledReason, currency: reportedCurrency, givenCurrency: null };
  }
  const booked = suspicious === null ? payoutMicros : 0n;
  return { payoutMicros: booked, unbilledMicros: 0n, unbilledReason: null, currency, givenCurrency: reportedCurrency };
}

function evaluateVoid(
  report: ConversionReport,
  { dev, conversion, void: existing }: ConvertedClick,
  { id, nowMs }: EvaluationInput,
): Evaluation {
  if (dev) return { outcome: 'ignored', booking: null };
  if (conversion === null) return refused('conversion_not_found');
  if (!isSame(report, conversion)) return conflict(conversion);
  if (existing !== null) return { outcome: 'duplicate', booking: existing };
  const { payoutMicros, unbilledMicros, loyaltyMicros } = conversion;
  return {
    outcome: 'book',
    booking: {
      ...conversion,
      id,
      isVoid: true,
      payoutMicros: -payoutMicros,
      unbilledMicros: -unbilledMicros,
      loyaltyMicros: -loyaltyMicros,
      bookedAtMs: nowMs,
    },
  };
}

/**
 * Reported amount, else the fixed payout of the campaign. Null if a share of the sale is paid and the sale is missing.
 */
function payoutOf({ givenMicros }: ConversionReport, { payout }: ConvertedClick): bigint | null {
  if (payout.kind === 'cps') return givenMicros === null ? null : shareOf(givenMicros, payout.amountMicros);
  return givenMicros ?? (payout.kind === 'cpa' ? payout.amountMicros : 0n);
}

/** Whether a report repeats the first one. It may omit amount and currency; if present, they must be the same. */
function isSame({ givenMicros, currency }: ConversionReport, first: Booking): boolean {
  const isSameAmount = givenMicros === null || givenMicros === reportedMicros(first);
  return isSameAmount && (currency === null || currency === givenCurrencyOf(first));
}

const givenCurrencyOf = ({ givenCurrency, currency }: Booking): string => givenCurrency ?? currency;

const reportedMicros = ({ givenMicros, payoutMicros, unbilledMicros }: Booking): bigint =>
  givenMicros ?? payoutMicros + unbilledMicros;

const conflict = (first: Booking): Evaluation =>
  refused(
    'conversion_conflict',
    `The transaction is already recorded with ${microsToNumber(reportedMicros(first))} ${givenCurrencyOf(first)}.`,
  );
