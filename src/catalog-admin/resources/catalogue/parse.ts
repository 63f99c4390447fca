import { maxPlacements } from '../../../catalog/names.ts';
import { themeKeyFrom } from '../../../catalog/themes.ts';
import { defaultsOf, type Resource, type Values } from '../../../management/resource.ts';
import { getRow } from '../../../management/rows.ts';
import { checkValue } from '../../../management/schema-errors.ts';
import type { Work } from '../../../management/unit-of-work.ts';
import type { ErrorDetail } from '../../../platform/errors.ts';
import { createPacer } from '../../../platform/lib/slices.ts';
import { noun, type Problem, problem } from '../../../platform/problem.ts';
import { creatives } from '../creatives.ts';
import { publishers, withoutOperatorSettings } from '../publishers.ts';
import { sequenceRules } from '../sequence-rules.ts';
import { themes } from '../themes.ts';
import { formatField, formatNumber, kinds, mapMatch } from './kinds.ts';

/** Row of a file: its ID in the file, its fields, its path, and the bytes of its image, if any. */
export type FileRow = { id: unknown; values: Values; image: Buffer | null; path: string };

/** Parsed catalogue. `settingNames` lists the publisher settings that are present in the file. */
export type Catalogue = {
  sdkId: string | null;
  publisher: Values;
  settingNames: readonly string[];
  rows: ReadonlyMap<Resource, readonly FileRow[]>;
};

/** Maximum number of errors in a response. */
export const maxDetails = 100;

/**
 * Parses a catalogue file with the same schemas and rules as API calls that create single rows. The work is split into
 * slices so that it does not block other requests.
 * @param settings publisher settings to use if the file does not contain them
 * @returns the catalogue, or all errors with their paths in the file
 */
export async function parseCatalogue(
  file: unknown,
  work: Work,
  settings: Values = defaultsOf(publishers),
): Promise<{ catalogue: Catalogue } | { details: ErrorDetail[] }> {
  const details: ErrorDetail[] = [];
  const at = (path: string, problems: readonly ErrorDetail[]): void => {
    for (const detail of problems)
      if (details.length < maxDetails) details.push({ path: path + detail.path, message: detail.message });
  };
  const wrong = (path: string, message: Problem): void => at('', [{ path, message }]);
  if (!isObject(file)) return { details: [{ path: '/', message: problem('isObject') }] };
  if (file[formatField] !== formatNumber)
    return { details: [{ path: `/${formatField}`, message: problem('catalogueFormat', { number: formatNumber }) }] };
  const names = ['publisher', formatField, ...kinds.map(({ table }) => table)];
  for (const name of Object.keys(file)) if (!names.includes(name)) wrong(`/${name}`, problem('unknownHere'));

  const { sdk_id, ...fileSettings } = isObject(file.publisher) ? file.publisher : {};
  const publisher = { ...settings, ...fileSettings };
  at('/publisher', await problemsOf(publishers, publisher, work));

  const rows = new Map<Resource, FileRow[]>();
  const ids = new Map<string, Set<unknown>>();
  const pace = createPacer();
  for (const kind of kinds) {
    const list = file[kind.table] ?? [];
    const read: FileRow[] = [];
    const seenIds = new Set<unknown>();
    rows.set(kind, read);
    ids.set(kind.table, seenIds);
    if (!Array.isArray(list)) {
      wrong(`/${kind.table}`, problem('isList'));
      continue;
    }
    for (const [index, item] of (list as unknown[]).entries()) {
      await pace();
      if (details.length >= maxDetails) return { details };
      const path = `/${kind.table}/${index}`;
      if (!isObject(item)) {
        wrong(path, problem('isObject'));
        continue;
      }
      const row = readRow(kind, item, path);
      if (kind.key === 'id' && !Number.isSafeInteger(row.id)) wrong(`${path}/id`, problem('rowId'));
      else if (seenIds.has(row.id)) wrong(`${path}/${kind.key}`, problem('rowTwice'));
      seenIds.add(row.id);
      read.push(row);
      const shape = checkValue(kind.input, row.values);
      at(path, shape);
      if (item.image !== undefined && row.image === null) wrong(`${path}/image`, problem('imageBase64'));
      if (row.image !== null && row.values.url !== null) wrong(`${path}/url`, problem('urlOfImageInFile'));
      if (shape.length > 0) continue;
      if (row.image === null) at(path, (await kind.check?.(row.values, work, null)) ?? []);
      at(path, missingReferences(kind, row.values, ids));
    }
  }
  if (details.length === 0) {
    fillThemeKeys(rows.get(themes) ?? []);
    await pace();
    at('', checkWhole(rows));
  }
  if (details.length > 0) return { details };
  return {
    catalogue: {
      sdkId: typeof sdk_id === 'string' && /^[0-9a-f]{16}$/.test(sdk_id) ? sdk_id : null,
      publisher,
      settingNames: Object.keys(fileSettings),
      rows,
    },
  };
}

/**
 * Parses a file for an existing publisher. Settings missing from the file default to the publisher's current settings.
 */
export async function parseForPublisher(file: unknown, work: Work): ReturnType<typeof parseCatalogue> {
  const current = await getRow(publishers, work, String(work.publisherId));
  const names = Object.keys(publishers.input.properties);
  return parseCatalogue(file, work, Object.fromEntries(names.map((name) => [name, current[name]])));
}

function readRow(kind: Resource, { id, image, ...fileFields }: Values, path: string): FileRow {
  const fields = { ...defaultsOf(kind), ...fileFields };
  const values = kind.prepare?.(fields) ?? fields;
  const hasImage =
    kind === creatives && typeof image === 'string' && image !== '' && /^[A-Za-z0-9+/]+={0,2}$/.test(image);
  return {
    id: kind.key === 'id' ? id : values[kind.key],
    values: image === undefined || kind === creatives ? values : { ...values, image },
    image: hasImage ? Buffer.from(image, 'base64') : null,
    path,
  };
}

async function problemsOf(kind: Resource, values: Values, work: Work): Promise<readonly ErrorDetail[]> {
  const shape = checkValue(kind.input, values);
  if (shape.length > 0) return shape;
  const input = kind === publishers ? withoutOperatorSettings(values, work) : values;
  return (await kind.check?.(input, work, null)) ?? [];
}

/** Returns an error for each reference to a row that does not come earlier in the file. */
function missingReferences(
  kind: Resource,
  values: Values,
  ids: ReadonlyMap<string, ReadonlySet<unknown>>,
): ErrorDetail[] {
  const details = Object.entries(kind.references ?? {})
    .filter(
      ([column, { table }]) =>
        values[column] !== null && values[column] !== undefined && !ids.get(table)?.has(values[column]),
    )
    .map(([column, kind]) => ({ path: `/${column}`, message: problem('notInFile', { noun: noun(kind.noun) }) }));
  if (kind !== sequenceRules || !isObject(values.match)) return details;
  mapMatch(values.match, (table, id) => {
    if (!ids.get(table)?.has(id)) details.push({ path: `/match/${table}`, message: problem('idNotInFile', { id }) });
    return id;
  });
  return details;
}

/** Generates theme keys from the theme names, for files from earlier releases, in which themes have no keys. */
function fillThemeKeys(list: readonly FileRow[]): void {
  const usedKeys = new Set(list.map(({ values }) => values.key));
  for (const { values } of list) {
    if (values.key !== '') continue;
    values.key = themeKeyFrom(String(values.name), usedKeys);
    usedKeys.add(values.key);
  }
}

/** Validates constraints that involve several rows. */
function checkWhole(rows: ReadonlyMap<Resource, readonly FileRow[]>): ErrorDetail[] {
  const details: ErrorDetail[] = [];
  const primaries = new Set<unknown>();
  const keys = new Set<unknown>();
  let defaults = 0;
  for (const [kind, list] of rows) {
    if (kind.name === 'placements' && list.length > maxPlacements)
      details.push({ path: '/placements', message: problem('maxPlacements', { max: maxPlacements }) });
    for (const { values, path } of list) {
      if (kind === themes && keys.has(values.key))
        details.push({ path: `${path}/key`, message: problem('themeTwice') });
      if (kind === themes) keys.add(values.key);
      if (kind === themes && values.is_default === true && ++defaults > 1)
        details.push({ path: `${path}/is_default`, message: problem('themeSaidTwice') });
      if (kind !== creatives || values.is_primary !== true) continue;
      if (primaries.has(values.offer_id))
        details.push({ path: `${path}/is_primary`, message: problem('creativeSaidTwice') });
      primaries.add(values.offer_id);
    }
  }
  return details;
}

const isObject = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
