import type { FrequencyCap } from '../../catalog/rules/rules.ts';
import type { Offer } from '../../catalog/snapshot/types.ts';
import type { Candidate, CompiledTotalCap } from '../index/compile.ts';
import type { CapUse, Exposure, Totals } from '../types.ts';

/**
 * The frequency cap a user has reached with an offer, if any. Windows roll: what is exactly as old as the window no
 * longer
 * counts. All caps of the campaign hold at once.
 */
export function reachedCap(
  caps: readonly FrequencyCap[],
  offer: Offer,
  exposures: readonly Exposure[],
  nowMs: number,
): { cap: FrequencyCap; seen: number } | null {
  for (const cap of caps) {
    const seen = countExposures(cap, offer, exposures, nowMs);
    if (seen >= cap.limit) return { cap, seen };
  }
  return null;
}

function countExposures(
  { scope, event, window_minutes }: FrequencyCap,
  offer: Offer,
  exposures: readonly Exposure[],
  nowMs: number,
): number {
  const afterMs = window_minutes === null ? Number.NEGATIVE_INFINITY : nowMs - window_minutes * 60_000;
  let seen = 0;
  for (const exposure of exposures) {
    if (exposure.event === event && exposure.atMs > afterMs && isInScope(scope, offer, exposure))
      seen += exposure.count ?? 1;
  }
  return seen;
}

function isInScope(scope: FrequencyCap['scope'], { id, campaign }: Offer, exposure: Exposure): boolean {
  if (scope === 'offer') return exposure.offerId === id;
  return scope === 'campaign' ? exposure.campaignId === campaign.id : exposure.advertiserId === campaign.advertiserId;
}

/** The total cap that showing the offer once more could pass, if any. */
export function spentCap({ rules, payout }: Candidate, totals: Totals): { cap: CompiledTotalCap; used: number } | null {
  for (const cap of rules.totalCaps) {
    const used = usedOf(cap, totals.get(cap.key));
    const next = cap.cap.metric === 'budget' ? priceOf(payout) : 1;
    if (used + next > cap.limit) return { cap, used };
  }
  return null;
}

export const usedOf = ({ cap }: CompiledTotalCap, use: CapUse | undefined): number => use?.[cap.metric][cap.per] ?? 0;

/**
 * What one paying event costs at most, in millionths; of a share of sales nobody knows it before, so the least that
 * counts.
 */
function priceOf({ kind, amountMicros }: Candidate['payout']): number {
  if (kind === 'cpm') return Math.max(1, amountMicros / 1000);
  return kind === 'cps' ? 1 : Math.max(1, amountMicros);
}
