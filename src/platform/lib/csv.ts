/** Text that a spreadsheet may treat as a formula, including after invisible characters and in full-width forms. */
const formula = /^[\s\p{C}]*[=+\-@＝＋－＠]|^[\t\r\n]/u;

/** Whether text starts with apostrophes before a possible formula. Such text gets one more apostrophe. */
const isGuarded = (text: string): boolean => formula.test(text.replace(/^'+/, ''));

/** Encodes a value as a CSV cell. Text that a spreadsheet may treat as a formula gets a leading apostrophe. */
export function csvCell(value: string | number): string {
  if (typeof value === 'number') return String(value);
  const safe = isGuarded(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export const csvLine = (cells: readonly (string | number)[]): string => `${cells.map(csvCell).join(',')}\r\n`;

/** Marks a file as UTF-8 for spreadsheets, which otherwise assume the system's encoding. */
export const byteOrderMark = '\uFEFF';

/**
 * Decodes the text of a cell written by `csvCell`: removes an apostrophe before a formula, and normalises line ends to
 * line feeds.
 */
export const unguardedText = (text: string): string => {
  const lines = text.replaceAll(/\r\n?/g, '\n');
  return lines.startsWith("'") && isGuarded(lines.slice(1)) ? lines.slice(1) : lines;
};
