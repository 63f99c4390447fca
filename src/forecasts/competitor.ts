import type { Hours } from '../budgets/caps.ts';
import type { CapMetric, CapPeriod } from '../catalog/rules.ts';
import type { Campaign, Offer, Publisher } from '../catalog/types.ts';
import { buildIndex } from '../decision/build-index.ts';
import { indexOf } from '../decision/decide.ts';
import { rulesOfDraft } from '../decision/draft-rules.ts';
import { timeOf } from '../platform/lib/time-zone.ts';
import type { ForecastCampaign } from './engine/types.ts';

/** Campaign as it would be served: with the values to forecast, and the offers to show. */
export type Draft = {
  campaign: Campaign;
  offers: readonly Offer[];
  /** Usage in the current period of each total cap, as a count or, for budgets, an amount in millionths. */
  used: (metric: CapMetric, per: CapPeriod) => number;
  /** Time since which the campaign has been shown with these values, or null if it has not. */
  liveSinceMs: number | null;
  /** Events of the campaign in recent weeks. */
  recent: ForecastCampaign['recent'];
  delivered: ForecastCampaign['delivered'];
};

/** Campaign among its competitors: the publisher, with an index that contains the campaign's offers. */
export type Competitor = { publisher: Publisher; campaign: ForecastCampaign; schedule: Hours | null };

type CompetitorOptions = {
  timeZoneOf: (publisherId: number) => string;
  /** Whether decisions will be repeated. If not, the publisher's index stays as it is. */
  isRepeated: boolean;
};

/**
 * Replaces the stored campaign in a publisher's index with a draft. The indexed draft has no dates or caps, because the
 * simulation applies them.
 */
export function* competitorOf(
  draft: Draft,
  publisher: Publisher,
  { timeZoneOf, isRepeated }: CompetitorOptions,
): Generator<void, Competitor> {
  const { campaign, used, liveSinceMs, recent, delivered } = draft;
  const { frequency_caps: frequencyCaps = [], total_caps: totalCaps = [], pacing, schedule, ...rules } = campaign.rules;
  const { start_at: startAt, end_at: endAt, ...hours } = schedule ?? {};
  const provision = campaign.provisions.get(publisher.id);
  const own = {
    publisherId: publisher.id,
    active: true,
    payoutMicros: provision?.payoutMicros ?? null,
    priority: provision?.priority ?? null,
    frequencyCaps: null,
    totalCaps: null,
  };
  const served: Campaign = {
    ...campaign,
    active: true,
    stopped: null,
    goal: null,
    rules: { ...rules, schedule: hours },
    provisions: new Map([[publisher.id, own]]),
  };
  const offers = draft.offers.map((offer): Offer => ({ ...offer, active: true, stopped: null, campaign: served }));
  const current = indexOf(publisher);
  const others = current.offers.filter((offer) => offer.campaign.id !== campaign.id);
  const index = isRepeated ? yield* buildIndex({ publisher, offers: [...others, ...offers], timeZoneOf }) : current;
  const zone = timeZoneOf(campaign.publisherId);
  return {
    publisher: { ...publisher, index },
    schedule: rulesOfDraft(served, zone)?.hours ?? null,
    campaign: {
      id: campaign.id,
      offers,
      payout: own.payoutMicros === null ? campaign.payout : { ...campaign.payout, amountMicros: own.payoutMicros },
      startMs: timeOf(startAt) ?? Number.NEGATIVE_INFINITY,
      endMs: timeOf(endAt) ?? Number.POSITIVE_INFINITY,
      frequencyCaps: provision?.frequencyCaps ?? frequencyCaps,
      totalCaps: [...totalCaps, ...(provision?.totalCaps ?? [])],
      zone,
      pacing: pacing === undefined || pacing === 'as_fast' ? 'asap' : pacing,
      optOutDays: campaign.optOutDays,
      used,
      liveSinceMs,
      recent,
      delivered,
    },
  };
}
