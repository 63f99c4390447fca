import { maxCostMicros } from '../catalog/provisioning.ts';
import type { FrequencyCap } from '../catalog/rules.ts';
import type { Offer, Payout } from '../catalog/types.ts';
import { type CapUsage, type CompiledTotalCap, type Exposure, isHeld, type Totals } from './caps.ts';
import { exposureEvent } from './history/records.ts';

/**
 * Returns the first frequency cap that the user has reached for this offer's campaign, or null. Windows are rolling. An
 * event exactly as old as the window is outside it.
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
 * Total cap that has no room for another impression. `used` is the cap usage including reservations. `reserved` is the
 * part of it that is held for served offers whose events have not arrived yet.
 */
export type ReachedTotalCap = {
  cap: CompiledTotalCap;
  used: number;
  reserved: number;
  /** Whether there will be room once the reserved part is released. */
  isWaiting: boolean;
};

/** Returns the first total cap that one more impression of the offer could exceed, or null. */
export function reachedTotalCap(
  { rules, payout }: { rules: { totalCaps: readonly CompiledTotalCap[] }; payout: Payout },
  totals: Totals,
): ReachedTotalCap | null {
  let key: string | null = null;
  let use: CapUsage | undefined;
  for (const cap of rules.totalCaps) {
    // The caps of a total come one after another.
    if (cap.key !== key) use = totals.get(cap.key);
    key = cap.key;
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
