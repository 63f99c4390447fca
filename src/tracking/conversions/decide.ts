import type { Snapshot } from '../../catalog/types.ts';
import { AppError, type ErrorCode } from '../../platform/errors.ts';
import { exchangeMicros, exchangeOn } from '../../platform/exchange-rates.ts';
import { dayMs, dayOf } from '../../platform/lib/time.ts';
import { offsetMs } from '../../platform/lib/time-zone.ts';
import { microsToNumber, shareOf, times } from '../../platform/money.ts';
import { type Problem, problem } from '../../platform/problem.ts';
import { isSignedWith } from '../../platform/security/hex-signature.ts';
import type { Trace } from '../../platform/tracing/tracing.ts';
import type { Booking } from '../bookings.ts';
import type { ClickRef } from '../clicks/click-id.ts';
import { totalsCounting } from './count-caps.ts';
import { type ConvertedClick, maxBookings } from './find-clicks.ts';
import type { ConversionReport } from './request.ts';

/**
 * Maximum time between a click and its conversion, in milliseconds
 * (docs/reference/tracking-and-conversions.md#conversions). Voids have no such limit: they are accepted for as long as
 * the click is stored.
 */
const maxClickAgeMs = 30 * dayMs;

/** Queued conversion report. */
export type QueuedReport = {
  report: ConversionReport;
  click: ClickRef;
  /** Hashes of the transaction ID: the first uses the current pepper, the others use earlier peppers. */
  txnKeys: readonly string[];
  /** Trace context of the request that reported the conversion. */
  trace: Trace | null;
};

/** New ledger row, with the data for its postback. */
export type NewBooking = { outcome: 'book'; booking: Booking; click: ConvertedClick; trace: Trace | null };

/**
 * Decision about a report. It contains the new booking, or the first booking if the report is a duplicate. The outcome
 * `ignored` is for dev sessions, whose bookings are not stored. Its booking is null if the report is a void.
 */
export type Decision =
  | { outcome: 'refused'; error: AppError }
  | { outcome: 'ignored'; booking: Booking | null }
  | { outcome: 'duplicate'; booking: Booking }
  | NewBooking;

/**
 * Context of a decision: the configuration, the ID of a new booking, the time, and a function that decrypts secrets.
 */
type DecisionContext = {
  snapshot: Snapshot;
  id: string;
  nowMs: number;
  openSecret: (sealed: Buffer) => string;
};

const refused = (code: ErrorCode, message?: Problem): Decision => ({
  outcome: 'refused',
  error: new AppError(code, message === undefined ? {} : { message }),
});

/**
 * Decides how to handle a report. This is a pure function. It may refuse the report with one of these errors:
 * click_not_found, invalid_signature, click_expired, conversion_not_found, conversion_conflict, too_many_conversions,
 * invalid_request.
 * @param click reported click, or null if it does not exist
 */
export function decide(queued: QueuedReport, click: ConvertedClick | null, context: DecisionContext): Decision {
  const { report, trace } = queued;
  if (click === null) return refused('click_not_found');
  const { secretSealed, payoutCurrency, conversion } = click;
  if (secretSealed !== null && !isSignedWith(context.openSecret(secretSealed), report.signedText, report.signature))
    return refused('invalid_signature');
  if (report.isVoid) return decideVoid(queued, click, context);
  const payoutMicros = payoutOf(report, click);
  if (payoutMicros === null) return refused('invalid_request', problem('payoutOfShare'));
  if (report.givenMicros === null && report.currency !== null && report.currency !== payoutCurrency)
    return refused(
      'invalid_request',
      problem('payoutOfCurrency', { reported: report.currency, currency: payoutCurrency }),
    );
  if (conversion !== null)
    return isSame(report, conversion) ? { outcome: 'duplicate', booking: conversion } : conflict(conversion);
  const booking = bookingOf(queued, click, payoutMicros, context);
  if (click.dev || click.clickAtMs === null) return { outcome: 'ignored', booking };
  if (context.nowMs - click.clickAtMs > maxClickAgeMs) return refused('click_expired');
  if (click.bookings >= maxBookings) return refused('too_many_conversions');
  return { outcome: 'book', booking, click, trace };
}

function decideVoid({ report, trace }: QueuedReport, click: ConvertedClick, context: DecisionContext): Decision {
  const { dev, conversion, void: existing } = click;
  if (dev) return { outcome: 'ignored', booking: null };
  if (conversion === null) return refused('conversion_not_found');
  if (!isSame(report, conversion)) return conflict(conversion);
  if (existing !== null) return { outcome: 'duplicate', booking: existing };
  const booking: Booking = {
    ...conversion,
    ...identityOf(report, click, context),
    isVoid: true,
    payoutMicros: -conversion.payoutMicros,
    unbilledMicros: -conversion.unbilledMicros,
    loyaltyMicros: -conversion.loyaltyMicros,
  };
  return { outcome: 'book', booking, click, trace };
}

const bookingOf = (
  { report, txnKeys }: QueuedReport,
  click: ConvertedClick,
  micros: bigint,
  context: DecisionContext,
): Booking => {
  const money = moneyOf(report, click, micros, context);
  return {
    ...identityOf(report, click, context),
    event: report.event,
    txnKey: txnKeys[0] as string,
    isVoid: false,
    givenMicros: report.givenMicros,
    ...money,
    isLoyalty: click.isLoyalty,
    loyaltyMicros: click.isLoyalty ? times(money.payoutMicros, click.currencyMultiplier) : 0n,
    suspicious: click.suspicious,
    clickAtMs: click.clickAtMs ?? context.nowMs,
  };
};

/** Returns the ledger row fields that conversions and voids set in the same way. */
const identityOf = ({ txnId }: ConversionReport, click: ConvertedClick, { snapshot, id, nowMs }: DecisionContext) => ({
  day: click.day,
  sessionId: click.sessionId,
  offerId: click.offerId,
  id,
  publisherId: click.publisherId,
  campaignId: click.campaignId,
  advertiserId: click.advertiserId,
  txnId: txnId === '' || click.erased ? null : txnId,
  countedIn: totalsCounting(snapshot, click),
  bookedAtMs: nowMs,
});

/**
 * Maximum amount of a booking, in millionths. The same limit applies to reported amounts that need no conversion to
 * another currency.
 */
const mostMicros = 999_999_999_999_999n;

/**
 * Computes the payout for a conversion, in the campaign currency. The payout is unbilled if there is no exchange rate,
 * or if the converted amount exceeds the maximum. A suspicious click pays nothing.
 */
function moneyOf(
  { currency: reportedCurrency }: ConversionReport,
  { suspicious, payoutCurrency, publisherId }: ConvertedClick,
  micros: bigint,
  { snapshot, nowMs }: DecisionContext,
) {
  const isPaid = suspicious === null;
  const paid = { unbilledMicros: 0n, unbilledReason: null, currency: payoutCurrency };
  if (reportedCurrency === null || reportedCurrency === payoutCurrency)
    return { ...paid, payoutMicros: isPaid ? micros : 0n, givenCurrency: null };
  const converted = exchange(snapshot, publisherId, micros, { from: reportedCurrency, to: payoutCurrency, nowMs });
  if (converted !== null && converted <= mostMicros)
    return { ...paid, payoutMicros: isPaid ? converted : 0n, givenCurrency: reportedCurrency };
  const unbilledMicros = isPaid ? micros : 0n;
  const unbilledReason = unbilledMicros === 0n ? null : ('currency' as const);
  return { payoutMicros: 0n, unbilledMicros, unbilledReason, currency: reportedCurrency, givenCurrency: null };
}

/**
 * Converts an amount with the publisher's exchange rate for the current day in the publisher's time zone. Returns null
 * if there is no rate.
 */
function exchange(
  { publishers }: Snapshot,
  publisherId: number,
  micros: bigint,
  { from, to, nowMs }: { from: string; to: string; nowMs: number },
): bigint | null {
  const publisher = publishers.get(publisherId);
  if (publisher === undefined) return null;
  const rate = exchangeOn(publisher.exchangeRates, from, to, dayOf(nowMs + offsetMs(publisher.timeZone, nowMs)));
  return rate === null ? null : exchangeMicros(micros, rate);
}

/**
 * Returns the reported amount, or the campaign's fixed payout if no amount was reported. Returns null if the payout is
 * a share of the sale and the sale amount is missing.
 */
function payoutOf({ givenMicros }: ConversionReport, { payoutKind, payoutMicros }: ConvertedClick): bigint | null {
  if (payoutKind === 'cps') return givenMicros === null ? null : shareOf(givenMicros, payoutMicros);
  return givenMicros ?? (payoutKind === 'cpa' ? payoutMicros : 0n);
}

/**
 * Whether a report repeats the first one. A repeated report may omit the amount and currency, but if it contains them,
 * they must match.
 */
function isSame({ givenMicros, currency }: ConversionReport, first: Booking): boolean {
  const isSameAmount = givenMicros === null || givenMicros === reportedMicros(first);
  return isSameAmount && (currency === null || currency === givenCurrencyOf(first));
}

const givenCurrencyOf = ({ givenCurrency, currency }: Booking): string => givenCurrency ?? currency;

const reportedMicros = ({ givenMicros, payoutMicros, unbilledMicros }: Booking): bigint =>
  givenMicros ?? payoutMicros + unbilledMicros;

const conflict = (first: Booking): Decision =>
  refused(
    'conversion_conflict',
    problem('recordedWith', {
      amount: String(microsToNumber(reportedMicros(first))),
      currency: givenCurrencyOf(first),
    }),
  );
