import { createFileCounter, type FileCounter } from '../../platform/files/counter.ts';
import type { FileSource } from '../../platform/files/decode.ts';
import type { LayoutOptions } from '../../platform/files/layout.ts';
import type { FileFormat } from '../../platform/files/names.ts';
import { type DelimitedFile, openDelimitedFile } from '../../platform/files/open.ts';
import { cleanValue, shownValue } from '../../platform/files/values.ts';
import { problem } from '../../platform/problem.ts';
import { refuseCode } from '../code-text.ts';
import type { Line } from './lines.ts';

/**
 * Columns that a code file may have, with the names that shop systems use in exports (docs/reading-input.md#columns).
 */
const codeFormat: FileFormat<'code'> = {
  columns: {
    code: [
      ...['codes', 'coupon', 'coupons', 'coupon_code', 'coupon_codes', 'voucher', 'vouchers', 'voucher_code'],
      ...['voucher_codes', 'discount', 'discount_code', 'discount_codes', 'promo_code', 'promo_codes', 'promo'],
      ...['promotion_code', 'promotional_code', 'gift_card_code', 'offer_code', 'Gutschein', 'Gutscheine'],
      ...['Gutscheincode', 'Gutscheincodes', 'Gutscheinnummer', 'Rabattcode', 'Rabattcodes', 'Aktionscode'],
    ],
  },
  identifiers: ['code'],
};

/** Codes in a file, with a counter of its rows. */
export type CodeFile = { lines: AsyncGenerator<Line | null, void>; counter: FileCounter };

/**
 * Opens a code file.
 * @throws AppError ambiguous_header, unknown_header, invalid_request
 */
export async function openCodeFile(source: FileSource, options: LayoutOptions): Promise<CodeFile> {
  const file = await openDelimitedFile(source, codeFormat, options);
  const counter = createFileCounter(file.layout);
  return { lines: readCodes(file, counter), counter };
}

/**
 * Yields the codes in a file, or null at points where the caller may pause. The same object is reused for every code,
 * so process each code before requesting the next one.
 */
async function* readCodes({ layout, batches }: DelimitedFile, counter: FileCounter): AsyncGenerator<Line | null, void> {
  const at = layout.columns.findIndex(({ role }) => role === 'code');
  const line: Line = { bytes: Buffer.alloc(0), start: 0, end: 0, line: 0, problem: null };
  let cell = '';
  const values = (): Record<string, string> => ({ code: shownValue(cell) });
  for await (const batch of batches) {
    yield null;
    for (const row of batch) {
      cell = row.cells[at] ?? '';
      const clean = row.problem === null ? cleanValue(cell) : { problem: row.problem };
      const message = 'problem' in clean ? clean.problem : refuseCode(clean.value);
      if ('problem' in clean || message !== null) {
        counter.refuse(row, { message: message ?? problem('isInvalid') }, values);
        continue;
      }
      counter.addArtefact(clean.artefact);
      counter.accept(row, values);
      line.bytes = Buffer.from(clean.value);
      line.end = line.bytes.length;
      line.line = row.line;
      yield line;
    }
  }
}
