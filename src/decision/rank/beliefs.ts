import type { Candidate } from '../index/compile.ts';
import { type Counts, type Posteriors, posteriorKey } from '../types.ts';

/**
 * What is believed of an offer at a placement: how often it is clicked, and how often a click converts. Each belief is
 * a
 * Beta distribution. What happened at the placement counts for what it is; what it is measured against is shrunk from
 * the offer's other placements, these from its category, and this from all that is known beforehand. A count is never
 * used on two levels at once.
 */
export type Belief = { click: Beta; conversion: Beta };
export type Beta = { a: number; b: number };

/** Before anything is known, one impression in 50 is clicked, and one click in 20 converts. */
const clickRate = 1 / 50;
const conversionRate = 1 / 20;

/** How many trials a level above is worth to the one below it, at most. */
const categoryTrials = 100;
const offerTrials = 200;
const leastTrials = 20;

/** An offer's own counts are luck until it has been shown this often (impressions). */
export const warmUpImpressions = 100;

const nothing: Counts = { impressions: 0, clicks: 0, conversions: 0 };

export function beliefOf({ offer }: Candidate, publisherId: number, placement: string, posteriors: Posteriors): Belief {
  const category = posteriors.categories.get(offer.campaign.category) ?? nothing;
  const everywhere = posteriors.offers.get(offer.id) ?? nothing;
  const isWarm = everywhere.impressions >= warmUpImpressions;
  const here =
    (isWarm ? posteriors.placements.get(posteriorKey(publisherId, placement))?.get(offer.id) : undefined) ?? nothing;
  const elsewhere = isWarm ? minus(everywhere, here) : nothing;
  const others = minus(category, everywhere);
  return {
    click: shrink(clickRate, trialsOf(others, 'click'), trialsOf(elsewhere, 'click'), trialsOf(here, 'click')),
    conversion: shrink(
      conversionRate,
      trialsOf(others, 'conversion'),
      trialsOf(elsewhere, 'conversion'),
      trialsOf(here, 'conversion'),
    ),
  };
}

type Trials = { tries: number; hits: number };

const trialsOf = ({ impressions, clicks, conversions }: Counts, of: 'click' | 'conversion'): Trials =>
  of === 'click'
    ? { tries: impressions, hits: Math.min(clicks, impressions) }
    : { tries: clicks, hits: Math.min(conversions, clicks) };

/** Levels are read one after the other: one of them may be a little behind. */
const minus = (a: Counts, b: Counts): Counts => ({
  impressions: Math.max(0, a.impressions - b.impressions),
  clicks: Math.max(0, a.clicks - b.clicks),
  conversions: Math.max(0, a.conversions - b.conversions),
});

function shrink(rate: number, others: Trials, elsewhere: Trials, here: Trials): Beta {
  const ofCategory = (Math.min(others.hits, others.tries) + rate * categoryTrials) / (others.tries + categoryTrials);
  const ofOffer =
    (Math.min(elsewhere.hits, elsewhere.tries) + ofCategory * categoryTrials) / (elsewhere.tries + categoryTrials);
  const worth = Math.min(offerTrials, leastTrials + elsewhere.tries);
  return {
    a: Math.min(here.hits, here.tries) + ofOffer * worth,
    b: Math.max(0, here.tries - here.hits) + (1 - ofOffer) * worth,
  };
}
