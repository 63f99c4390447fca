import { type Static, Type } from '@sinclair/typebox';
import { AppError, type ErrorDetail } from '../../platform/errors.ts';
import { parseMicros } from './amounts.ts';
import { isCurrency } from './currencies.ts';

/** No control characters: PostgreSQL stores no NUL, and a line break would end a line of the signed text. */
const plain = '^[^\\u0000-\\u001f\\u007f]*$';
const text = (maxLength: number, description: string) =>
  Type.Optional(Type.String({ maxLength, pattern: plain, description }));
const textOrNumber = (maxLength: number, description: string) =>
  Type.Optional(Type.Union([Type.String({ maxLength, pattern: plain }), Type.Number()], { description }));

const fields = {
  click_id: text(128, 'Required. The click id the landing page was opened with.'),
  event: text(64, 'What happened, in your words, such as `purchase`. Default: `conversion`.'),
  currency: text(3, 'ISO 4217. Default: that of the campaign.'),
  status: text(32, '`void` takes the conversion back, like `void=1`.'),
  signature: text(128, 'Hex HMAC-SHA256 of the signed text; required where the advertiser has a secret.'),
};
const payoutText =
  'Amount with at most six decimals. Default: the fixed payout of the campaign. Where the campaign pays a share: the sale.';
const txnText = 'Your id of the transaction. One event of one click with one txn_id counts once.';
const voidText = '1 or true: take back the conversion with the same click_id, event and txn_id.';

/** Query of a conversion; everything is text. */
export const conversionQuery = Type.Object({
  ...fields,
  payout: text(32, payoutText),
  txn_id: text(128, txnText),
  void: text(5, voidText),
});

/** JSON or form body of a conversion. */
export const conversionBody = Type.Object({
  ...fields,
  payout: textOrNumber(32, payoutText),
  txn_id: textOrNumber(128, txnText),
  void: Type.Optional(
    Type.Union([Type.String({ maxLength: 5, pattern: plain }), Type.Integer(), Type.Boolean()], {
      description: voidText,
    }),
  ),
});

type Given = Static<typeof conversionBody>;

/** What an advertiser reports, read once and checked. */
export type ConversionCall = {
  clickId: string;
  event: string;
  /** '': none. */
  txnId: string;
  /** null: none given. */
  givenMicros: bigint | null;
  /** Upper case; null: none given. */
  currency: string | null;
  isVoid: boolean;
  /** '': none. */
  signature: string;
  /** What a signature covers. */
  signedText: string;
};

export const defaultEvent = 'conversion';

/**
 * Reads query and body, both already checked against their schemas; the body's fields win.
 * @throws AppError invalid_request
 */
export function readConversion(query: Given, body: Given): ConversionCall {
  const given = { ...query, ...body };
  const rawOf = (name: keyof Given): string => String(given[name] ?? '');
  const cleanOf = (name: keyof Given): string => rawOf(name).toWellFormed().trim();
  const voidGiven = cleanOf('void').toLowerCase();
  const isVoid = ['1', 'true'].includes(voidGiven) || cleanOf('status').toLowerCase() === 'void';
  const payout = cleanOf('payout');
  const currency = cleanOf('currency').toUpperCase();
  const givenMicros = payout === '' ? null : parseMicros(payout);
  const details: ErrorDetail[] = [];
  if (cleanOf('click_id') === '') details.push({ path: '/click_id', message: 'is required' });
  if (payout !== '' && givenMicros === null)
    details.push({
      path: '/payout',
      message: 'must be an amount from 0 to 999999999.999999, with at most six decimals',
    });
  if (!['', '0', 'false', '1', 'true'].includes(voidGiven)) details.push({ path: '/void', message: 'must be 1 or 0' });
  if (currency !== '' && !isCurrency(currency))
    details.push({ path: '/currency', message: 'must be a currency code of ISO 4217' });
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
