import { notALanguage } from '../../management/fields.ts';
import { updateRow } from '../../management/rows.ts';
import type { Work } from '../../management/unit-of-work.ts';
import { AppError, type ErrorDetail } from '../../platform/errors.ts';
import { byteOrderMark, type CsvRecord, csvLine, readCsv } from '../../platform/lib/csv.ts';
import { getOrInsert } from '../../platform/lib/get-or-insert.ts';
import { canonicalTag } from '../../platform/lib/language-tags.ts';
import { createPacer } from '../../platform/lib/slices.ts';
import { type TranslatedText, type Translation, translatedTexts } from '../offer-texts.ts';
import { offers } from './offers.ts';
import { maxLengthOf } from './translations.ts';

/** Columns beside those of the languages; `limit` and `original` are for who translates. */
const [idColumn, textColumn, limitColumn, originalColumn] = ['offer_id', 'text', 'limit', 'original'];

/** Offers of a file (count), and errors of one that are named. */
const maxOffers = 2_000;
const maxErrors = 100;

type Row = Record<Exclude<TranslatedText, 'offer_description'> | 'offer_description', string | null> & {
  id: number;
  translations: Record<string, Translation>;
};

/** Which offers a file has; null: all. `languages`: its columns; empty: those that an offer of it has. */
export type FileFilter = { campaignId: number | null; offerId: number | null; languages: readonly string[] };

async function readOfferTexts(
  { executor, publisherId }: Work,
  { campaignId, offerId }: Pick<FileFilter, 'campaignId' | 'offerId'>,
): Promise<Row[]> {
  const texts = translatedTexts.filter((name) => name !== 'offer_description').map((name) => `o.${name}`);
  const { rows } = await executor.query<Row>(
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
 * The texts of offers as a file for translators: a row for each text, a column for each language.
 * @throws AppError invalid_request where there are more than a file takes
 */
export async function exportTranslations(work: Work, filter: FileFilter): Promise<string> {
  const rows = await readOfferTexts(work, filter);
  if (rows.length > maxOffers) {
    const message = `is required: a file has at most ${maxOffers} offers`;
    throw new AppError('invalid_request', { details: [{ path: '/campaign_id', message }] });
  }
  const known = [...new Set(rows.flatMap(({ translations }) => Object.keys(translations)))].sort();
  const languages = filter.languages.length > 0 ? filter.languages : known;
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

/** A text of a file, by offer, language and name. */
type Cell = { line: number; offerId: number; tag: string; name: TranslatedText; text: string };

export type ImportedTranslations = {
  /** Offers and texts that changed (count). */
  offers: number;
  texts: number;
  languages: string[];
};

/**
 * Takes over the texts of a file: all of it or, where something is wrong, nothing. A cell that is empty changes
 * nothing.
 * @throws AppError invalid_request naming lines and columns
 */
export async function importTranslations(work: Work, text: string): Promise<ImportedTranslations> {
  const { cells, languages } = await readFile(text);
  const byOffer = new Map<number, Cell[]>();
  for (const cell of cells) getOrInsert(byOffer, cell.offerId, () => []).push(cell);
  const result: ImportedTranslations = { offers: 0, texts: 0, languages };
  const details: ErrorDetail[] = [];
  for (const [offerId, own] of [...byOffer].sort(([a], [b]) => a - b)) {
    const changed = await changeOffer(work, offerId, own).catch((err: unknown) => {
      details.push(...detailsIn(err, own));
      return 0;
    });
    result.texts += changed;
    if (changed > 0) result.offers += 1;
    if (details.length >= maxErrors) break;
  }
  refuse(details);
  return result;
}

/** @returns how many texts changed */
async function changeOffer(work: Work, offerId: number, cells: readonly Cell[]): Promise<number> {
  const { rows } = await work.executor.query<Pick<Row, 'translations'>>(
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

/** What the API says of an offer's fields, by the lines of the file. */
function detailsIn(err: unknown, cells: readonly Cell[]): ErrorDetail[] {
  if (!(err instanceof AppError)) throw err;
  const [first] = cells as [Cell];
  if (err.code === 'resource_not_found')
    return [{ path: `/lines/${first.line}/${idColumn}`, message: 'names no offer' }];
  if (err.code !== 'invalid_request') throw err;
  return (err.details ?? []).map(({ path, message }) => {
    const [, , tag = '', name] = path.split('/');
    const cell = cells.find((one) => one.tag === tag && (name === undefined || one.name === name)) ?? first;
    return { path: `/lines/${cell.line}/${cell.tag}`, message };
  });
}

function refuse(details: readonly ErrorDetail[]): void {
  if (details.length > 0) throw new AppError('invalid_request', { details: details.slice(0, maxErrors) });
}

/** Reads in slices: a file of 4 MB keeps no other request waiting. */
async function readFile(text: string): Promise<{ cells: Cell[]; languages: string[] }> {
  if (/[\0\uFFFD]/.test(text)) refuse([{ path: '/', message: 'must be text in UTF-8' }]);
  const records = readCsv(text);
  const { value: head } = records.next();
  const names = head?.cells.map((name) => name.trim()) ?? [];
  const details: ErrorDetail[] = [];
  const wrong = (path: string, message: string): void => void details.push({ path, message });
  for (const name of [idColumn, textColumn] as string[])
    if (!names.includes(name)) wrong(`/columns/${name}`, 'is required');
  const others = [idColumn, textColumn, limitColumn, originalColumn, ''];
  const tags = names.map((name) => {
    if (others.includes(name)) return null;
    const tag = canonicalTag(name);
    if (tag === null) wrong(`/columns/${name}`, notALanguage);
    return tag;
  });
  const languages = tags.filter((tag) => tag !== null);
  if (new Set(languages).size < languages.length) wrong('/columns', 'must name each language once');
  refuse(details);
  const [idAt, textAt] = [names.indexOf(idColumn as string), names.indexOf(textColumn as string)];
  const seen = new Map<string, number>();
  const read = ({ line, cells: values }: CsvRecord): Cell[] => {
    const [id = '', name = ''] = [values[idAt]?.trim(), values[textAt]?.trim()];
    const before = seen.get(`${id} ${name}`);
    if (!/^[1-9]\d{0,8}$/.test(id)) wrong(`/lines/${line}/${idColumn}`, 'must be the id of an offer');
    else if (!isText(name)) wrong(`/lines/${line}/${textColumn}`, `must be one of ${translatedTexts.join(', ')}`);
    else if (before !== undefined) wrong(`/lines/${line}`, `has the text of line ${before}`);
    else {
      seen.set(`${id} ${name}`, line);
      return tags.flatMap((tag, at) => {
        const text = values[at]?.trim() ?? '';
        return tag === null || text === '' ? [] : [{ line, offerId: Number(id), tag, name, text }];
      });
    }
    return [];
  };
  const cells: Cell[] = [];
  const pace = createPacer();
  for (const record of records) {
    cells.push(...read(record));
    await pace();
  }
  if (new Set(cells.map(({ offerId }) => offerId)).size > maxOffers)
    wrong('/lines', `must be of at most ${maxOffers} offers`);
  refuse(details);
  return { cells, languages };
}

const isText = (name: string): name is TranslatedText => (translatedTexts as readonly string[]).includes(name);
