import type { Resource, Values, View } from '../../../management/resource.ts';
import { getOrInsert } from '../../../platform/lib/get-or-insert.ts';
import { createPacer } from '../../../platform/lib/slices.ts';
import { creatives } from '../creatives.ts';
import { sequenceRules } from '../sequence-rules.ts';
import type { FileRow } from './parse.ts';

/** A row of a file with the ids of the publisher. `picture`: SHA-256 of an uploaded one, hex; null: there is none. */
export type WantedRow = { row: FileRow; values: Values; picture: string | null };
export type CurrentRow = { view: View; picture: string | null };

/** The fields by which a person knows a row, by table: what differs in them is another row. */
const names: Readonly<Record<string, (values: Values) => unknown[]>> = {
  themes: ({ key }) => [key],
  placements: ({ name }) => [name],
  advertisers: ({ name }) => [name],
  campaigns: ({ advertiser_id, name }) => [advertiser_id, name],
  offers: ({ campaign_id, title, short_headline }) => [campaign_id, title === '' ? short_headline : title],
  creatives: ({ offer_id, creative_type, url }) => [offer_id, creative_type, url],
  [sequenceRules.table]: ({ placement, positions, effect, match }) => [
    placement,
    positions,
    effect,
    Object.entries(match as Values).sort(([a], [b]) => (a < b ? -1 : 1)),
  ],
};

const identityOf = ({ table }: Resource, values: Values, picture: string | null): string =>
  JSON.stringify([...(names[table]?.(values) ?? []), picture]);

/**
 * Which row of the publisher each row of the file stands for: of those with the same name the one with its id, else
 * the first that is left; where no name is the same, the one with its id, which is renamed by the file.
 * @param idsCount whether the ids of the file are those of the publisher
 */
export async function matchRows(
  kind: Resource,
  wanted: readonly WantedRow[],
  current: readonly CurrentRow[],
  idsCount: boolean,
): Promise<ReadonlyMap<WantedRow, CurrentRow>> {
  const pace = createPacer();
  const matched = new Map<WantedRow, CurrentRow>();
  const taken = new Set<CurrentRow>();
  const byId = new Map<unknown, CurrentRow>();
  const nameOf = new Map<WantedRow | CurrentRow, string>();
  for (const one of current) {
    await pace();
    byId.set(one.view[kind.key], one);
    nameOf.set(one, identityOf(kind, one.view, one.picture));
  }
  for (const one of wanted) {
    await pace();
    nameOf.set(one, identityOf(kind, one.values, one.picture));
  }
  const take = (one: WantedRow, found: CurrentRow | undefined): void => {
    if (found === undefined || taken.has(found) || matched.has(one)) return;
    matched.set(one, found);
    taken.add(found);
  };
  const sameId = ({ row }: WantedRow) => (idsCount ? byId.get(row.id) : undefined);
  for (const one of wanted) {
    const found = sameId(one);
    if (found !== undefined && nameOf.get(one) === nameOf.get(found)) take(one, found);
  }
  const leftByName = new Map<string, CurrentRow[]>();
  for (const one of current.toReversed())
    if (!taken.has(one)) getOrInsert(leftByName, nameOf.get(one) as string, () => []).push(one);
  for (const one of wanted) if (!matched.has(one)) take(one, leftByName.get(nameOf.get(one) as string)?.pop());
  for (const one of wanted) {
    const found = sameId(one);
    if (found !== undefined && canBecome(kind, one, found)) take(one, found);
  }
  return matched;
}

/** Some fields are written once, and the picture of a creative is never another. */
const canBecome = (kind: Resource, { values, picture }: WantedRow, current: CurrentRow): boolean =>
  (kind.fixed ?? []).every((name) => values[name] === current.view[name]) &&
  (kind !== creatives || (picture === null && current.picture === null));
