/** Text that a spreadsheet put around a value: an apostrophe, or `="…"`. */
export type Artefact = 'apostrophe' | 'formula';

export type CleanValue = { value: string; artefact: Artefact | null } | { problem: string };

/** Matches values that need no cleaning: printable ASCII without surrounding blanks and artefacts. */
const plain = /^[!#-&(-<>-~](?:[ !#-~]*[!#-~])?$/;

/** Text for "no value" in exports of databases and programs, and errors of spreadsheets. */
const placeholder =
  /^(?:\\N|n\/a|null|\(null\)|none|nan|undefined|\[object Object\]|#(?:N\/A|REF!|NAME\?|VALUE!|NULL!|DIV\/0!|NUM!))$/i;

/** Matches a long number that a spreadsheet has rounded. */
const rounded = /^\d[.,]\d+E\+\d{2,}$/i;

/**
 * Cleans an identifier or a code: removes surrounding blanks and tabs, and artefacts of spreadsheets. Values with other
 * invisible characters are rejected.
 */
export function cleanValue(cell: string): CleanValue {
  if (plain.test(cell) && !isSuspicious(cell)) return { value: cell, artefact: null };
  let value = trimBlanks(cell);
  let artefact: Artefact | null = null;
  const [, formula] = /^="((?:[^"]|"")*)"$/.exec(value) ?? [];
  if (formula !== undefined) {
    value = trimBlanks(formula.replaceAll('""', '"'));
    artefact = 'formula';
  } else if (value.startsWith("'") && value.length > 1) {
    value = trimBlanks(value.slice(1));
    artefact = 'apostrophe';
  }
  const problem = problemOf(value);
  return problem === null ? { value, artefact } : { problem };
}

function problemOf(value: string): string | null {
  if (value === '') return 'is blank';
  if (/\p{Cc}/u.test(value)) return 'has a control character or a line break';
  if (value.includes('\uFFFD')) return 'has characters that are not UTF-8';
  if (/\p{Cf}/u.test(value)) return 'has a zero-width character';
  if (/^"|"$/.test(value)) return 'has a quote at an end; quote the whole value, or none of it';
  if (value.trim() !== value) return 'has special blanks at an end';
  if (placeholder.test(value)) return 'is a placeholder, not a value';
  if (rounded.test(value)) return 'is a number that a spreadsheet has rounded';
  return null;
}

const isSuspicious = (value: string): boolean => placeholder.test(value) || rounded.test(value);

const trimBlanks = (text: string): string => text.replace(/^[ \t]+|[ \t]+$/g, '');

/** A value for samples, cleaned if possible. */
export function shownValue(cell: string): string {
  const clean = cleanValue(cell);
  return 'value' in clean ? clean.value : cell;
}
