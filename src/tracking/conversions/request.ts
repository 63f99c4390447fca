import { type Static, Type } from '@sinclair/typebox';
import { AppError, type ErrorDetail } from '../../platform/errors.ts';
import { textOrNumber } from '../../platform/http/schemas.ts';
import { isCurrency, parseMicros } from '../../platform/money.ts';
import { problem } from '../../platform/problem.ts';

/**
 * Pattern for text without control characters. PostgreSQL cannot store NUL, and a line break in a value would add a
 * line to the signed text.
 */
const noControlCharacters = '^[^\\u0000-\\u001f\\u007f]*$';
const text = (maxLength: number, description: string) =>
  Type.Optional(Type.String({ maxLength, pattern: noControlCharacters, description }));

const fields = {
  click_id: text(128, 'Required. Click ID that the landing page received.'),
  adpx_click_id: text(128, 'Deprecated alias of `click_id`.'),
  event: text(64, 'Name of the event, such as `purchase`. Defaults to `conversion`.'),
  currency: text(
    3,
    "ISO 4217 code of `payout`. Defaults to the campaign's currency. Another currency requires `payout`.",
  ),
  status: text(32, '`void` reverses the conversion, like `void=1`.'),
  signature: text(128, 'HMAC-SHA256 of the signed text, in hex. Required if the advertiser has a secret.'),
};
const payoutText =
  'Amount with at most six decimals. If the campaign pays a share of the sale, the amount of the sale. ' +
  "Defaults to the campaign's fixed payout.";
const txnText = "Advertiser's ID of the transaction. An event of a click with the same `txn_id` counts once.";
const voidText = '1 or true reverses the conversion with the same click_id, event and txn_id.';

/** Query parameters of a conversion report, all as text. */
export const conversionQuery = Type.Object({
  ...fields,
  payout: text(32, payoutText),
  txn_id: text(128, txnText),
  void: text(5, voidText),
});

/** JSON or form body of a conversion report. */
export const conversionBody = Type.Object(
  {
    ...fields,
    payout: Type.Optional(
      Type.Union([Type.String({ maxLength: 32, pattern: noControlCharacters }), Type.Number()], {
        description: payoutText,
      }),
    ),
    txn_id: textOrNumber(128, txnText, noControlCharacters),
    void: Type.Optional(
      Type.Union([Type.String({ maxLength: 5, pattern: noControlCharacters }), Type.Integer(), Type.Boolean()], {
        description: voidText,
      }),
    ),
  },
  { title: 'ConversionReport' },
);

type ReportFields = Static<typeof conversionBody>;

/** Validated conversion report from an advertiser. */
export type ConversionReport = {
  clickId: string;
  event: string;
  /** Transaction ID, or an empty string if absent. */
  txnId: string;
  /** Reported amount in millionths, or null if absent. */
  givenMicros: bigint | null;
  /** Currency in upper case, or null if absent. */
  currency: string | null;
  isVoid: boolean;
  /** Signature, or an empty string if absent. */
  signature: string;
  /** Text that the signature covers. */
  signedText: string;
};

const defaultEvent = 'conversion';

/**
 * Reads a report from the query and body, which have already been validated against their schemas. If a field is in
 * both, the body takes precedence.
 * @throws AppError invalid_request
 */
export function readConversion(query: ReportFields, body: ReportFields): ConversionReport {
  const sent = { ...query, ...body };
  if ((sent.click_id ?? '') === '') sent.click_id = sent.adpx_click_id ?? '';
  const rawOf = (name: keyof typeof sent): string => String(sent[name] ?? '');
  const cleanOf = (name: keyof typeof sent): string => rawOf(name).toWellFormed().trim();
  const voidValue = cleanOf('void').toLowerCase();
  const isVoid = ['1', 'true'].includes(voidValue) || cleanOf('status').toLowerCase() === 'void';
  const payout = cleanOf('payout');
  const currency = cleanOf('currency').toUpperCase();
  const givenMicros = payout === '' ? null : parseMicros(payout);
  const details: ErrorDetail[] = findMisspelt(sent);
  if (cleanOf('click_id') === '') details.push({ path: '/click_id', message: problem('isRequired') });
  if (payout !== '' && givenMicros === null)
    details.push({
      path: '/payout',
      message: problem('amount'),
    });
  if (!['', '0', 'false', '1', 'true'].includes(voidValue))
    details.push({ path: '/void', message: problem('oneOrZero') });
  if (currency !== '' && !isCurrency(currency)) details.push({ path: '/currency', message: problem('currencyIso') });
  if (details.length > 0) throw new AppError('invalid_request', { details });
  return {
    clickId: cleanOf('click_id'),
    event: cleanOf('event') || defaultEvent,
    txnId: cleanOf('txn_id'),
    givenMicros,
    currency: currency === '' ? null : currency,
    isVoid,
    signature: cleanOf('signature'),
    signedText: [
      ...(['click_id', 'event', 'payout', 'currency', 'txn_id'] as const).map(rawOf),
      isVoid ? 'void' : '',
    ].join('\n'),
  };
}

/** Alternative parameter names that advertiser systems use. */
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
 * Finds unknown parameters that were probably meant to be a missing one. Otherwise, a report with `amount`, for
 * example, would book no revenue, and nobody would notice (docs/guides/conversions.md). All other unknown parameters
 * are assumed to be for the advertiser's own use and are ignored.
 */
function findMisspelt(parameters: Readonly<Record<string, unknown>>): ErrorDetail[] {
  return Object.keys(parameters).flatMap((name) => {
    const intended = meantBy.get(bare(name)) ?? neighbourOf(bare(name));
    if (intended === undefined || intended === name || (parameters[intended] ?? '') !== '') return [];
    return [{ path: `/${name.slice(0, 64)}`, message: problem('misspeltParameter', { intended }) }];
  });
}

/** Returns the known parameter whose name differs by only one letter or by two swapped letters. */
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
