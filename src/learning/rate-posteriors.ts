import type { Offer } from '../catalog/types.ts';
import { type Counts, type Posteriors, posteriorKey } from './types.ts';

/** Beta distributions of an offer's click rate (of impressions) and conversion rate (of clicks) at a placement. */
export type RatePosteriors = { click: Beta; conversion: Beta };
type Beta = { a: number; b: number };

/** Rates of an offer of which nothing is known: 1 click in 50 impressions, 1 conversion in 20 clicks. */
const priorClickRate = 1 / 50;
const priorConversionRate = 1 / 20;

/** Weight of a level of the hierarchy as the prior of the next (trials). */
const categoryPriorTrials = 100;
const offerPriorMinTrials = 20;
const offerPriorMaxTrials = 200;

/** The warm-up: an offer's own counts are not used before it has had so many impressions, as they are mostly noise. */
export const warmUpImpressions = 100;

const noCounts: Counts = { impressions: 0, clicks: 0, conversions: 0 };

/**
 * Hierarchical model: the category's other offers are shrunk towards the prior rate, the offer's other placements
 * towards these, and their rate is the prior of the offer at this placement. No count enters twice
 * (docs/guides/how-a-decision-is-made.md#expected-revenue).
 */
export function ratePosteriorsOf(
  { offer }: { offer: Offer },
  publisherId: number,
  placement: string,
  posteriors: Posteriors,
): RatePosteriors {
  const inCategory = posteriors.categories.get(offer.campaign.category) ?? noCounts;
  const inAll = posteriors.offers.get(offer.id) ?? noCounts;
  const isWarm = inAll.impressions >= warmUpImpressions;
  const placementCounts = isWarm ? posteriors.placements.get(posteriorKey(publisherId, placement)) : undefined;
  const here = placementCounts?.get(offer.id) ?? noCounts;
  const elsewhere = isWarm ? minus(inAll, here) : noCounts;
  const otherOffers = minus(inCategory, inAll);
  return {
    click: betaOf(priorClickRate, clicksOf(otherOffers), clicksOf(elsewhere), clicksOf(here)),
    conversion: betaOf(priorConversionRate, conversionsOf(otherOffers), conversionsOf(elsewhere), conversionsOf(here)),
  };
}

type Outcomes = { trials: number; successes: number };

const clicksOf = ({ impressions, clicks }: Counts): Outcomes => ({
  trials: impressions,
  successes: Math.min(clicks, impressions),
});

const conversionsOf = ({ clicks, conversions }: Counts): Outcomes => ({
  trials: clicks,
  successes: Math.min(conversions, clicks),
});

/** Levels are read one after the other, so the wider one may be a little behind. */
const minus = (a: Counts, b: Counts): Counts => ({
  impressions: Math.max(0, a.impressions - b.impressions),
  clicks: Math.max(0, a.clicks - b.clicks),
  conversions: Math.max(0, a.conversions - b.conversions),
});

function betaOf(priorRate: number, otherOffers: Outcomes, elsewhere: Outcomes, here: Outcomes): Beta {
  const categoryRate = shrink(otherOffers, priorRate, categoryPriorTrials);
  const offerRate = shrink(elsewhere, categoryRate, categoryPriorTrials);
  const priorTrials = Math.min(offerPriorMaxTrials, offerPriorMinTrials + elsewhere.trials);
  return {
    a: here.successes + offerRate * priorTrials,
    b: here.trials - here.successes + (1 - offerRate) * priorTrials,
  };
}

const shrink = ({ trials, successes }: Outcomes, rate: number, priorTrials: number): number =>
  (successes + rate * priorTrials) / (trials + priorTrials);
