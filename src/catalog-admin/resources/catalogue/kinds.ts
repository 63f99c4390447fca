import type { Resource, Values } from '../../../management/resource.ts';
import { advertisers } from '../advertisers.ts';
import { campaigns } from '../campaigns.ts';
import { creatives } from '../creatives.ts';
import { offers } from '../offers.ts';
import { placements } from '../placements.ts';
import { sequenceRules } from '../sequence-rules.ts';
import { themes } from '../themes.ts';

/** Name of the member with the version of the file format. */
export const formatField = 'perkwire_catalogue';
export const formatNumber = 1;

/** Kinds of rows in a catalogue file, named by their tables. Each kind comes after the kinds that it refers to. */
export const kinds: readonly Resource[] = [
  themes,
  placements,
  advertisers,
  campaigns,
  offers,
  creatives,
  sequenceRules,
];

/** Tables of the ids in a sequence rule's lists. */
const matchTables: Readonly<Record<string, string>> = {
  offers: 'offers',
  campaigns: 'campaigns',
  advertisers: 'advertisers',
};

/** Maps each id of a rule's match. Ids that become null are removed, and so are lists that become empty. */
export function mapMatch(match: Values, change: (table: string, id: number) => unknown): Values {
  const entries = Object.entries(match).map(([name, list]): [string, unknown[]] => {
    const table = matchTables[name];
    if (table === undefined) return [name, list as unknown[]];
    return [name, (list as number[]).map((id) => change(table, id)).filter((id) => id !== null)];
  });
  return Object.fromEntries(entries.filter(([, list]) => list.length > 0));
}
