import type { Offer, Publisher, Theme } from '../../catalog/types.ts';
import type { MacroValues } from '../offer-view.ts';
import { categoriesOf, filterOffers, type WallFilter } from './filter.ts';

export type WallOffers = {
  /** In the order of the session; null: no longer served. */
  offers: readonly (Offer | null)[];
  /** The offer of the link, shown before all others by the token of the link's session. */
  linked: { offer: Offer; token: string } | null;
};

/** An open wall: its session, and which of its offers can still be shown. */
export type Wall = WallOffers & {
  publisher: Publisher;
  theme: Theme | null;
  session: { id: string; pubUserId: string | null; dev: boolean; macros: MacroValues; language: string | null };
  /** That apply; on the first page. */
  experiments?: readonly { key: string; arm: string }[];
};

/** Which page of an offerwall is requested. */
export type WallPageRequest = {
  /** Offers of one page (count). */
  limit: number;
  filter: WallFilter;
  /** `next_cursor` of an earlier page; null: the beginning of a new wall. */
  cursor: string | null;
};

/** `position`: in the session, from 1; 0: the offer of the link. */
type Entry = { offer: Offer; position: number; token?: string };

/** `next`: the offset of the page behind it, null on the last. `total`: offers that match the filter. */
type WallPage = { page: Entry[]; total: number; next: number | null; categories: string[] };

/** Selects one page of a wall: the offers that match the filter, from `offset` on. */
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
  // Each page comes further, also where the offer of the link fills it.
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
