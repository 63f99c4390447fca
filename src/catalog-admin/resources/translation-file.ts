import { type TranslatedText, type Translation, translatedTexts } from '../../catalog/types.ts';
import { notALanguage } from '../../management/fields.ts';
import { updateRow } from '../../management/rows.ts';
import type { Work } from '../../management/unit-of-work.ts';
import { AppError, type ErrorDetail } from '../../platform/errors.ts';
import { createFileCounter, type DryRunView, type FileCounter } from '../../platform/files/counter.ts';
import type { Layout } from '../../platform/files/layout.ts';
import type { FileFormat } from '../../platform/files/names.ts';
import { type FileRow, openDelimitedFile } from '../../platform/files/open.ts';
import type { FileOptions } from '../../platform/files/query.ts';
import { byteOrderMark, csvLine, unguardedText } from '../../platform/lib/csv.ts';
import { getOrInsert } from '../../platform/lib/get-or-insert.ts';
import { canonicalTag } from '../../platform/lib/language-tags.ts';
import { createPacer } from '../../platform/lib/slices.ts';
import { type Problem, problem } from '../../platform/problem.ts';
import { offers } from './offers.ts';
import { maxLengthOf } from './translations.ts';

/** Columns other than the language columns. `limit` and `original` are only for the translators' information. */
const [idColumn, textColumn, limitColumn, originalColumn] = ['offer_id', 'text', 'limit', 'original'] as const;

const translationFormat: FileFormat<typeof idColumn | typeof textColumn | typeof limitColumn | typeof originalColumn> =
  {
    columns: { offer_id: [], text: [], limit: [], original: [] },
    otherColumn: canonicalTag,
    required: [idColumn, textColumn],
  };

/** Maximum number of offers in a file. */
const maxOffers = 2_000;

type OfferTextsRow = Record<Exclude<TranslatedText, 'offer_description'> | 'offer_description', string | null> & {
  id: number;
  translations: Record<string, Translation>;
};

/**
 * Filter for an export. Null IDs mean all offers. `languages` are the language columns of the file; if empty, there is
 * one for each language that the offers have.
 */
export type FileFilter = { campaignId: number | null; offerId: number | null; languages: readonly string[] };

async function readOfferTexts(
  { executor, publisherId }: Work,
  { campaignId, offerId }: { campaignId: number | null; offerId: number | null },
): Promise<OfferTextsRow[]> {
  const texts = translatedTexts.filter((name) => name !== 'offer_description').map((name) => `o.${name}`);
  const { rows } = await executor.query<OfferTextsRow>(
    `select o.id, o.translations, c.offer_description, ${texts.join(', ')}
    from offers o join campaigns c on c.id = o.campaign_id
    where o.publisher_id = $1 and o.deleted_at is null and c.deleted_at is null
      and ($2::integer is null or o.campaign_id = $2) and ($3::integer is null or o.id = $3)
    order by o.id limit ${maxOffers + 1}`,
    [publisherId, campaignId, offerId],
  );
  return rows;
}

/**
 * Exports offer copy as a file for translators, with one row per string and one column per language.
 * @throws AppError invalid_request if there are too many offers for one file
 */
export async function exportTranslations(work: Work, filter: FileFilter): Promise<string> {
  const rows = await readOfferTexts(work, filter);
  if (rows.length > maxOffers) {
    const message = problem('campaignRequired', { max: maxOffers });
    throw new AppError('invalid_request', { details: [{ path: '/campaign_id', message }] });
  }
  const usedLanguages = [...new Set(rows.flatMap(({ translations }) => Object.keys(translations)))].sort();
  const languages = filter.languages.length > 0 ? filter.languages : usedLanguages;
  const lines = rows.flatMap((row) =>
    translatedTexts.flatMap((name) => {
      const original = row[name] ?? '';
      const translated = languages.map((tag) => row.translations[tag]?.[name] ?? '');
      if (original === '' && translated.every((text) => text === '')) return [];
      return [csvLine([row.id, name, maxLengthOf(name), original, ...translated])];
    }),
  );
  const head = [idColumn, textColumn, limitColumn, originalColumn, ...languages] as string[];
  return [byteOrderMark, csvLine(head), ...lines].join('');
}

/** Text in a file, with its offer, language and field name. */
type Cell = { line: number; offerId: number; tag: string; name: TranslatedText; text: string };

export type ImportedTranslations = {
  /** Number of changed offers. `texts` is the number of changed strings. */
  offers: number;
  texts: number;
  languages: string[];
  file: DryRunView;
};

/**
 * Imports the translations in a file: all readable rows, or nothing if more than 1% of the rows are unreadable. Empty
 * cells change nothing.
 * @throws AppError unknown_header; invalid_request with lines and columns
 */
async function importTranslations(work: Work, bytes: Buffer, options: FileOptions): Promise<ImportedTranslations> {
  const { cells, languages, counter } = await readFile(bytes);
  const byOffer = new Map<number, Cell[]>();
  for (const cell of cells) getOrInsert(byOffer, cell.offerId, () => []).push(cell);
  const result = { offers: 0, texts: 0, languages };
  for (const [offerId, own] of [...byOffer].sort(([a], [b]) => a - b)) {
    const changed = await changeReadable(work, offerId, own, counter);
    result.texts += changed;
    if (changed > 0) result.offers += 1;
  }
  if (!options.isDryRun) counter.requireFewBad(options.isPartial);
  return { ...result, file: counter.view() };
}

/** Error that is thrown to roll back a dry run. */
class DryRunEnd extends Error {
  readonly result: ImportedTranslations;
  constructor(result: ImportedTranslations) {
    super('dry run');
    this.result = result;
  }
}

/** Imports a file within the transaction that `write` opens. A dry run rolls the transaction back. */
export async function runImport(
  options: FileOptions,
  write: (run: (work: Work) => Promise<ImportedTranslations>) => Promise<ImportedTranslations>,
  bytes: Buffer,
): Promise<ImportedTranslations> {
  try {
    return await write(async (work) => {
      const result = await importTranslations(work, bytes, options);
      if (options.isDryRun) throw new DryRunEnd(result);
      return result;
    });
  } catch (err) {
    if (err instanceof DryRunEnd) return err.result;
    throw err;
  }
}

/**
 * Updates an offer with the cells that are valid. All other cells are counted as invalid.
 * @returns the number of changed strings
 */
async function changeReadable(
  work: Work,
  offerId: number,
  cells: readonly Cell[],
  counter: FileCounter,
): Promise<number> {
  try {
    return await changeOffer(work, offerId, cells);
  } catch (err) {
    const refused = refusedCells(err, cells);
    for (const { cell, column, message } of refused) counter.withdraw(cell.line, { column, message });
    const lines = new Set(refused.map(({ cell }) => cell.line));
    const others = cells.filter(({ line }) => !lines.has(line));
    return others.length === 0 ? 0 : changeReadable(work, offerId, others, counter);
  }
}

/**
 * Updates an offer.
 * @returns the number of changed strings
 */
async function changeOffer(work: Work, offerId: number, cells: readonly Cell[]): Promise<number> {
  const { rows } = await work.executor.query<{ translations: Record<string, Translation> }>(
    'select translations from offers where id = $1 and publisher_id = $2 and deleted_at is null for update',
    [offerId, work.publisherId],
  );
  const [stored] = rows;
  if (stored === undefined) throw new AppError('resource_not_found');
  const changed = cells.filter(({ tag, name, text }) => stored.translations[tag]?.[name] !== text);
  if (changed.length === 0) return 0;
  const translations = structuredClone(stored.translations);
  for (const { tag, name, text } of changed) translations[tag] = { ...translations[tag], [name]: text };
  await updateRow(offers, work, String(offerId), { translations }, { ifMatch: null, replace: false });
  return changed.length;
}

type RefusedCell = { cell: Cell; column: string; message: Problem };

/** Returns the cells that validation rejected. */
function refusedCells(err: unknown, cells: readonly Cell[]): RefusedCell[] {
  if (!(err instanceof AppError)) throw err;
  const [first] = cells as [Cell];
  if (err.code === 'resource_not_found')
    return cells.map((cell) => ({ cell, column: idColumn, message: problem('namesNoOffer') }));
  if (err.code !== 'invalid_request' || err.details === undefined || err.details.length === 0) throw err;
  return err.details.map(({ path, message }) => {
    const [, , tag = '', name] = path.split('/');
    const cell =
      cells.find((candidate) => candidate.tag === tag && (name === undefined || candidate.name === name)) ?? first;
    return { cell, column: cell.tag, message };
  });
}

function requireLanguages({ columns }: Layout): string[] {
  const details: ErrorDetail[] = columns.flatMap(({ name, role }) =>
    role === null && name !== '' ? [{ path: `/columns/${name}`, message: notALanguage }] : [],
  );
  const own: readonly (string | null)[] = [idColumn, textColumn, limitColumn, originalColumn, null];
  const languages = columns.flatMap(({ role }) => (role === null || own.includes(role) ? [] : [role]));
  if (new Set(languages).size < languages.length) details.push({ path: '/columns', message: problem('languageOnce') });
  if (details.length > 0) throw new AppError('invalid_request', { details });
  return languages;
}

/** Reads a file in slices, so that a 4 MB file does not block other requests. */
async function readFile(bytes: Buffer): Promise<{ cells: Cell[]; languages: string[]; counter: FileCounter }> {
  const { layout, batches } = await openDelimitedFile(bytes, translationFormat);
  const languages = requireLanguages(layout);
  const counter = createFileCounter(layout);
  const readRow = createRowReader(layout, languages);
  const cells: Cell[] = [];
  const offerIds = new Set<number>();
  const pace = createPacer();
  for await (const batch of batches)
    for (const row of batch) {
      const result = readRow(row);
      const values = (): Record<string, string> =>
        Object.fromEntries(
          layout.columns.flatMap(({ role }, at) => (role === null ? [] : [[role, row.cells[at] ?? '']])),
        );
      if ('message' in result) counter.refuse(row, result, values);
      else {
        counter.accept(row, values);
        for (const cell of result.cells) offerIds.add(cell.offerId);
        cells.push(...result.cells);
      }
      await pace();
    }
  if (offerIds.size > maxOffers) {
    const message = problem('offersInFile', { max: maxOffers });
    throw new AppError('invalid_request', { details: [{ path: '/lines', message }] });
  }
  return { cells, languages, counter };
}

/**
 * Returns a function that converts rows to translations. If two rows contain the same string, the second row is
 * rejected.
 */
function createRowReader({ columns }: Layout, languages: readonly string[]) {
  const [idAt, textAt] = [idColumn, textColumn].map((role) => columns.findIndex((column) => column.role === role));
  const lineOf = new Map<string, number>();
  return ({
    line,
    cells: values,
    problem: ofRow,
  }: FileRow): { cells: Cell[] } | { column?: string; message: Problem } => {
    if (ofRow !== null) return { message: ofRow };
    if (values.some((value) => /[\0\uFFFD]/.test(value))) return { message: problem('valueNotUtf8') };
    const [id = '', name = ''] = [values[idAt as number]?.trim(), values[textAt as number]?.trim()];
    if (!/^[1-9]\d{0,8}$/.test(id)) return { column: idColumn, message: problem('offerId') };
    if (!isText(name))
      return { column: textColumn, message: problem('oneOf', { choices: translatedTexts.join(', ') }) };
    const before = lineOf.get(`${id} ${name}`);
    if (before !== undefined) return { message: problem('textOfLine', { line: before }) };
    lineOf.set(`${id} ${name}`, line);
    const cells = columns.flatMap(({ role: tag }, at) => {
      if (tag === null || !languages.includes(tag)) return [];
      const text = unguardedText(values[at] ?? '').trim();
      return text === '' ? [] : [{ line, offerId: Number(id), tag, name, text }];
    });
    return { cells };
  };
}

const isText = (name: string): name is TranslatedText => (translatedTexts as readonly string[]).includes(name);
