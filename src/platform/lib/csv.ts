/** What a spreadsheet may take for a formula, also after invisible characters, and in full-width forms. */
const formula = /^[\s\p{C}]*[=+\-@＝＋－＠]|^[\t\r\n]/u;

/** Text with apostrophes before what may be a formula, which had one more put before it. */
const isGuarded = (text: string): boolean => formula.test(text.replace(/^'+/, ''));

/** A value as a cell of CSV. Text that a spreadsheet may take for a formula gets an apostrophe first. */
export function csvCell(value: string | number): string {
  if (typeof value === 'number') return String(value);
  const safe = isGuarded(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export const csvLine = (cells: readonly (string | number)[]): string => `${cells.map(csvCell).join(',')}\r\n`;

/** Marks a file as UTF-8 for spreadsheets, which take it for their system's encoding otherwise. */
export const byteOrderMark = '\uFEFF';

/** `line`: where the record begins, from 1. */
export type CsvRecord = { line: number; cells: string[] };

/**
 * The records of a file as `csvLine` writes it, or as spreadsheets save it: also with semicolons or tabs, a byte order
 * mark and any line ends. Empty lines are skipped; an apostrophe before a formula is taken off.
 */
export function* readCsv(text: string): Generator<CsvRecord, void> {
  const body = text.startsWith(byteOrderMark) ? text.slice(1) : text;
  const pattern = patternOf(separatorOf(body)); // of this call alone: it knows how far it has come
  let [cells, line, start]: [string[], number, number] = [[], 1, 1];
  for (let found = pattern.exec(body); found !== null && found[0] !== ''; found = pattern.exec(body)) {
    const [whole, quoted, plain = '', end = ''] = found;
    cells.push(cellOf(quoted === undefined ? plain : quoted.replaceAll('""', '"')));
    line += whole.match(/\r\n|\r|\n/g)?.length ?? 0;
    if (end !== '' && !/[\r\n]/.test(end)) continue;
    if (cells.some((cell) => cell !== '')) yield { line: start, cells };
    [cells, start] = [[], line];
  }
  if (cells.some((cell) => cell !== '')) yield { line: start, cells };
}

type Separator = ',' | ';' | '\t';

/** A cell and what ends it; a quote that is never closed is text. */
const patternOf = (separator: Separator): RegExp =>
  new RegExp(`(?:"([^"]*(?:""[^"]*)*)"[ ]*|([^${separator}\\r\\n]*))(${separator}|\\r\\n|\\r|\\n|$)`, 'y');

/** The separator that the first line has most of. */
function separatorOf(text: string): Separator {
  const [first = ''] = /^[^\r\n]*/.exec(text) ?? [];
  const separators: Separator[] = [',', ';', '\t'];
  return separators.reduce((best, one) => (first.split(one).length > first.split(best).length ? one : best));
}

const cellOf = (text: string): string => {
  const lines = text.replaceAll(/\r\n?/g, '\n');
  return lines.startsWith("'") && isGuarded(lines.slice(1)) ? lines.slice(1) : lines;
};
