import type { DryRunView } from '../platform/files/counter.ts';
import { type Call, exitCodes, flag, type Option, text, textOption } from './command.ts';
import { counted } from './counted.ts';
import type { Output } from './output.ts';

/**
 * Returns the options for commands that import a file (docs/reading-input.md#files).
 * @param isList whether the file is a list from which one column can be selected
 */
export const fileOptions = ({ isList }: { isList: boolean }): Record<string, Option> => ({
  'dry-run': flag('shows how the file is read and writes nothing'),
  partial: flag('loads the valid rows even if more than 1% are invalid'),
  ...(isList && {
    header: text('present|absent', 'whether the first row is a header: present or absent (default: detected)'),
    column: text('NAME|NUMBER', 'name or number of the column with the values'),
  }),
});

/** Converts a command's options to the query parameters of an import. */
export function fileQueryOf(call: Call): Record<string, string> {
  const [header, column] = [textOption(call, 'header'), textOption(call, 'column')];
  return {
    ...(call.options['dry-run'] === true && { dry_run: 'true' }),
    ...(call.options.partial === true && { partial: 'true' }),
    ...(header !== '' && { header }),
    ...(column !== '' && { column }),
  };
}

const separatorNames = { ',': 'comma', ';': 'semicolon', '\t': 'tab' } as const;

/**
 * Prints the result of a dry run.
 * @returns the exit code, which is `problem` if rows were rejected
 */
export function printDryRun({ out }: { out: Output }, view: DryRunView): number {
  out.data(view);
  const separator = view.separator === null ? 'none (one column)' : separatorNames[view.separator];
  out.line(`Separator: ${separator}. Header: ${view.header ? 'yes' : 'no'}.`);
  for (const [at, { name, used_as: role }] of view.columns.entries())
    out.line(`Column ${at + 1}${name === null ? '' : ` "${name}"`}: ${role ?? 'not used'}`);
  out.line(
    `${counted(view.rows, 'row')}, ${view.bad} invalid, ${counted(view.duplicates, 'duplicate')}. Nothing was written.`,
  );
  for (const { line, values } of view.sample)
    out.line(
      `  line ${line}: ${Object.entries(values)
        .map(([role, value]) => `${role}=${value}`)
        .join('  ')}`,
    );
  for (const { message } of view.warnings) out.note(message);
  printErrors({ out }, view.errors);
  return view.bad === 0 ? exitCodes.ok : exitCodes.problem;
}

/** Rejected row. Imports of audience members report no column. */
type RefusedRow = Omit<DryRunView['errors'][number], 'column'> & { column?: string | null };

/** Prints the rejected rows. */
export function printErrors({ out }: { out: Output }, errors: readonly RefusedRow[]): void {
  for (const { line, column = null, message } of errors)
    out.note(`line ${line}${column === null ? '' : `, ${column}`}: ${message}`);
}
