import { activeCapsOf, ownTotals } from '../budgets/caps.ts';
import { findStandings } from '../budgets/standing.ts';
import { blankOffer } from '../catalog/provisioning.ts';
import { type CampaignGoal, type CampaignRules, type PayoutKind, toGoal } from '../catalog/rules.ts';
import type { Campaign, Offer, Publisher, Snapshot } from '../catalog/types.ts';
import type { Model } from '../learning/model.ts';
import type { Values } from '../management/resource.ts';
import type { Executor } from '../platform/db/pool.ts';
import { dayMs, hourMs } from '../platform/lib/time.ts';
import { timeOf } from '../platform/lib/time-zone.ts';
import { toMicros } from '../platform/money.ts';
import { campaignEvents } from '../reports/activity.ts';
import type { Draft } from './competitor.ts';
import { weeksSince } from './engine/calibrate.ts';
import type { ForecastCampaign } from './engine/types.ts';

/** ID of a campaign that is not stored. It is outside the range of stored IDs. */
const unsavedId = 2 ** 31 - 1;

/** Time for which a campaign must have been shown unchanged before the effect of its frequency caps can be observed. */
const steadyMs = 7 * dayMs;

/** Period of the campaign's own events. */
const recentMs = 28 * dayMs;

export type DraftSources = { snapshot: Snapshot; publisher: Publisher; model: Model; nowMs: number };

/**
 * Builds the draft of a campaign from its values in API format.
 * @param stored the campaign row in the database, or null for a campaign that is not stored
 */
export async function draftOf(
  executor: Executor,
  values: Values,
  stored: Values | null,
  { snapshot, publisher, model, nowMs }: DraftSources,
): Promise<{ draft: Draft; hasOffers: boolean }> {
  const id = stored === null ? unsavedId : Number(stored.id);
  const ownOffers = publisher.index.offers.filter(({ campaign }) => campaign.id === id);
  const active = ownOffers.filter((offer) => offer.active);
  const offers: readonly Offer[] =
    active.length > 0 ? active : ownOffers.length > 0 ? ownOffers : [unsavedOffer(publisher)];
  const campaign = campaignOf(values, id, (offers[0] as Offer).campaign, publisher);
  const { currency } = campaign.payout;
  const untilMs = Math.floor(nowMs / hourMs) * hourMs;
  const eventsFrom = (fromMs: number, toMs = untilMs): ReturnType<typeof campaignEvents> =>
    campaignEvents(executor, { publisherId: publisher.id, campaignId: id, currency }, { fromMs, untilMs: toMs });
  const recent = stored === null ? { impressions: 0, clicks: 0, conversions: 0 } : await eventsFrom(untilMs - recentMs);
  const liveSinceMs = stored !== null && values === stored ? liveSince(campaign, active.length > 0, nowMs) : null;
  const changedMs = timeOf(String(stored?.updated_at ?? '')) ?? Number.POSITIVE_INFINITY;
  const steadySinceMs = liveSinceMs === null ? untilMs : Math.ceil(Math.max(liveSinceMs, changedMs) / hourMs) * hourMs;
  const delivered: ForecastCampaign['delivered'][number][] = [];
  for (const week of weeksSince(steadySinceMs, untilMs))
    delivered.push({ ...week, impressions: (await eventsFrom(week.fromMs, week.untilMs)).impressions });
  return {
    draft: {
      campaign,
      offers: offers.map((offer): Offer => ({ ...offer, campaign })),
      used: stored === null ? () => 0 : await usageOf(executor, campaign, { snapshot, publisher, model, nowMs }),
      liveSinceMs,
      recent,
      delivered,
    },
    hasOffers: ownOffers.length > 0,
  };
}

/** Placeholder offer for a campaign without offers. */
const unsavedOffer = ({ id }: Publisher): Offer => ({
  ...blankOffer(unsavedId, unsavedId, id),
  offerwallEnabled: true,
});

function campaignOf(values: Values, id: number, base: Campaign, { index }: Publisher): Campaign {
  const advertiserId = Number(values.advertiser_id ?? 0);
  const sibling = index.offers.find(({ campaign }) => campaign.advertiserId === advertiserId)?.campaign;
  return {
    ...base,
    id,
    advertiserId,
    advertiserName: sibling?.advertiserName ?? base.advertiserName,
    category: String(values.category ?? ''),
    tags: Array.isArray(values.tags) ? values.tags.map(String) : [],
    active: values.active === true,
    priority: Number(values.priority),
    weight: Number(values.weight),
    ranking: values.ranking === 'fixed' ? 'fixed' : 'learned',
    isLoyalty: values.is_loyalty === true,
    optOutDays: values.opt_out_days === null ? null : Number(values.opt_out_days),
    overspendPercent: Number(values.overspend_percent),
    goal: toGoal(values.goal as CampaignGoal | null, (values.goal_since ?? null) as string | null),
    payout: {
      kind: values.payout_kind as PayoutKind,
      amountMicros: toMicros(Number(values.payout_amount)),
      currency: String(values.payout_currency),
    },
    rules: values.rules as CampaignRules,
  };
}

/** Returns the time since which a campaign has been shown, or null if it is not shown or started only recently. */
function liveSince(campaign: Campaign, hasActiveOffer: boolean, nowMs: number): number | null {
  const { active, stopped, activatedAtMs, rules } = campaign;
  if (!active || stopped !== null || !hasActiveOffer || activatedAtMs === null) return null;
  const sinceMs = Math.max(activatedAtMs, timeOf(rules.schedule?.start_at) ?? activatedAtMs);
  return nowMs - sinceMs < steadyMs ? null : sinceMs;
}

/** Loads how much of each total cap is used in its current period. */
async function usageOf(
  executor: Executor,
  campaign: Campaign,
  { snapshot, publisher, model, nowMs }: DraftSources,
): Promise<Draft['used']> {
  const provisioned = activeCapsOf(snapshot).totals.filter(
    (total) => total.campaignId === campaign.id && total.publisherId === publisher.id,
  );
  const standings = await findStandings(executor, {
    totals: [...ownTotals(campaign, publisher), ...provisioned],
    nowMs,
    model,
    rulesOf: () => null,
  });
  const limits = standings.get(campaign.id)?.limits ?? [];
  return (metric, per) => {
    const standing = limits.find((limit) => limit.metric === metric && limit.per === per);
    return standing === undefined ? 0 : (standing.spent + standing.reserved) * (metric === 'budget' ? 1_000_000 : 1);
  };
}
