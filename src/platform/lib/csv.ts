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

/** The text of a cell that `csvCell` wrote: an apostrophe before a formula is removed; lines end with a line feed. */
export const unguardedText = (text: string): string => {
  const lines = text.replaceAll(/\r\n?/g, '\n');
  return lines.startsWith("'") && isGuarded(lines.slice(1)) ? lines.slice(1) : lines;
};
