import { timeOf } from '../platform/lib/time-zone.ts';
import type { Standing } from './standing.ts';

/** Whether a campaign is shown, and what prevents it (docs/reference/budgets-and-goals.md#delivery-state). */
export const deliveryStates = [
  'delivering',
  'limited',
  'exhausted',
  'paused',
  'stopped',
  'scheduled',
  'ended',
] as const;

export type DeliveryState = (typeof deliveryStates)[number];

/** The parts of a campaign that decide about its state without its budgets. */
export type CampaignStatus = {
  active: boolean;
  isStopped: boolean;
  isRemoved: boolean;
  schedule: { start_at?: string; end_at?: string };
  /** Publishers that may show it. */
  publisherIds: readonly number[];
};

/** How far a campaign may be ahead of its pacing plan before it counts as limited (share of the limit). */
const planTolerance = 0.02;

/** State of a campaign. `limits`: its budgets and total caps in their current periods. */
export function deliveryStateOf(status: CampaignStatus, limits: readonly Standing[], nowMs: number): DeliveryState {
  const { start_at: startAt, end_at: endAt } = status.schedule;
  if (status.isStopped) return 'stopped';
  if (status.isRemoved || (timeOf(endAt) ?? Number.POSITIVE_INFINITY) <= nowMs) return 'ended';
  if (!status.active) return 'paused';
  if ((timeOf(startAt) ?? Number.NEGATIVE_INFINITY) > nowMs) return 'scheduled';
  const exhausted = limits.filter((limit) => limit.exhausted);
  if (exhausted.some(({ publisherId }) => publisherId === null)) return 'exhausted';
  const closed = new Set(exhausted.map(({ publisherId }) => publisherId));
  const { publisherIds } = status;
  if (publisherIds.length > 0 && publisherIds.every((id) => closed.has(id))) return 'exhausted';
  return closed.size > 0 || limits.some(isHeldBack) ? 'limited' : 'delivering';
}

/** Whether open answers leave no room for another event, or the campaign is ahead of its pacing plan. */
function isHeldBack({ limit, spent, reserved, nextCost, planned }: Standing): boolean {
  const used = spent + reserved;
  return used + nextCost > limit || (planned !== null && used - planned > planTolerance * limit);
}
