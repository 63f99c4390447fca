import { listsAt } from './controls.ts';
import type { OfferLists, StoredControls } from './types.ts';

/** A single block rule of a publisher, as explanations name it. */
export type ControlsRule = {
  by:
    | ('category' | 'brand' | 'advertiser' | 'domain' | 'offer' | 'word' | 'competitor' | 'separation' | 'floor')
    | ('allowed_categories' | 'allowed_brands' | 'allowed_advertisers' | 'allowed_domains');
  /**
   * Entry of the list. Lists in `allowed_` count as a whole, with all their entries. For a floor it is the placement,
   * and for the separation of categories it is `categories`.
   */
  value: string;
  /** Placement of the rule, or null if it applies to all placements. */
  placement: string | null;
};

/**
 * Effect that other rules would have had on the decisions of the last days, from a random sample that was decided
 * again. The figures are shares of the sample. `revenue` is the change of the booked revenue of all `sessions`, by
 * currency, in millionths. A loss never exceeds the booked revenue.
 */
export type ControlsEffect = {
  days: number;
  /** Approximate number of sessions, and the number of sessions that were decided again. */
  sessions: number;
  sampled: number;
  changed: number;
  emptied: number;
  revenue: { currency: string; micros: number }[];
  /** Whether there is enough data to estimate revenue. If not, currencies are missing in `revenue`. */
  isEnough: boolean;
};

/** Cost of each rule: how decisions would differ without it. `rest` is the number of rules that were not evaluated. */
export type ControlsCost = {
  days: number;
  sessions: number;
  sampled: number;
  rules: (ControlsRule & { effect: ControlsEffect })[];
  rest: number;
};

const lists = {
  category: 'categories',
  brand: 'brands',
  advertiser: 'advertisers',
  domain: 'domains',
  offer: 'offers',
  word: 'words',
} as const;
const listed = Object.keys(lists) as (keyof typeof lists)[];

const allowedLists = ['categories', 'brands', 'advertisers', 'domains'] as const;

const rulesOfLists = ({ blocked, allowed }: OfferLists, placement: string | null): ControlsRule[] => [
  ...listed.flatMap((by) =>
    blocked[lists[by]].map((value: string | number) => ({ by, value: String(value), placement })),
  ),
  ...allowedLists
    .filter((list) => allowed[list].length > 0)
    .map((list) => ({ by: `allowed_${list}` as const, value: allowed[list].join(', '), placement })),
];

/** Lists the block rules one by one. */
export const rulesOf = ({ separate, floors, placements, ...lists }: StoredControls): ControlsRule[] => [
  ...rulesOfLists(lists, null),
  ...separate.competitors.map((value) => ({ by: 'competitor' as const, value: String(value), placement: null })),
  ...(separate.categories ? [{ by: 'separation' as const, value: 'categories', placement: null }] : []),
  ...Object.keys(floors).map((value) => ({ by: 'floor' as const, value, placement: null })),
  ...Object.entries(placements).flatMap(([name, ofPlacement]) => rulesOfLists(ofPlacement, name)),
];

type ListRule = { value: string; by: Exclude<ControlsRule['by'], 'competitor' | 'separation' | 'floor'> };

function listsWithout({ blocked, allowed }: OfferLists, { by, value }: ListRule): OfferLists {
  const ofAllowed = allowedLists.find((list) => by === `allowed_${list}`);
  if (ofAllowed !== undefined) return { blocked, allowed: { ...allowed, [ofAllowed]: [] } };
  const list = lists[by as keyof typeof lists];
  const others = (blocked[list] as (string | number)[]).filter((item) => String(item) !== value);
  return { allowed, blocked: { ...blocked, [list]: others } };
}

/** Returns the rules without one of them. */
export function withoutRule(stored: StoredControls, { by, value, placement }: ControlsRule): StoredControls {
  const { separate, floors, placements } = stored;
  const others = <Item>(items: readonly Item[]): Item[] => items.filter((item) => String(item) !== value);
  switch (by) {
    case 'floor':
      return { ...stored, floors: Object.fromEntries(Object.entries(floors).filter(([name]) => name !== value)) };
    case 'separation':
      return { ...stored, separate: { ...separate, categories: false } };
    case 'competitor':
      return { ...stored, separate: { ...separate, competitors: others<string | number>(separate.competitors) } };
    default: {
      if (placement === null) return { ...stored, ...listsWithout(stored, { by, value }) };
      const rest = listsWithout(listsAt(stored, placement), { by, value });
      return { ...stored, placements: { ...placements, [placement]: rest } };
    }
  }
}
