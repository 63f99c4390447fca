import { defaultsOf, type Values, type View } from '../management/resource.ts';
import { getRow } from '../management/rows.ts';
import type { Work } from '../management/unit-of-work.ts';
import { AppError } from '../platform/errors.ts';
import { currentRow, type ReviewedKinds } from './apply.ts';
import { type Draft, drafts, getDraft } from './draft.ts';

/** Draft with the data that its page needs. */
export type DraftDetails = {
  draft: Draft;
  /** Current row, or null if it does not exist yet or was deleted. */
  current: View | null;
  names: RowNames;
  advertiserName: string;
  /** Live copy of the offer that a new or changed image belongs to. Empty for other drafts. */
  offerTexts: Values;
  /** Default values of a new row. */
  defaults: Values;
  /** Draft that this one revises, or null. */
  revised: Draft | null;
  /** ID of the latest draft that revises this one, or null. */
  revisionId: number | null;
};

/** Names of rows that a draft refers to, by {@link nameKey}. */
export type RowNames = ReadonlyMap<string, string>;

/** Returns the key of a row in {@link RowNames}. Placements are referred to by their name instead of an ID. */
export const nameKey = (field: string, id: unknown): string => `${field} ${id}`;

type Targets = { targeting?: { placements?: { include?: string[]; exclude?: string[] } } };

const placementsOf = ({ rules }: Values): string[] => {
  const { include = [], exclude = [] } = (rules as Targets | undefined)?.targeting?.placements ?? {};
  return [...include, ...exclude];
};

/**
 * Reads a draft with the data that its page needs. `kinds` and `resource` limit the rows that may be read.
 * @throws AppError not_found
 */
export async function readDetails(
  kinds: ReviewedKinds,
  work: Work,
  id: string,
  resource = drafts,
): Promise<DraftDetails> {
  const draft = await getDraft(work, id, resource);
  const { rows } = await work.executor.query<{ id: number }>(
    "select id from drafts where revises = $1 and state <> 'withdrawn' order by id desc limit 1",
    [draft.id],
  );
  const advertisers = await work.executor.query<{ name: string }>(
    'select a.name from campaigns c join advertisers a on a.id = c.advertiser_id where c.id = $1',
    [draft.campaign_id],
  );
  return {
    draft,
    current: await orNull(currentRow(kinds, work, draft)),
    names: await readNames(work, draft),
    advertiserName: advertisers.rows[0]?.name ?? '',
    offerTexts: draft.resource === 'creatives' ? ((await orNull(readOffer(kinds, work, draft))) ?? {}) : {},
    defaults: defaultsOf(kinds[draft.resource]),
    revised: draft.revises === null ? null : await orNull(getDraft(work, String(draft.revises), resource)),
    revisionId: rows[0]?.id ?? null,
  };
}

const readOffer = (kinds: ReviewedKinds, work: Work, { changes, base }: Draft): Promise<View> =>
  getRow(kinds.offers, work, String(changes.offer_id ?? base.offer_id));

/** Returns null instead of a row that was removed. */
const orNull = <T>(row: Promise<T>): Promise<T | null> =>
  row.catch((err: unknown) => {
    if (err instanceof AppError && err.status === 404) return null;
    throw err;
  });

/** Reads the names of the rows that a draft refers to, so that pages can show them instead of IDs. */
async function readNames({ executor, publisherId }: Work, draft: Draft): Promise<RowNames> {
  const { changes, base, campaign_id } = draft;
  const idsOf = (field: string): number[] =>
    [changes[field], base[field]].filter((id): id is number => Number.isSafeInteger(id));
  const { rows } = await executor.query<{ field: string; id: string; name: string }>(
    `select 'advertiser_id' as field, id::text, name from advertisers where publisher_id = $1 and id = any($2)
    union all select 'campaign_id', id::text, name from campaigns where publisher_id = $1 and id = any($3)
    union all select 'offer_id', o.id::text, coalesce(nullif(o.title, ''), o.short_headline)
      from offers o join campaigns c on c.id = o.campaign_id where c.publisher_id = $1 and o.id = any($4)
    union all select 'placement', name, display_name from placements where publisher_id = $1 and name = any($5)`,
    [
      ...[publisherId, idsOf('advertiser_id'), [campaign_id, ...idsOf('campaign_id')], idsOf('offer_id')],
      [...placementsOf(changes), ...placementsOf(base)],
    ],
  );
  return new Map(rows.filter(({ name }) => name !== '').map(({ field, id, name }) => [nameKey(field, id), name]));
}
