import type { Offer, Publisher, Theme } from '../../catalog/types.ts';
import type { MacroValues } from '../offer-view.ts';
import { categoriesOf, filterOffers, type WallFilter } from './filter.ts';

export type WallOffers = {
  /** Offers in session order. An entry is null if the offer is no longer served. */
  offers: readonly (Offer | null)[];
  /** Linked offer, which is shown before all others. It keeps the token from the link's session. */
  linked: { offer: Offer; token: string } | null;
};

/** An open offerwall: its session, and the offers that it can still show. */
export type Wall = WallOffers & {
  publisher: Publisher;
  theme: Theme | null;
  session: { id: string; pubUserId: string | null; dev: boolean; macros: MacroValues; language: string | null };
  /** Experiments that apply to the session. Set only on the first page. */
  experiments?: readonly { key: string; arm: string }[];
};

/** Request for a page of an offerwall. */
export type WallPageRequest = {
  /** Number of offers per page. */
  limit: number;
  filter: WallFilter;
  /** `next_cursor` from an earlier page, or null to start a new offerwall. */
  cursor: string | null;
};

/** Offer on a page. `position` is its position in the session, starting from 1. The linked offer has position 0. */
type Entry = { offer: Offer; position: number; token?: string };

/**
 * Page of an offerwall. `next` is the offset of the following page, or null on the last page. `total` is the number of
 * matching offers.
 */
type WallPage = { page: Entry[]; total: number; next: number | null; categories: string[] };

/** Selects a page of an offerwall: the offers that match the filter, starting at `offset`. */
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
  // Always add at least one offer, so that every page advances even if the linked offer already fills it.
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
