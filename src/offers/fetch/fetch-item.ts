import type { Offer, Publisher, Snapshot, Theme } from '../../catalog/snapshot/types.ts';
import type { DecisionContext } from '../../decision/types.ts';
import type { Surroundings } from '../context/client-context.ts';
import type { FetchOffersRequest } from './request.ts';
import type { SessionRecord } from './sessions.ts';

/** What an earlier session says of whoever opens an offerwall. */
export type KnownVisitor = {
  /** Instead of the hash of an identifier in the request. */
  userKey?: string | null;
  /** The offer that led there comes first. */
  first?: number;
};

/** A fetch on its way from the request to the answer. */
export type Item = {
  snapshot: Snapshot;
  publisher: Publisher;
  request: FetchOffersRequest;
  surroundings: Surroundings;
  theme: Theme | null;
  /** The name it is counted under. */
  placement: string;
  userKey: string | null;
  /** A test: nothing is counted, no cap holds. */
  dev: boolean;
  /** The session's id, from the decision or the deadline on, whichever comes first. */
  sessionId: string | null;
  /** The deadline has passed and an empty answer is out. */
  expired: boolean;
  /** For an offerwall; null: for a unit. */
  wall: KnownVisitor | null;
  /** What was decided for an offerwall, which is rendered later. */
  decided: SessionRecord | null;
};

/** Most offers of one offerwall (count). */
const maxWallOffers = 500;

/** The request as a decision sees it. */
export function contextOf(item: Item, nowMs: number): DecisionContext {
  const { request, surroundings, wall } = item;
  const { country, region, city, postalCode, timeZone, platform, device, os, browser } = surroundings;
  return {
    surface: wall === null ? 'unit' : 'offerwall',
    placement: item.placement,
    platform,
    device,
    os,
    browser,
    geo: { country, region, city, postalCode, timeZone },
    custom: request.custom,
    nowMs,
    userKey: item.userKey,
    loyalty: request.loyalty,
    onlyWithCreative: request.onlyWithCreative,
    campaignId: request.campaignId,
    count: wall === null ? null : maxWallOffers,
    dev: item.dev,
  };
}

/** The theme asked for, where the publisher has it; else that of the placement, else the default. */
export function themeOf(
  publisher: Publisher,
  { themeId, placement }: Pick<FetchOffersRequest, 'themeId' | 'placement'>,
): Theme | null {
  const wanted = themeId ?? publisher.placements.get(placement)?.themeId ?? null;
  return (wanted === null ? undefined : publisher.themes.get(wanted)) ?? publisher.defaultTheme;
}

/** Whether User Selected Perks is on in this answer (docs/interface.md#user-selected-perks). */
export const isUspOn = ({ publisher, theme, request, wall }: Item): boolean =>
  wall === null && publisher.uspEnabled && theme?.unit === 'mou' && theme.uspEnabled && request.pubUserId !== null;

/** The offer that led to the wall, where it may be shown, before the others. */
export function withFirst<Shown extends { offer: Offer }>(
  shown: readonly Shown[],
  first: number | undefined,
): readonly Shown[] {
  const found = shown.find(({ offer }) => offer.id === first);
  return found === undefined ? shown : [found, ...shown.filter((one) => one !== found)];
}
