import type { Resource, Values } from '../../../management/resource.ts';
import { advertisers } from '../advertisers.ts';
import { campaigns } from '../campaigns.ts';
import { creatives } from '../creatives.ts';
import { offers } from '../offers.ts';
import { placements } from '../placements.ts';
import { sequenceRules } from '../sequence-rules.ts';
import { themes } from '../themes.ts';

/** Number of the file's format, under this name. */
export const formatField = 'perkwire_catalogue';
export const formatNumber = 1;

/**
 * What a catalogue file holds beside the publisher, in an order in which each finds what it names. A kind stands under
 * the name of its table.
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

/** What the lists of a sequence rule name, by kind. */
const matchTables: Readonly<Record<string, string>> = {
  offers: 'offers',
  campaigns: 'campaigns',
  advertisers: 'advertisers',
};

/**
 * A rule's match with each id passed through `change`; what becomes null is left out, and lists that end empty with it.
 */
export function mapMatch(match: Values, change: (table: string, id: number) => unknown): Values {
  const entries = Object.entries(match).map(([name, list]): [string, unknown[]] => {
    const table = matchTables[name];
    if (table === undefined) return [name, list as unknown[]];
    return [name, (list as number[]).map((id) => change(table, id)).filter((id) => id !== null)];
  });
  return Object.fromEntries(entries.filter(([, list]) => list.length > 0));
}
