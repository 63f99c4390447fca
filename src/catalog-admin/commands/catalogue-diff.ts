import { isDeepStrictEqual } from 'node:util';
import { readJsonFile } from '../../command-line/api.ts';
import { type Call, CommandError, exitCodes, type Run, usageError } from '../../command-line/command.ts';
import { counted } from '../../command-line/counted.ts';
import { readCatalogue } from './catalogue.ts';

type CatalogueRow = Readonly<Record<string, unknown>>;
type Catalogue = Readonly<Record<string, unknown>>;

/** Difference in one row between two catalogues. For a changed row, `fields` lists the changed fields. */
export type Difference = {
  kind: string;
  row: string;
  change: 'added' | 'removed' | 'changed';
  fields?: { name: string; from: unknown; to: unknown }[];
};

/**
 * Compares two catalogue files, or the current catalogue with a file. Prints the changes that turn the first into the
 * second.
 */
export const diff: Run = async (call) => {
  const [file, other, ...rest] = call.args;
  if (file === undefined || rest.length > 0) throw usageError('Expected one or two files.');
  const catalogue = catalogueOf(await readJsonFile(call, file), file);
  const [from, to] =
    other === undefined
      ? [await currentCatalogue(call), catalogue]
      : [catalogue, catalogueOf(await readJsonFile(call, other), other)];
  const differences = compareCatalogues(from, to);
  for (const difference of differences) show(call, difference);
  call.out.line(
    differences.length === 0 ? 'No differences.' : `${counted(differences.length, 'row differs', 'rows differ')}.`,
  );
  return differences.length === 0 ? exitCodes.ok : exitCodes.problem;
};

const currentCatalogue = async (call: Call): Promise<Catalogue> =>
  catalogueOf(JSON.parse(await readCatalogue(call)), 'the catalogue');

function catalogueOf(value: unknown, name: string): Catalogue {
  if (typeof value === 'object' && value !== null && 'perkwire_catalogue' in value) return value as Catalogue;
  throw new CommandError(exitCodes.refused, `${name} is not a catalogue file.`);
}

const signs = { added: '+', removed: '-', changed: '~' } as const;

function show({ out }: Call, difference: Difference): void {
  out.data(difference);
  const { kind, row, change, fields = [] } = difference;
  out.line(`${signs[change]} ${kind} ${row}`);
  for (const { name, from, to } of fields) out.line(`    ${name}: ${short(from)} → ${short(to)}`);
}

const maxShown = 80;
export function short(value: unknown): string {
  const text = JSON.stringify(value) ?? 'not set';
  return text.length > maxShown ? `${text.slice(0, maxShown)}…` : text;
}

/**
 * Compares two catalogues. Rows are matched by ID, or by name if they have no ID. Both files should come from the same
 * publisher, because IDs differ between publishers.
 */
export function compareCatalogues(from: Catalogue, to: Catalogue): Difference[] {
  const kinds = [...new Set([...Object.keys(from), ...Object.keys(to)])];
  return kinds.flatMap((kind) => {
    const [before, after] = [rowsOf(from[kind]), rowsOf(to[kind])];
    return [...new Set([...before.keys(), ...after.keys()])].flatMap((row): Difference[] => {
      const [was, is] = [before.get(row), after.get(row)];
      if (was === undefined) return [{ kind, row, change: 'added' }];
      if (is === undefined) return [{ kind, row, change: 'removed' }];
      const fields = fieldsThatDiffer(was, is);
      return fields.length === 0 ? [] : [{ kind, row, change: 'changed', fields }];
    });
  });
}

function rowsOf(value: unknown): Map<string, CatalogueRow> {
  const rows = Array.isArray(value) ? value : value === undefined ? [] : [value];
  return new Map(
    rows.map((row, index): [string, CatalogueRow] => {
      if (typeof row !== 'object' || row === null) return ['', { value: row }];
      const { id, name, title } = row as CatalogueRow;
      const label = typeof name === 'string' ? name : typeof title === 'string' ? title : '';
      return [
        Array.isArray(value) ? [id ?? (label === '' ? index + 1 : ''), label].filter(Boolean).join(' ') : '',
        row as CatalogueRow,
      ];
    }),
  );
}

const fieldsThatDiffer = (was: CatalogueRow, is: CatalogueRow) =>
  [...new Set([...Object.keys(was), ...Object.keys(is)])]
    .filter((name) => !isDeepStrictEqual(was[name], is[name]))
    .map((name) => ({ name, from: was[name], to: is[name] }));
