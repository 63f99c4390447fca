import type { Resource, Values } from '../../../management/resource.ts';
import { columnsOf, getRow, scopeOf, viewOf } from '../../../management/rows.ts';
import type { Work } from '../../../management/unit-of-work.ts';
import { createPacer } from '../../../platform/lib/slices.ts';
import type { ImageType } from '../../images/accept.ts';
import type { ImageStore } from '../../images/image-store.ts';
import { completeOriginal, findPicture } from '../../images/original.ts';
import { creatives } from '../creatives.ts';
import { publishers } from '../publishers.ts';
import { sequenceRules } from '../sequence-rules.ts';
import { formatField, formatNumber, kinds, mapMatch } from './kinds.ts';

/** Rows read by one statement (count). */
const pageSize = 500;

export type Progress = (kind: string, done: number) => void;

/** Rows whose campaign or offer was removed are left out with it. */
const belongs: Readonly<Record<string, string>> = {
  offers: 'campaign_id in (select id from campaigns where publisher_id = $1 and deleted_at is null)',
  creatives: `offer_id in (select o.id from offers o join campaigns c on c.id = o.campaign_id
    where o.publisher_id = $1 and o.deleted_at is null and c.deleted_at is null)`,
};

/**
 * A publisher's catalogue as the text of a JSON file, piece by piece, a row a line. Ids in it only say which row names
 * which.
 * @param work its executor should be inside a repeatable-read transaction, so that the file is of one moment
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
  const known = new Map<string, Set<unknown>>();
  const pace = createPacer();
  for (const kind of kinds) {
    const ids = new Set<unknown>();
    known.set(kind.table, ids);
    yield `,\n"${kind.table}": [`;
    let separator = '\n';
    for await (const row of rowsOf(kind, work)) {
      await pace();
      const exported = await exportRow(kind, row, { work, store, known });
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

/** The rows of a kind, as they are shown, without those that went with a campaign or an offer. */
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

type Context = { work: Work; store: ImageStore | null; known: ReadonlyMap<string, ReadonlySet<unknown>> };

/** The fields that are imported again, and the bytes of an uploaded picture. null: nothing is left of the row. */
async function exportRow(kind: Resource, row: Values, { work, store, known }: Context): Promise<Values | null> {
  const fields = Object.fromEntries(Object.keys(kind.input.properties).map((name) => [name, row[name]]));
  const exported: Values = kind.key === 'id' ? { id: row.id, ...fields } : fields;
  if (kind === sequenceRules) {
    const match = mapMatch(row.match as Values, (table, id) => (known.get(table)?.has(id) ? id : null));
    return Object.keys(match).length === 0 ? null : { ...exported, match };
  }
  if (kind !== creatives || row.url !== null) return exported;
  const picture = await findPicture(work.executor, row.id as number, row.type as ImageType);
  if (picture === null) return null;
  const { bytes } = await completeOriginal(picture, row.type as ImageType, store);
  return { ...exported, image: bytes.toString('base64') };
}
