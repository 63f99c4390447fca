/**
 * Matches text that a spreadsheet may interpret as a formula. This includes formulas that follow invisible characters
 * or use full-width characters.
 */
const formula = /^[\s\p{C}]*[=+\-@＝＋－＠]|^[\t\r\n]/u;

/** Whether a string could be a formula, ignoring leading apostrophes. `csvCell` adds an apostrophe to such strings. */
const isGuarded = (text: string): boolean => formula.test(text.replace(/^'+/, ''));

/** Encodes a value as a CSV cell. Text that a spreadsheet may interpret as a formula is prefixed with an apostrophe. */
export function csvCell(value: string | number): string {
  if (typeof value === 'number') return String(value);
  const safe = isGuarded(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export const csvLine = (cells: readonly (string | number)[]): string => `${cells.map(csvCell).join(',')}\r\n`;

/** UTF-8 byte order mark. Without it, spreadsheets assume the system encoding. */
export const byteOrderMark = '\uFEFF';

/**
 * Decodes a cell written by `csvCell`: removes the apostrophe before a formula, and normalises line breaks to line
 * feeds.
 */
export const unguardedText = (text: string): string => {
  const lines = text.replaceAll(/\r\n?/g, '\n');
  return lines.startsWith("'") && isGuarded(lines.slice(1)) ? lines.slice(1) : lines;
};
