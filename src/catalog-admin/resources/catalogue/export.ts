import type { Resource, Values } from '../../../management/resource.ts';
import { columnsOf, getRow, scopeOf, viewOf } from '../../../management/rows.ts';
import type { Work } from '../../../management/unit-of-work.ts';
import { createPacer } from '../../../platform/lib/slices.ts';
import type { ImageType } from '../../images/accept.ts';
import type { ImageStore } from '../../images/image-store.ts';
import { completeOriginal, findImage } from '../../images/original.ts';
import { creatives } from '../creatives.ts';
import { publishers } from '../publishers.ts';
import { sequenceRules } from '../sequence-rules.ts';
import { formatField, formatNumber, kinds, mapMatch } from './kinds.ts';

/** Number of rows read per statement. */
const pageSize = 500;

export type Progress = (kind: string, done: number) => void;

/** SQL conditions, by table, that exclude the rows of removed campaigns and offers. */
const belongs: Readonly<Record<string, string>> = {
  offers: 'campaign_id in (select id from campaigns where publisher_id = $1 and deleted_at is null)',
  creatives: `offer_id in (select o.id from offers o join campaigns c on c.id = o.campaign_id
    where o.publisher_id = $1 and o.deleted_at is null and c.deleted_at is null)`,
};

/**
 * Yields a publisher's catalogue as a JSON file in chunks, with one row per line. The IDs in the file serve only as
 * references between its rows.
 * @param work its executor should be in a repeatable-read transaction, so that the file is consistent
 */
export async function* exportCatalogue(
  work: Work,
  store: ImageStore | null,
  progress: Progress = () => {},
): AsyncGenerator<string> {
  const {
    id: _id,
    created_at: _created,
    updated_at: _updated,
    ...publisher
  } = await getRow(publishers, work, String(work.publisherId));
  yield `{"${formatField}": ${formatNumber},\n"publisher": ${JSON.stringify(publisher)}`;
  const exportedIds = new Map<string, Set<unknown>>();
  const pace = createPacer();
  for (const kind of kinds) {
    const ids = new Set<unknown>();
    exportedIds.set(kind.table, ids);
    yield `,\n"${kind.table}": [`;
    let separator = '\n';
    for await (const row of rowsOf(kind, work)) {
      await pace();
      const exported = await exportRow(kind, row, { work, store, exportedIds });
      if (exported === null) continue;
      ids.add(row[kind.key]);
      yield `${separator}${JSON.stringify(exported)}`;
      separator = ',\n';
      progress(kind.table, ids.size);
    }
    yield ids.size === 0 ? ']' : '\n]';
  }
  yield '\n}\n';
}

/** Yields the rows of a resource in API format, except rows of removed campaigns and offers. */
export async function* rowsOf(kind: Resource, work: Work): AsyncGenerator<Values> {
  const conditions = [
    scopeOf(kind, work),
    kind.removedAt ? `${kind.removedAt} is null` : 'true',
    belongs[kind.table] ?? 'true',
  ];
  let after: unknown = kind.key === 'name' ? '' : 0;
  for (;;) {
    const { rows } = await work.executor.query<Values>(
      `select ${columnsOf(kind, work)} from ${kind.table} where ${conditions.join(' and ')} and ${kind.key} > $2
      order by ${kind.key} limit ${pageSize}`,
      [work.publisherId, after],
    );
    for (const row of rows) yield viewOf(row);
    if (rows.length < pageSize) return;
    after = rows.at(-1)?.[kind.key];
  }
}

type Context = { work: Work; store: ImageStore | null; exportedIds: ReadonlyMap<string, ReadonlySet<unknown>> };

/**
 * Returns the fields of a row that can be imported, including the bytes of an uploaded image. Returns null if the row
 * cannot be exported.
 */
async function exportRow(kind: Resource, row: Values, { work, store, exportedIds }: Context): Promise<Values | null> {
  const fields = Object.fromEntries(Object.keys(kind.input.properties).map((name) => [name, row[name]]));
  const exported: Values = kind.key === 'id' ? { id: row.id, ...fields } : fields;
  if (kind === sequenceRules) {
    const match = mapMatch(row.match as Values, (table, id) => (exportedIds.get(table)?.has(id) ? id : null));
    return Object.keys(match).length === 0 ? null : { ...exported, match };
  }
  if (kind !== creatives || row.url !== null) return exported;
  const image = await findImage(work.executor, row.id as number, row.type as ImageType);
  if (image === null) return null;
  const { bytes } = await completeOriginal(image, row.type as ImageType, store);
  return { ...exported, image: bytes.toString('base64') };
}
