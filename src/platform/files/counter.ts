import { type Static, Type } from '@sinclair/typebox';
import { AppError } from '../errors.ts';
import { type Problem, problem } from '../problem.ts';
import type { Layout } from './layout.ts';
import type { FileRow } from './open.ts';
import type { Artefact } from './values.ts';

/** Maximum number of errors in a response, and maximum share of rejected rows. */
const maxErrors = 100;
const maxBadShare = 0.01;
const sampleRows = 5;

/** Maximum length of a sample value, in characters. */
const maxSampleText = 200;

const badRow = Type.Object({
  line: Type.Integer(),
  column: Type.Union([Type.String(), Type.Null()]),
  message: Type.String(),
});

const fileWarningCodes = [
  'apostrophes_removed',
  'formulas_removed',
  'columns_ignored',
  'separator_unsure',
  'header_absent',
  'weak_pattern',
  'rate_jumps',
  'other',
] as const;

export const fileWarning = Type.Object(
  {
    code: Type.Union(fileWarningCodes.map((code) => Type.Literal(code))),
    message: Type.String(),
    count: Type.Union([Type.Integer(), Type.Null()], {
      description: 'Number of affected rows or columns, if they were counted.',
    }),
  },
  { title: 'FileWarning' },
);

export type FileWarning = Static<typeof fileWarning>;

/** Response to a dry run (`?dry_run=true`), which every import supports (docs/reading-input.md#files). */
export const dryRunView = Type.Object(
  {
    separator: Type.Union([Type.Literal(','), Type.Literal(';'), Type.Literal('\t'), Type.Null()], {
      description: 'Column separator, or `null` if the file has one column.',
    }),
    header: Type.Boolean({ description: 'Whether the first row is a header.' }),
    columns: Type.Array(
      Type.Object({
        name: Type.Union([Type.String(), Type.Null()]),
        used_as: Type.Union([Type.String(), Type.Null()], {
          description: 'How the column is used, or `null` if it is ignored.',
        }),
      }),
    ),
    rows: Type.Integer({ description: 'Number of rows without the header.' }),
    bad: Type.Integer({ description: 'Number of invalid rows.' }),
    duplicates: Type.Integer({
      description: 'Number of rows whose value appears earlier in the file or is already stored.',
    }),
    sample: Type.Array(
      Type.Object({
        line: Type.Integer(),
        values: Type.Record(Type.String(), Type.String()),
        problem: Type.Union([Type.String(), Type.Null()]),
      }),
      { description: 'First five rows as they were read.' },
    ),
    warnings: Type.Array(fileWarning),
    errors: Type.Array(badRow, { description: 'First 100 invalid rows.' }),
  },
  { title: 'FileDryRun' },
);

type BadRow = Omit<Static<typeof badRow>, 'message'> & { message: Problem };
type SampleRow = { line: number; values: RowValues; problem: Problem | null };

/** Dry-run result whose problems have not been converted to text yet. */
export type DryRunView = Omit<Static<typeof dryRunView>, 'sample' | 'errors'> & {
  sample: SampleRow[];
  errors: BadRow[];
};

type RowValues = Readonly<Record<string, string>>;

/** Reason why a row cannot be imported. `column` is the invalid column, if known. */
type RowProblem = { column?: string; message: Problem };

export type FileCounter = {
  /** Counts a valid row. `values` returns its parsed values by role. */
  accept: (row: FileRow, values: () => RowValues) => void;
  /** Counts an invalid row, including every line that it spans. */
  refuse: (row: FileRow, problem: RowProblem, values: () => RowValues) => void;
  /** Counts a row as invalid that was already counted as valid. */
  withdraw: (line: number, problem: RowProblem) => void;
  addDuplicate: () => void;
  addArtefact: (artefact: Artefact | null) => void;
  addWarning: (warning: FileWarning) => void;
  rows: () => number;
  bad: () => number;
  errors: () => BadRow[];
  /**
   * Checks the share of rejected rows.
   * @throws AppError invalid_request, with line numbers, if more than 1% of the rows were rejected and `isPartial` is
   * false
   */
  requireFewBad: (isPartial: boolean) => void;
  view: () => DryRunView;
};

/** Creates a counter for the rows of an import file. The response contains its results. */
export function createFileCounter(layout: Layout): FileCounter {
  let [rows, bad, duplicates] = [0, 0, 0];
  const artefacts: Record<Artefact, number> = { apostrophe: 0, formula: 0 };
  const errors: BadRow[] = [];
  const withdrawn = new Set<number>();
  const sample: DryRunView['sample'] = [];
  const extra: FileWarning[] = [];

  function addError(line: number, { column = null, message }: { column?: string | null; message: Problem }): void {
    if (errors.length < maxErrors) errors.push({ line, column, message });
  }

  function addSample(line: number, values: RowValues, problem: Problem | null): void {
    const short = Object.entries(values).map(([role, text]) => [role, shorten(text)]);
    sample.push({ line, values: Object.fromEntries(short), problem });
  }

  const warnings = (): FileWarning[] => {
    const ignored = layout.hasHeader ? layout.columns.filter(({ role }) => role === null) : [];
    const names = ignored.map(({ name }) => name).join(', ');
    return [
      ...warningIf(layout.isSeparatorUnsure, 'separator_unsure', 'Another separator fits the file as well.', null),
      ...counted('apostrophes_removed', 'A leading apostrophe was removed', artefacts.apostrophe),
      ...counted('formulas_removed', 'The signs ="…" were removed', artefacts.formula),
      ...warningIf(ignored.length > 0, 'columns_ignored', `These columns are not used: ${names}.`, ignored.length),
      ...warningIf(!layout.hasHeader && rows > 0, 'header_absent', 'The first row is read as a value.', null),
      ...extra,
    ];
  };

  return {
    accept: ({ line }, values) => {
      rows += 1;
      if (sample.length < sampleRows) addSample(line, values(), null);
    },
    refuse: ({ line, lines }, problem, values) => {
      rows += lines;
      bad += lines;
      addError(line, problem);
      if (sample.length < sampleRows) addSample(line, values(), problem.message);
    },
    withdraw: (line, problem) => {
      if (!withdrawn.has(line)) bad += 1;
      withdrawn.add(line);
      addError(line, problem);
    },
    addDuplicate: () => {
      duplicates += 1;
    },
    addArtefact: (artefact) => {
      if (artefact !== null) artefacts[artefact] += 1;
    },
    addWarning: (warning) => void extra.push(warning),
    rows: () => rows,
    bad: () => bad,
    errors: () => errors,
    requireFewBad: (isPartial) => {
      if (bad === 0 || (bad <= maxBadShare * rows && bad < rows) || (isPartial && bad < rows)) return;
      throw new AppError('invalid_request', {
        message: bad === rows ? problem('fileNoRow', { rows }) : problem('fileManyBad', { bad, rows }),
        details: errors.map(({ line, column, message }) => {
          return { path: column === null ? `/lines/${line}` : `/lines/${line}/${column}`, message };
        }),
      });
    },
    view: () => ({
      separator: layout.separator,
      header: layout.hasHeader,
      rows,
      bad,
      duplicates,
      sample,
      errors,
      columns: layout.columns.map(({ name, role }) => ({ name, used_as: role })),
      warnings: warnings(),
    }),
  };
}

const shorten = (text: string): string => (text.length > maxSampleText ? `${text.slice(0, maxSampleText)}…` : text);

type Code = FileWarning['code'];

const warningIf = (isTrue: boolean, code: Code, message: string, count: number | null): FileWarning[] =>
  isTrue ? [{ code, message, count }] : [];

const counted = (code: Code, message: string, count: number): FileWarning[] =>
  warningIf(count > 0, code, `${message} from ${count} values.`, count);
