import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { audit } from '../../../management/audit.ts';
import { defaultsOf, type Resource, type Values, type Warning } from '../../../management/resource.ts';
import { createRow, getRow, updateRow } from '../../../management/rows.ts';
import { isOperator, type Work } from '../../../management/unit-of-work.ts';
import { AppError } from '../../../platform/errors.ts';
import { problem } from '../../../platform/problem.ts';
import type { ImageStore } from '../../images/image-store.ts';
import { readUpload, saveOriginal } from '../../images.ts';
import { operatorSettings, publishers } from '../publishers.ts';
import { sequenceRules } from '../sequence-rules.ts';
import type { Progress } from './export.ts';
import { kinds, mapMatch } from './kinds.ts';
import type { Catalogue, FileRow } from './parse.ts';
import { warnOfFileUrls } from './url-warnings.ts';

/** Number of rows inserted per statement. */
const chunkSize = 250;

/** Import result. `warnings` report what was left out and which macros in URLs will not be replaced. */
export type Imported = { publisher_id: number; counts: Record<string, number>; warnings: Warning[] };

/** New row IDs, keyed by table and then by the ID in the file. */
export type Ids = ReadonlyMap<string, ReadonlyMap<unknown, unknown>>;

/**
 * Validates and measures the images in a file. Any types and dimensions stated in the file are ignored.
 * @throws AppError invalid_picture with the path of the image
 */
export async function checkImages({ rows }: Catalogue, progress: Progress = () => {}): Promise<void> {
  let done = 0;
  for (const row of [...rows.values()].flat()) {
    if (row.image === null) continue;
    const { bytes, type, size } = await readUpload(row.image, '').catch((err: unknown) => {
      const reason = err instanceof AppError ? (err.details?.[0]?.message ?? err.problem) : problem('imageUnread');
      throw new AppError('invalid_picture', { details: [{ path: `${row.path}/image`, message: reason }], cause: err });
    });
    row.image = bytes;
    Object.assign(row.values, { type, ...size });
    progress('images', ++done);
  }
}

/**
 * Imports a catalogue for a publisher that has none, assigning new IDs. The publisher's settings are replaced with
 * those in the file. Either everything is imported, in one transaction, or nothing.
 * @param work unit of work of the publisher; with `intoNew`, a new publisher is created, with the SDK ID in the file if
 * that ID is available
 * @throws AppError conflict if the publisher already has a catalogue
 */
export async function importCatalogue(
  work: Work,
  catalogue: Catalogue,
  { store, intoNew, progress = () => {} }: { store: ImageStore | null; intoNew: boolean; progress?: Progress },
): Promise<Imported> {
  const warnings = await warningsOfImport(work, catalogue, { intoNew });
  const publisherId = intoNew ? await makePublisher(work, catalogue) : await importPublisherSettings(work, catalogue);
  const target: Work = { ...work, publisherId };
  const ids: Map<string, Map<unknown, unknown>> = new Map();
  const counts: Record<string, number> = {};
  for (const kind of kinds) {
    const list = catalogue.rows.get(kind) ?? [];
    ids.set(kind.table, await allocateIds(target, kind, list));
    for (let from = 0; from < list.length; from += chunkSize) {
      const chunk = list.slice(from, from + chunkSize);
      await insertRows(target, kind, chunk, ids);
      progress(kind.table, from + chunk.length);
    }
    counts[kind.table] = list.length;
    for (const { id, image } of list)
      if (image !== null) await saveOriginal(work.executor, store, ids.get(kind.table)?.get(id) as number, image);
  }
  await audit(target, {
    resource: { name: 'catalogue', key: 'id' },
    action: 'create',
    before: null,
    after: { id: publisherId, ...counts },
  });
  return { publisher_id: publisherId, counts, warnings };
}

async function makePublisher(work: Work, { publisher, sdkId }: Catalogue): Promise<number> {
  if (!isOperator(work.actor)) throw new AppError('permission_denied');
  const { rowCount } = await work.executor.query('select 1 from publishers where sdk_id = $1', [sdkId]);
  const usable = sdkId !== null && rowCount === 0 ? sdkId : randomBytes(8).toString('hex');
  const view = await createRow({ ...publishers, initial: () => ({ sdk_id: usable }) }, work, publisher);
  return view.id as number;
}

/** Updates the publisher's settings. Operator-only settings are skipped unless an operator imports the file. */
async function importPublisherSettings(work: Work, { publisher }: Catalogue): Promise<number> {
  await work.executor.query('select 1 from publishers where id = $1 for update', [work.publisherId]);
  await requireEmpty(work);
  const settings = { ...publisher };
  if (!isOperator(work.actor)) for (const name of operatorSettings) delete settings[name];
  await updateRow(publishers, work, String(work.publisherId), settings, { ifMatch: null, replace: false });
  return work.publisherId;
}

/**
 * Returns the warnings that an import would produce, without importing anything.
 * @param options with `intoNew`, the file is to be imported into a new publisher
 */
export const warningsOfImport = async (
  work: Work,
  catalogue: Catalogue,
  { intoNew }: { intoNew: boolean },
): Promise<Warning[]> => [
  ...(intoNew ? [] : await findKeptSettings(work, catalogue)),
  ...warnOfFileUrls(
    [...catalogue.rows].flatMap(([kind, rows]) =>
      kind.warnOfUrls === undefined ? [] : rows.map((row) => [kind, row] as const),
    ),
  ),
];

/** Returns warnings about settings in a file that are ignored because only operators can change them. */
export async function findKeptSettings(work: Work, { publisher, settingNames }: Catalogue): Promise<Warning[]> {
  if (isOperator(work.actor)) return [];
  const current = await getRow(publishers, work, String(work.publisherId));
  return operatorSettings
    .filter((name) => settingNames.includes(name) && !isDeepStrictEqual(publisher[name], current[name]))
    .map((name) => ({
      path: `/publisher/${name}`,
      message: problem('operatorFieldKept', { value: JSON.stringify(current[name]) }),
    }));
}

/**
 * Checks that the publisher has no catalogue yet.
 * @throws AppError conflict if the publisher has a catalogue
 */
export async function requireEmpty({ executor, publisherId }: Work): Promise<void> {
  const { rows } = await executor.query<{ taken: boolean }>(
    `select exists (select 1 from themes where publisher_id = $1 and deleted_at is null)
      or exists (select 1 from advertisers where publisher_id = $1 and deleted_at is null)
      or exists (select 1 from sequence_rules where publisher_id = $1 and deleted_at is null) as taken`,
    [publisherId],
  );
  if (rows[0]?.taken === true)
    throw new AppError('conflict', {
      message: problem('catalogueNotEmpty'),
    });
}

/** Allocates new IDs for the rows of a resource. Returns them keyed by the IDs in the file. */
async function allocateIds(
  { executor }: Work,
  { table, key }: Resource,
  list: readonly FileRow[],
): Promise<Map<unknown, unknown>> {
  if (key === 'name') return new Map(list.map(({ id }) => [id, id]));
  const { rows } = await executor.query<{ id: string }>(
    'select nextval(pg_get_serial_sequence($1, $2)) as id from generate_series(1, $3::integer)',
    [table, 'id', list.length],
  );
  return new Map(list.map((row, index) => [row.id, Number(rows[index]?.id)]));
}

async function insertRows(work: Work, kind: Resource, list: readonly FileRow[], ids: Ids): Promise<void> {
  const now = new Date(work.nowMs).toISOString();
  const rows = list.map(({ id, values }) => ({
    ...defaultsOf(kind),
    ...renamed(kind, values, ids),
    ...(kind.key === 'id' && { id: ids.get(kind.table)?.get(id) }),
    ...(kind.scope === undefined && { publisher_id: work.publisherId }),
    ...kind.initial?.(work),
    created_at: now,
    updated_at: now,
  }));
  const columns = Object.keys(rows[0] ?? {});
  const replaced = columns
    .filter((name) => !['publisher_id', 'name', 'created_at'].includes(name))
    .map((name) => `${name} = excluded.${name}`);
  await work.executor.query(
    `insert into ${kind.table} (${columns.join(', ')}) overriding system value
    select ${columns.join(', ')} from jsonb_populate_recordset(null::${kind.table}, $1::jsonb)
    ${kind.key === 'name' ? `on conflict (publisher_id, name) do update set ${replaced.join(', ')}` : ''}`,
    [JSON.stringify(rows)],
  );
}

/** Returns a row with its references replaced by new IDs. */
export function renamed(kind: Resource, values: Values, ids: Ids): Values {
  const changed = { ...values };
  for (const [column, { table }] of Object.entries(kind.references ?? {}))
    changed[column] = ids.get(table)?.get(values[column]) ?? null;
  if (kind === sequenceRules)
    changed.match = mapMatch(values.match as Values, (table, id) => ids.get(table)?.get(id) ?? null);
  return changed;
}
