import type { Slots } from '../../catalog/experiments.ts';
import { experimentSlots } from '../../catalog/experiments.ts';

/** An arm with its share of the traffic, from 0 to 1. */
type ArmShare = { key: string; share: number };

type Wanted = {
  arms: readonly ArmShare[];
  /** Gets the users of arms that are no more; null: they are outside. */
  control: string | null;
  /** Slots of other experiments of the layer. */
  taken: readonly Slots[];
};

/**
 * Gives arms their slots, and moves as few users as it can: an arm that grows takes users from outside, one that
 * shrinks gives users back. Users of an arm that is no more go to the control; new arms take them where nobody else is
 * left.
 * @returns null: the layer has not so many free slots
 */
export function allocate(before: readonly Slots[], { arms, control, taken }: Wanted): Slots[] | null {
  const owners: (string | null)[] = Array(experimentSlots).fill(null);
  const blocked = new Set(taken.flatMap(slotsIn));
  const known = new Set(arms.map(({ key }) => key));
  const orphans: number[] = [];
  for (const slots of before)
    for (const slot of slotsIn(slots)) {
      if (blocked.has(slot)) continue;
      if (known.has(slots.arm)) owners[slot] = slots.arm;
      else if (control !== null) orphans.push(slot);
    }
  const orphaned = new Set(orphans);
  const wanted = new Map(arms.map(({ key, share }) => [key, Math.round(share * experimentSlots)]));
  for (const [arm, count] of wanted) shrink(owners, arm, count);
  const free = owners.flatMap((owner, slot) =>
    owner === null && !blocked.has(slot) && !orphaned.has(slot) ? [slot] : [],
  );
  const available = [...free, ...orphans];
  for (const [arm, count] of wanted) {
    const missing = count - owners.filter((owner) => owner === arm).length;
    if (missing > available.length + roundingSlots) return null;
    for (const slot of available.splice(0, Math.max(0, missing))) owners[slot] = arm;
  }
  const left = new Set(available);
  for (const slot of orphans) if (left.has(slot)) owners[slot] = control;
  return rangesOf(owners);
}

/** Shares such as thirds may round up to a few slots more than there are. */
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
