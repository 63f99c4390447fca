import type { Offer } from '../catalog/types.ts';

/** What narrows the offers of one request. */
export type Wish = {
  loyalty: 'none' | 'also' | 'only';
  onlyWithCreative: boolean;
  campaignId: number | null;
  /** How many offers at most. */
  limit: number;
  dev: boolean;
};

/** Campaign id → end of the opt-out in epoch seconds, or null for good. */
export type OptOuts = Readonly<Record<string, number | null>>;

/**
 * The offers to show, in order: eligible candidates by rank, one of each campaign. Pure.
 * @param candidates active offers, best first
 */
export function chooseOffers(candidates: readonly Offer[], wish: Wish, optOuts: OptOuts, nowMs: number): Offer[] {
  const chosen: Offer[] = [];
  const campaigns = new Set<number>();
  for (const offer of candidates) {
    if (chosen.length >= wish.limit) break;
    if (campaigns.has(offer.campaign.id) || !isWished(offer, wish)) continue;
    if (!wish.dev && isOptedOut(optOuts, offer.campaign.id, nowMs)) continue;
    campaigns.add(offer.campaign.id);
    chosen.push(offer);
  }
  return chosen;
}

function isWished(offer: Offer, wish: Wish): boolean {
  if (wish.campaignId !== null && offer.campaign.id !== wish.campaignId) return false;
  if (wish.loyalty === 'none' && offer.campaign.isLoyalty) return false;
  if (wish.loyalty === 'only' && !offer.campaign.isLoyalty) return false;
  return !wish.onlyWithCreative || offer.creatives.length > 0;
}

function isOptedOut(optOuts: OptOuts, campaignId: number, nowMs: number): boolean {
  const until = optOuts[campaignId];
  return until !== undefined && (until === null || until * 1000 > nowMs);
}
