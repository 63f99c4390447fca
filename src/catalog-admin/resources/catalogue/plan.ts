import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Resource, Values, View, Warning } from '../../../management/resource.ts';
import { getRow } from '../../../management/rows.ts';
import { isOperator, type Work } from '../../../management/unit-of-work.ts';
import { AppError, type ErrorDetail } from '../../../platform/errors.ts';
import { createPacer } from '../../../platform/lib/slices.ts';
import { creatives } from '../creatives.ts';
import { placements } from '../placements.ts';
import { operatorSettings, publishers } from '../publishers.ts';
import { sequenceRules } from '../sequence-rules.ts';
import { rowsOf } from './export.ts';
import { findKeptSettings, renamed } from './import.ts';
import { kinds, mapMatch } from './kinds.ts';
import { type CurrentRow, matchRows, type WantedRow } from './match.ts';
import { type Catalogue, type FileRow, maxDetails } from './parse.ts';
import { warnOfFileUrls } from './url-warnings.ts';

/** Change that applying a file makes to a row. */
export type Change = {
  change: 'created' | 'changed' | 'removed';
  /** Table of the row, or `publisher` for the settings. */
  kind: string;
  /** ID of the row, or null if the row will be created. */
  id: unknown;
  /** Name or title of the row. */
  name: string;
  /** Path of the row in the file, or null if the file does not contain the row. */
  path: string | null;
  /** Changed fields. Rows that will be created by the same plan are referred to by their paths in the file. */
  fields: { name: string; from: unknown; to: unknown }[];
};

export type Step = { change: Change; kind: Resource; row: FileRow | null };

/**
 * Plan for applying a file. `ids` maps IDs in the file to the publisher's IDs, by table. A row that will be created is
 * mapped to its path instead.
 */
export type Plan = {
  steps: readonly Step[];
  ids: Map<string, Map<unknown, unknown>>;
  warnings: readonly Warning[];
  /** Digest of the changes. Equal changes have equal digests. */
  digest: string;
};

/**
 * Computes the changes that would make a publisher's catalogue match a file. Does not apply them.
 * @param prune whether to remove rows that the file does not contain
 */
export async function planApply(work: Work, catalogue: Catalogue, { prune }: { prune: boolean }): Promise<Plan> {
  const publisher = await getRow(publishers, work, String(work.publisherId));
  const idsCount = catalogue.sdkId === publisher.sdk_id;
  const steps: Step[] = planSettings(work, catalogue, publisher);
  const ids: Plan['ids'] = new Map();
  const currentIds = new Map<string, ReadonlySet<unknown>>();
  const surplus: [Resource, CurrentRow[]][] = [];
  for (const kind of kinds) {
    const current = await readCurrent(work, kind, currentIds);
    const rows = catalogue.rows.get(kind) ?? [];
    const fileRows = rows.map((row) => ({ row, values: renamed(kind, row.values, ids), imageHash: imageHashOf(row) }));
    const matched = await matchRows(kind, fileRows, current, idsCount);
    ids.set(
      kind.table,
      new Map(fileRows.map((fileRow) => [fileRow.row.id, matched.get(fileRow)?.view[kind.key] ?? fileRow.row.path])),
    );
    steps.push(...(await planRows(work, kind, fileRows, matched)));
    const matchedRows = new Set(matched.values());
    surplus.push([kind, current.filter((row) => !matchedRows.has(row))]);
  }
  if (prune) steps.push(...planRemovals(surplus));
  return {
    steps,
    ids,
    warnings: [
      ...(await findKeptSettings(work, catalogue)),
      ...warnOfFileUrls(steps.flatMap(({ kind, row }) => (row === null ? [] : [[kind, row] as const]))),
    ],
    digest: hash('sha256', JSON.stringify(steps.map(({ change }) => change)), 'base64url').slice(0, 27),
  };
}

/**
 * Plans the changes to the settings. Settings that the file does not contain stay unchanged. So do operator settings,
 * unless an operator applies the file.
 */
function planSettings({ actor }: Work, { publisher, settingNames }: Catalogue, current: View): Step[] {
  const excluded = isOperator(actor) ? [] : operatorSettings;
  const fields = fieldsThatDiffer(
    settingNames.filter((name) => !excluded.includes(name)),
    current,
    publisher,
  );
  if (fields.length === 0) return [];
  const row: FileRow = { id: current.id, values: publisher, image: null, path: '/publisher' };
  const name = String(current.name);
  return [
    {
      kind: publishers,
      row,
      change: { change: 'changed', kind: 'publisher', id: row.id, name, path: row.path, fields },
    },
  ];
}

const imageHashOf = ({ image }: FileRow): string | null => (image === null ? null : hash('sha256', image, 'hex'));

/** Reads the current rows in export format. Their IDs are added to `known`, by table. */
async function readCurrent(
  work: Work,
  kind: Resource,
  currentIds: Map<string, ReadonlySet<unknown>>,
): Promise<CurrentRow[]> {
  const imageHashes = kind === creatives ? await readImageHashes(work) : null;
  const current: CurrentRow[] = [];
  for await (const row of rowsOf(kind, work)) {
    const isKnown = (table: string, id: unknown): boolean => currentIds.get(table)?.has(id) === true;
    const view =
      kind === sequenceRules
        ? { ...row, match: mapMatch(row.match as Values, (table, id) => (isKnown(table, id) ? id : null)) }
        : row;
    if (kind === sequenceRules && Object.keys(view.match as Values).length === 0) continue;
    current.push({ view, imageHash: imageHashes?.get(row.id) ?? null });
  }
  currentIds.set(kind.table, new Set(current.map(({ view }) => view[kind.key])));
  return current;
}

/** Reads the SHA-256 of each image that a publisher has uploaded, keyed by creative ID. */
async function readImageHashes({ executor, publisherId }: Work): Promise<Map<unknown, string>> {
  const { rows } = await executor.query<{ id: string; sha256: string }>(
    `select i.creative_id as id, encode(i.sha256, 'hex') as sha256 from creative_images i
      join creatives c on c.id = i.creative_id join offers o on o.id = c.offer_id
    where o.publisher_id = $1 and c.deleted_at is null`,
    [publisherId],
  );
  return new Map(rows.map(({ id, sha256 }) => [Number(id), sha256]));
}

/**
 * Plans the changes to the rows of a resource.
 * @throws AppError invalid_request for changes that the stored rows do not allow
 */
async function planRows(
  work: Work,
  kind: Resource,
  fileRows: readonly WantedRow[],
  matched: ReadonlyMap<WantedRow, CurrentRow>,
): Promise<Step[]> {
  const steps: Step[] = [];
  const details: ErrorDetail[] = [];
  const pace = createPacer();
  const withPrimary = new Set(
    fileRows.filter(({ values }) => values.is_primary === true).map(({ values }) => values.offer_id),
  );
  for (const fileRow of fileRows) {
    await pace();
    const { row, values } = fileRow;
    const currentView = matched.get(fileRow)?.view;
    const common = { kind: kind.table, name: nameOf(values), path: row.path };
    if (currentView === undefined) {
      steps.push({ kind, row, change: { ...common, change: 'created', id: null, fields: [] } });
      continue;
    }
    const compared = Object.keys(kind.input.properties).filter(
      (name) => kind !== creatives || isCompared(fileRow, name, withPrimary),
    );
    const fields = fieldsThatDiffer(compared, currentView, values);
    if (fields.length === 0) continue;
    steps.push({ kind, row, change: { ...common, change: 'changed', id: currentView[kind.key], fields } });
    for (const { path, message } of (await kind.checkChange?.(values, work, currentView)) ?? [])
      if (details.length < maxDetails) details.push({ path: row.path + path, message });
  }
  if (details.length > 0) throw new AppError('invalid_request', { details });
  return steps;
}

/**
 * Whether a field of a creative is compared. The file type and size of an uploaded image are not compared, because they
 * are derived from its bytes. Whether a creative is primary is compared only if the file marks a primary creative for
 * the offer; otherwise, the service chooses one.
 */
const isCompared = ({ values, imageHash }: WantedRow, name: string, withPrimary: ReadonlySet<unknown>): boolean =>
  name === 'is_primary' ? withPrimary.has(values.offer_id) : imageHash === null || name === 'creative_type';

/**
 * Plans the removal of rows that the file does not contain. Rows that are removed together with their parent get no
 * separate step, so that restoring the parent also restores them.
 */
function planRemovals(surplus: readonly [Resource, readonly CurrentRow[]][]): Step[] {
  const gone = new Map<string, Set<unknown>>();
  const steps: Step[] = [];
  for (const [kind, rows] of surplus) {
    const ids = new Set<unknown>();
    gone.set(kind.table, ids);
    const holders = Object.entries(kind.references ?? {}).filter(([column]) => kind.fixed?.includes(column));
    for (const { view } of rows) {
      if (kind === placements && isUntouched(view)) continue;
      ids.add(view[kind.key]);
      if (holders.some(([column, { table }]) => gone.get(table)?.has(view[column]))) continue;
      const change = { kind: kind.table, id: view[kind.key], name: nameOf(view), path: null, fields: [] };
      steps.push({ kind, row: null, change: { change: 'removed', ...change } });
    }
  }
  return steps.reverse();
}

/**
 * Whether a placement was created automatically by a request and never edited. Such placements are not removed, because
 * the next request would recreate them.
 */
const isUntouched = ({ name: _name, auto_created, created_at: _at, updated_at: _updated, ...fields }: View): boolean =>
  auto_created === true && Object.values(fields).every((value) => value === null || value === '');

const nameOf = ({ name, title, short_headline, url, creative_type, placement, effect }: Values): string =>
  [name, title, short_headline, url, creative_type, placement === null ? effect : `${effect} ${placement}`]
    .filter((text) => typeof text === 'string' && text !== '')
    .map(String)[0] ?? '';

const fieldsThatDiffer = (names: readonly string[], from: Values, to: Values): Change['fields'] =>
  names
    .filter((name) => !isDeepStrictEqual(from[name], to[name]))
    .map((name) => ({ name, from: from[name], to: to[name] }));
