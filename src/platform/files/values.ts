import { type Problem, problem } from '../problem.ts';

/** Characters that spreadsheets add around a value: a leading apostrophe, or `="…"`. */
export type Artefact = 'apostrophe' | 'formula';

export type CleanValue = { value: string; artefact: Artefact | null } | { problem: Problem };

/** Matches values that need no cleaning: printable ASCII without surrounding blanks or artefacts. */
const plain = /^[!#-&(-<>-~](?:[ !#-~]*[!#-~])?$/;

/** Placeholders that databases and programs export for "no value", and error values in spreadsheets. */
const placeholder =
  /^(?:\\N|n\/a|null|\(null\)|none|nan|undefined|\[object Object\]|#(?:N\/A|REF!|NAME\?|VALUE!|NULL!|DIV\/0!|NUM!))$/i;

/** Matches a long number that a spreadsheet has rounded to scientific notation. */
const rounded = /^\d[.,]\d+E\+\d{2,}$/i;

/**
 * Cleans an identifier or code by removing spreadsheet artefacts and surrounding blanks and tabs. Rejects values that
 * contain other invisible characters.
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
  const valueProblem = problemOf(value);
  return valueProblem === null ? { value, artefact } : { problem: valueProblem };
}

function problemOf(value: string): Problem | null {
  if (value === '') return problem('valueBlank');
  if (/\p{Cc}/u.test(value)) return problem('valueControl');
  if (value.includes('\uFFFD')) return problem('valueNotUtf8');
  if (/\p{Cf}/u.test(value)) return problem('valueZeroWidth');
  if (/^"|"$/.test(value)) return problem('valueQuote');
  if (value.trim() !== value) return problem('valueBlanks');
  if (placeholder.test(value)) return problem('valuePlaceholder');
  if (rounded.test(value)) return problem('valueRounded');
  return null;
}

const isSuspicious = (value: string): boolean => placeholder.test(value) || rounded.test(value);

const trimBlanks = (text: string): string => text.replace(/^[ \t]+|[ \t]+$/g, '');

/** Returns a value for display in samples, cleaned if possible. */
export function shownValue(cell: string): string {
  const clean = cleanValue(cell);
  return 'value' in clean ? clean.value : cell;
}
