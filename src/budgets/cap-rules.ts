import { maxCostMicros } from '../catalog/provisioning.ts';
import type { FrequencyCap } from '../catalog/rules.ts';
import type { Offer, Payout } from '../catalog/types.ts';
import { type CapUsage, type CompiledTotalCap, type Exposure, isHeld, type Totals } from './caps.ts';
import { exposureEvent } from './history/records.ts';

/**
 * The first frequency cap of the campaign that a user has reached, or null. Windows roll: an event exactly as old as
 * the window is outside of it.
 */
export function reachedFrequencyCap(
  caps: readonly FrequencyCap[],
  offer: Offer,
  exposures: readonly Exposure[],
  nowMs: number,
): { cap: FrequencyCap; count: number } | null {
  for (const cap of caps) {
    const count = countExposures(cap, offer, exposures, nowMs);
    if (count >= cap.limit) return { cap, count };
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
  const counted = exposureEvent(event);
  let count = 0;
  for (const exposure of exposures) {
    if (exposure.event === counted && exposure.atMs > afterMs && isInScope(scope, offer, exposure))
      count += exposure.count ?? 1;
  }
  return count;
}

function isInScope(scope: FrequencyCap['scope'], { id, campaign }: Offer, exposure: Exposure): boolean {
  if (scope === 'offer') return exposure.offerId === id;
  return scope === 'campaign' ? exposure.campaignId === campaign.id : exposure.advertiserId === campaign.advertiserId;
}

/**
 * A total cap that has no room. `used`: what happened and what is reserved; `reserved`: of it, what is only held for
 * answers in progress.
 */
export type ReachedTotalCap = {
  cap: CompiledTotalCap;
  used: number;
  reserved: number;
  /** There is room as soon as what is reserved comes back. */
  isWaiting: boolean;
};

/** The first total cap that one more impression of the offer could exceed, or null. */
export function reachedTotalCap(
  { rules, payout }: { rules: { totalCaps: readonly CompiledTotalCap[] }; payout: Payout },
  totals: Totals,
): ReachedTotalCap | null {
  for (const cap of rules.totalCaps) {
    const use = totals.get(cap.key);
    const used = usedOf(cap, use);
    const next = cap.cap.metric === 'budget' ? maxCostMicros(payout) : 1;
    if (used + next <= cap.limit) continue;
    const reserved = reservedOf(cap, use);
    return { cap, used, reserved, isWaiting: used - reserved + next <= cap.limit };
  }
  return null;
}

export const usedOf = ({ cap }: CompiledTotalCap, use: CapUsage | undefined): number =>
  use?.[cap.metric]?.[cap.per] ?? 0;

const reservedOf = ({ cap }: CompiledTotalCap, use: CapUsage | undefined): number =>
  isHeld(cap.metric) ? (use?.reserved?.[cap.metric]?.[cap.per] ?? 0) : 0;
