import { experimentSlots, type Slots } from '../../catalog/types.ts';

/** An arm and its share of the traffic, from 0 to 1. */
type ArmShare = { key: string; share: number };

type Wanted = {
  arms: readonly ArmShare[];
  /** Arm that receives the users of removed arms. If null, those users leave the experiment. */
  control: string | null;
  /** Slots that other experiments in the layer use. */
  blockedSlots: readonly Slots[];
};

/**
 * Assigns slots to arms so that as few users as possible change arms:
 * - A growing arm takes users from outside the experiment, and a shrinking arm releases users.
 * - Users of a removed arm move to the control.
 * - New arms take users from the control only if no free slots are left.
 * @returns null if the layer has too few free slots
 */
export function allocate(before: readonly Slots[], { arms, control, blockedSlots }: Wanted): Slots[] | null {
  const owners: (string | null)[] = Array(experimentSlots).fill(null);
  const blocked = new Set(blockedSlots.flatMap(slotsIn));
  const armKeys = new Set(arms.map(({ key }) => key));
  const orphans: number[] = [];
  for (const slots of before)
    for (const slot of slotsIn(slots)) {
      if (blocked.has(slot)) continue;
      if (armKeys.has(slots.arm)) owners[slot] = slots.arm;
      else if (control !== null) orphans.push(slot);
    }
  const orphaned = new Set(orphans);
  const slotCounts = new Map(arms.map(({ key, share }) => [key, Math.round(share * experimentSlots)]));
  for (const [arm, count] of slotCounts) shrink(owners, arm, count);
  const free = owners.flatMap((owner, slot) =>
    owner === null && !blocked.has(slot) && !orphaned.has(slot) ? [slot] : [],
  );
  const available = [...free, ...orphans];
  for (const [arm, count] of slotCounts) {
    const missing = count - owners.filter((owner) => owner === arm).length;
    if (missing > available.length + roundingSlots) return null;
    for (const slot of available.splice(0, Math.max(0, missing))) owners[slot] = arm;
  }
  const remaining = new Set(available);
  for (const slot of orphans) if (remaining.has(slot)) owners[slot] = control;
  return rangesOf(owners);
}

/** Number of slots that may be missing. Rounding shares such as thirds can require a few more slots than exist. */
const roundingSlots = 5;

const slotsIn = ({ from, to }: Slots): number[] => Array.from({ length: to - from }, (_, at) => from + at);

function shrink(owners: (string | null)[], arm: string, count: number): void {
  const own = owners.flatMap((owner, slot) => (owner === arm ? [slot] : []));
  for (const slot of own.slice(count)) owners[slot] = null;
}

function rangesOf(owners: readonly (string | null)[]): Slots[] {
  const ranges: Slots[] = [];
  for (const [slot, arm] of owners.entries()) {
    const last = ranges.at(-1);
    if (arm === null) continue;
    if (last?.arm === arm && last.to === slot) last.to = slot + 1;
    else ranges.push({ from: slot, to: slot + 1, arm });
  }
  return ranges;
}
