import type { Offer, Publisher, Theme } from '../../catalog/types.ts';
import type { MacroValues } from '../offer-view.ts';
import { categoriesOf, filterOffers, type WallFilter } from './filter.ts';

export type WallOffers = {
  /** Offers in the order of the session; null if an offer is no longer served. */
  offers: readonly (Offer | null)[];
  /** Offer of the link, shown before all others with the token of the link's session. */
  linked: { offer: Offer; token: string } | null;
};

/** An open wall: its session, and its offers that can still be shown. */
export type Wall = WallOffers & {
  publisher: Publisher;
  theme: Theme | null;
  session: { id: string; pubUserId: string | null; dev: boolean; macros: MacroValues; language: string | null };
  /** Experiments that apply; set on the first page only. */
  experiments?: readonly { key: string; arm: string }[];
};

/** Request for a page of an offerwall. */
export type WallPageRequest = {
  /** Number of offers on a page. */
  limit: number;
  filter: WallFilter;
  /** `next_cursor` of an earlier page; null starts a new wall. */
  cursor: string | null;
};

/** An offer on a page. `position` is its position in the session, from 1; 0 for the offer of the link. */
type Entry = { offer: Offer; position: number; token?: string };

/**
 * A page. `next` is the offset of the following page, or null on the last one. `total` is the number of matching
 * offers.
 */
type WallPage = { page: Entry[]; total: number; next: number | null; categories: string[] };

/** Selects one page of a wall: the offers that match the filter, starting at `offset`. */
export function selectPage(
  { offers, linked }: WallOffers,
  offset: number,
  { limit, filter }: { limit: number; filter: WallFilter },
): WallPage {
  const served = offers.filter((offer) => offer !== null);
  const matching = new Set(filterOffers(served, filter));
  const linkMatches = linked !== null && filterOffers([linked.offer], filter).length > 0;
  const page: Entry[] = linkMatches && offset === 0 ? [{ ...linked, position: 0 }] : [];
  let next = offset;
  // Each page must advance, even if the offer of the link fills it.
  for (; next < offers.length && (page.length < limit || next === offset); next += 1) {
    const offer = offers[next] as Offer | null;
    if (offer !== null && matching.has(offer)) page.push({ offer, position: next + 1 });
  }
  const hasMore = offers.slice(next).some((offer) => offer !== null && matching.has(offer));
  return {
    page,
    total: matching.size + (linkMatches ? 1 : 0),
    next: hasMore ? next : null,
    categories: categoriesOf(served),
  };
}
