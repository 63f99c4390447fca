import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Resource, Values, View, Warning } from '../../../management/resource.ts';
import { getRow } from '../../../management/rows.ts';
import { isOperator, type Work } from '../../../management/unit-of-work.ts';
import { AppError, type ErrorDetail } from '../../../platform/errors.ts';
import { createPacer } from '../../../platform/lib/slices.ts';
import { creatives } from '../creatives.ts';
import { placements } from '../placements.ts';
import { publishers } from '../publishers.ts';
import { sequenceRules } from '../sequence-rules.ts';
import { rowsOf } from './export.ts';
import { findKeptSettings, renamed } from './import.ts';
import { kinds, mapMatch } from './kinds.ts';
import { type CurrentRow, matchRows, type WantedRow } from './match.ts';
import { type Catalogue, type FileRow, maxDetails } from './parse.ts';
import { warnOfFileUrls } from './url-warnings.ts';

/** What an apply does to one row. */
export type Change = {
  change: 'created' | 'changed' | 'removed';
  /** Name of its table; `publisher`: the settings. */
  kind: string;
  /** null: it is made. */
  id: unknown;
  /** Name or title. */
  name: string;
  /** Of the row in the file; null: it is not there. */
  path: string | null;
  /** Those that change. What is made by the same apply is named by its path in the file. */
  fields: { name: string; from: unknown; to: unknown }[];
};

export type Step = { change: Change; kind: Resource; row: FileRow | null };

/** `ids`: the publisher's id of each row of the file, by table; the path of one that is still to be made. */
export type Plan = {
  steps: readonly Step[];
  ids: Map<string, Map<unknown, unknown>>;
  warnings: readonly Warning[];
  /** Of its changes: two plans that do the same have the same. */
  digest: string;
};

/**
 * What is to be done so that a publisher's catalogue becomes that of a file. Reads only.
 * @param prune whether rows that the file does not name are removed
 */
export async function planApply(work: Work, catalogue: Catalogue, { prune }: { prune: boolean }): Promise<Plan> {
  const publisher = await getRow(publishers, work, String(work.publisherId));
  const idsCount = catalogue.sdkId === publisher.sdk_id;
  const steps: Step[] = planSettings(work, catalogue, publisher);
  const ids: Plan['ids'] = new Map();
  const known = new Map<string, ReadonlySet<unknown>>();
  const surplus: [Resource, CurrentRow[]][] = [];
  for (const kind of kinds) {
    const current = await readCurrent(work, kind, known);
    const rows = catalogue.rows.get(kind) ?? [];
    const wanted = rows.map((row) => ({ row, values: renamed(kind, row.values, ids), picture: pictureOf(row) }));
    const matched = await matchRows(kind, wanted, current, idsCount);
    ids.set(kind.table, new Map(wanted.map((one) => [one.row.id, matched.get(one)?.view[kind.key] ?? one.row.path])));
    steps.push(...(await planRows(work, kind, wanted, matched)));
    const kept = new Set(matched.values());
    surplus.push([kind, current.filter((one) => !kept.has(one))]);
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

/** Settings that the file does not name stay as they are, and what only an operator sets when none applies it. */
function planSettings({ actor }: Work, { publisher, given }: Catalogue, current: View): Step[] {
  const kept = isOperator(actor) ? [] : (publishers.operatorOnly ?? []);
  const fields = fieldsThatDiffer(
    given.filter((name) => !kept.includes(name)),
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

const pictureOf = ({ image }: FileRow): string | null => (image === null ? null : hash('sha256', image, 'hex'));

/** The rows as an export would write them. `known`: their ids, by table. */
async function readCurrent(
  work: Work,
  kind: Resource,
  known: Map<string, ReadonlySet<unknown>>,
): Promise<CurrentRow[]> {
  const pictures = kind === creatives ? await readPictures(work) : null;
  const current: CurrentRow[] = [];
  for await (const row of rowsOf(kind, work)) {
    const isKnown = (table: string, id: unknown): boolean => known.get(table)?.has(id) === true;
    const view =
      kind === sequenceRules
        ? { ...row, match: mapMatch(row.match as Values, (table, id) => (isKnown(table, id) ? id : null)) }
        : row;
    if (kind === sequenceRules && Object.keys(view.match as Values).length === 0) continue;
    current.push({ view, picture: pictures?.get(row.id) ?? null });
  }
  known.set(kind.table, new Set(current.map(({ view }) => view[kind.key])));
  return current;
}

/** SHA-256 of the uploaded pictures of a publisher, by creative. */
async function readPictures({ executor, publisherId }: Work): Promise<Map<unknown, string>> {
  const { rows } = await executor.query<{ id: string; sha256: string }>(
    `select i.creative_id as id, encode(i.sha256, 'hex') as sha256 from creative_images i
      join creatives c on c.id = i.creative_id join offers o on o.id = c.offer_id
    where o.publisher_id = $1 and c.deleted_at is null`,
    [publisherId],
  );
  return new Map(rows.map(({ id, sha256 }) => [Number(id), sha256]));
}

/** @throws AppError invalid_request for changes that stored rows do not allow */
async function planRows(
  work: Work,
  kind: Resource,
  wanted: readonly WantedRow[],
  matched: ReadonlyMap<WantedRow, CurrentRow>,
): Promise<Step[]> {
  const steps: Step[] = [];
  const details: ErrorDetail[] = [];
  const pace = createPacer();
  const withPrimary = new Set(
    wanted.filter(({ values }) => values.is_primary === true).map(({ values }) => values.offer_id),
  );
  for (const one of wanted) {
    await pace();
    const { row, values } = one;
    const found = matched.get(one)?.view;
    const common = { kind: kind.table, name: nameOf(values), path: row.path };
    if (found === undefined) {
      steps.push({ kind, row, change: { ...common, change: 'created', id: null, fields: [] } });
      continue;
    }
    const compared = Object.keys(kind.input.properties).filter(
      (name) => kind !== creatives || isCompared(one, name, withPrimary),
    );
    const fields = fieldsThatDiffer(compared, found, values);
    if (fields.length === 0) continue;
    steps.push({ kind, row, change: { ...common, change: 'changed', id: found[kind.key], fields } });
    for (const { path, message } of (await kind.checkChange?.(values, work, found)) ?? [])
      if (details.length < maxDetails) details.push({ path: row.path + path, message });
  }
  if (details.length > 0) throw new AppError('invalid_request', { details });
  return steps;
}

/** A picture says its sizes itself; where the file names no primary one of an offer, the service has chosen. */
const isCompared = ({ values, picture }: WantedRow, name: string, withPrimary: ReadonlySet<unknown>): boolean =>
  name === 'is_primary' ? withPrimary.has(values.offer_id) : picture === null || name === 'creative_type';

/** What goes with the row that holds it is not removed by itself, so that both come back together. */
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

/** A placement that calls have made, and nobody has set up: the next call would make it again. */
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
