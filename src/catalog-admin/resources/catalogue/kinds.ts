import type { Resource, Values } from '../../../management/resource.ts';
import { advertisers } from '../advertisers.ts';
import { campaigns } from '../campaigns.ts';
import { creatives } from '../creatives.ts';
import { offers } from '../offers.ts';
import { placements } from '../placements.ts';
import { sequenceRules } from '../sequence-rules.ts';
import { themes } from '../themes.ts';

/** Name of the field with the version of the file format. */
export const formatField = 'perkwire_catalogue';
export const formatNumber = 1;

/**
 * Resources in a catalogue file, identified by their tables. Each resource comes after the resources that it refers to.
 */
export const kinds: readonly Resource[] = [
  themes,
  placements,
  advertisers,
  campaigns,
  offers,
  creatives,
  sequenceRules,
];

/** Table that the IDs in each match list of a sequence rule refer to. */
const matchTables: Readonly<Record<string, string>> = {
  offers: 'offers',
  campaigns: 'campaigns',
  advertisers: 'advertisers',
};

/**
 * Replaces the IDs in the match lists of a sequence rule. IDs that are mapped to null are removed, and so are lists
 * that become empty.
 */
export function mapMatch(match: Values, change: (table: string, id: number) => unknown): Values {
  const entries = Object.entries(match).map(([name, list]): [string, unknown[]] => {
    const table = matchTables[name];
    if (table === undefined) return [name, list as unknown[]];
    return [name, (list as number[]).map((id) => change(table, id)).filter((id) => id !== null)];
  });
  return Object.fromEntries(entries.filter(([, list]) => list.length > 0));
}
