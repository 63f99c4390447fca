import type { StoredControls } from './types.ts';

/** One of the block rules of a publisher, as explanations name it. */
export type ControlsRule = {
  by: 'category' | 'brand' | 'advertiser' | 'domain' | 'offer' | 'word' | 'competitor' | 'separation' | 'floor';
  /** The entry of its list; of a floor its placement, of the separation of categories `categories`. */
  value: string;
};

/**
 * What other rules would change of the decisions of the last days: stored ones, chosen by chance, made again. Shares of
 * these; `revenue`: expected of the impressions of all `sessions`, by currency, in millionths.
 */
export type ControlsEffect = {
  days: number;
  /** How many there were (about), and how many of them were made again. */
  sessions: number;
  sampled: number;
  changed: number;
  emptied: number;
  revenue: { currency: string; micros: number }[];
};

/** What each rule costs: what decisions would be without it. `rest`: how many rules were not looked at. */
export type ControlsCost = Pick<ControlsEffect, 'days' | 'sessions' | 'sampled'> & {
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

/** Each rule by itself. */
export const rulesOf = ({ blocked, separate, floors }: StoredControls): ControlsRule[] => [
  ...listed.flatMap((by) => blocked[lists[by]].map((value: string | number) => ({ by, value: String(value) }))),
  ...separate.competitors.map((value) => ({ by: 'competitor' as const, value: String(value) })),
  ...(separate.categories ? [{ by: 'separation' as const, value: 'categories' }] : []),
  ...Object.keys(floors).map((value) => ({ by: 'floor' as const, value })),
];

/** The rules without one of them. */
export function withoutRule(stored: StoredControls, { by, value }: ControlsRule): StoredControls {
  const { blocked, separate, floors } = stored;
  const others = <Item>(items: readonly Item[]): Item[] => items.filter((item) => String(item) !== value);
  switch (by) {
    case 'floor':
      return { ...stored, floors: Object.fromEntries(Object.entries(floors).filter(([name]) => name !== value)) };
    case 'separation':
      return { ...stored, separate: { ...separate, categories: false } };
    case 'competitor':
      return { ...stored, separate: { ...separate, competitors: others<string | number>(separate.competitors) } };
    default: {
      const list = lists[by];
      return { ...stored, blocked: { ...blocked, [list]: others<string | number>(blocked[list]) } };
    }
  }
}
