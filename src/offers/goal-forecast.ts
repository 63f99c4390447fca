import type { CampaignGoal, CampaignRules } from '../catalog/rules.ts';
import type { Publisher, Snapshot } from '../catalog/types.ts';
import { eligibilityOf } from '../decision/draft-eligibility.ts';
import type { DecisionContext } from '../decision/types.ts';
import type { Model } from '../learning/model.ts';
import { relevantProperties, scopedRateOf, scopeOf } from '../learning/score.ts';
import type { View, Warning } from '../management/resource.ts';
import { hourMs } from '../platform/lib/time.ts';
import { timeOf } from '../platform/lib/time-zone.ts';
import { problem } from '../platform/problem.ts';
import type { RecentSessions } from './pages/campaigns/recent-sessions.ts';

/** Maximum number of requests for which rates are computed in a forecast. */
const maxRated = 200;

type ForecastSources = { publisher: Publisher; snapshot: Snapshot; model: Model; recent: RecentSessions };

/**
 * Returns warnings about a campaign goal if its deadline has passed, or if a forecast shows that it cannot be reached
 * in time. The forecast uses recent requests that match the campaign's targeting, hours and conditions.
 */
export async function goalWarnings(
  row: View,
  delivered: number,
  sources: ForecastSources,
  nowMs: number,
): Promise<Warning[]> {
  const goal = row.goal as CampaignGoal | null;
  if (goal === null || row.active !== true || delivered >= goal.count) return [];
  const leftMs = (timeOf(goal.by) ?? 0) - nowMs;
  if (leftMs <= 0) return [{ path: '/goal/by', message: problem('goalOver') }];
  const { contexts, share } = await sources.recent(sources.publisher.id);
  if (contexts.length === 0) return [];
  const isEligible = eligibilityOf(
    { rules: row.rules as CampaignRules, isLoyalty: row.is_loyalty === true },
    sources.publisher,
  );
  const eligible = contexts.filter(isEligible);
  const sinceMs = contexts.reduce((earliest, context) => Math.min(earliest, context.nowMs), nowMs - hourMs);
  const perMs = eligible.length / share / (nowMs - sinceMs);
  const possible = delivered + Math.floor(perMs * leftMs * rateOf(Number(row.id), goal.metric, eligible, sources));
  if (possible >= goal.count) return [];
  return [
    {
      path: '/goal/count',
      message: problem('goalImpossible', { possible }),
    },
  ];
}

/** Returns the expected rate per impression of the campaign's best offer, at the first position. */
function rateOf(
  campaignId: number,
  metric: CampaignGoal['metric'],
  contexts: readonly DecisionContext[],
  { publisher, snapshot, model }: ForecastSources,
): number {
  if (metric === 'impressions') return 1;
  const offers = snapshot.offersByCampaign.get(campaignId) ?? [];
  const rated = contexts.slice(0, maxRated);
  const rates = rated.map((context) => {
    const scope = scopeOf(model, publisher.id, context.placement, relevantProperties(model, context, publisher));
    const of = offers.map((offer) => {
      const click = Math.min(1, scopedRateOf(scope.click, offer).mean);
      return metric === 'clicks' ? click : click * Math.min(1, scopedRateOf(scope.conversion, offer).mean);
    });
    return Math.max(0, ...of);
  });
  return rates.length === 0 ? 0 : rates.reduce((sum, rate) => sum + rate, 0) / rates.length;
}
