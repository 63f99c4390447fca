import type { Resource, Values, View } from '../../../management/resource.ts';
import { getOrInsert } from '../../../platform/lib/get-or-insert.ts';
import { createPacer } from '../../../platform/lib/slices.ts';
import { creatives } from '../creatives.ts';
import { sequenceRules } from '../sequence-rules.ts';
import type { FileRow } from './parse.ts';

/**
 * Row of a file, with its references converted to the publisher's IDs. `picture` is the SHA-256 of an uploaded image
 * (hex), or null if none exists.
 */
export type WantedRow = { row: FileRow; values: Values; imageHash: string | null };
export type CurrentRow = { view: View; imageHash: string | null };

/** Fields that make up the name of a row, by table. Rows with different names are treated as different rows. */
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

const identityOf = ({ table }: Resource, values: Values, imageHash: string | null): string =>
  JSON.stringify([...(names[table]?.(values) ?? []), imageHash]);

/**
 * Matches the rows of a file to the publisher's rows. If several rows have the same name, the one with the same ID is
 * preferred, or else the first unmatched one. If no row has the same name, the row with the same ID is used and will be
 * renamed.
 * @param idsCount whether the IDs in the file are those of the publisher
 */
export async function matchRows(
  kind: Resource,
  fileRows: readonly WantedRow[],
  current: readonly CurrentRow[],
  idsCount: boolean,
): Promise<ReadonlyMap<WantedRow, CurrentRow>> {
  const pace = createPacer();
  const matched = new Map<WantedRow, CurrentRow>();
  const matchedRows = new Set<CurrentRow>();
  const byId = new Map<unknown, CurrentRow>();
  const nameOf = new Map<WantedRow | CurrentRow, string>();
  for (const row of current) {
    await pace();
    byId.set(row.view[kind.key], row);
    nameOf.set(row, identityOf(kind, row.view, row.imageHash));
  }
  for (const fileRow of fileRows) {
    await pace();
    nameOf.set(fileRow, identityOf(kind, fileRow.values, fileRow.imageHash));
  }
  const take = (fileRow: WantedRow, currentRow: CurrentRow | undefined): void => {
    if (currentRow === undefined || matchedRows.has(currentRow) || matched.has(fileRow)) return;
    matched.set(fileRow, currentRow);
    matchedRows.add(currentRow);
  };
  const sameId = ({ row }: WantedRow) => (idsCount ? byId.get(row.id) : undefined);
  for (const fileRow of fileRows) {
    const match = sameId(fileRow);
    if (match !== undefined && nameOf.get(fileRow) === nameOf.get(match)) take(fileRow, match);
  }
  const leftByName = new Map<string, CurrentRow[]>();
  for (const row of current.toReversed())
    if (!matchedRows.has(row)) getOrInsert(leftByName, nameOf.get(row) as string, () => []).push(row);
  for (const fileRow of fileRows)
    if (!matched.has(fileRow)) take(fileRow, leftByName.get(nameOf.get(fileRow) as string)?.pop());
  for (const fileRow of fileRows) {
    const match = sameId(fileRow);
    if (match !== undefined && canBecome(kind, fileRow, match)) take(fileRow, match);
  }
  return matched;
}

/**
 * Whether a publisher's row can be changed into a row of the file. Some fields cannot be changed, nor can the image of
 * a creative.
 */
const canBecome = (kind: Resource, { values, imageHash }: WantedRow, current: CurrentRow): boolean =>
  (kind.fixed ?? []).every((name) => values[name] === current.view[name]) &&
  (kind !== creatives || (imageHash === null && current.imageHash === null));
