import { minuteOfWeek } from '../../platform/lib/time-zone.ts';
import type { Objection } from '../explain/exclusions.ts';
import type { DecisionContext } from '../types.ts';
import { type Bits, drop, hasBit, keep } from './bitset.ts';
import type { Candidate } from './compile.ts';
import { bitsOf, bitsWith } from './dimension.ts';
import { type EligibilityIndex, requestValue } from './eligibility.ts';

/** The zone of the visitor where it is known, else the publisher's. */
export const visitorZone = ({ timeZone }: EligibilityIndex, { geo }: DecisionContext): string =>
  geo.timeZone ?? timeZone;

const hourOfWeek = (index: EligibilityIndex, context: DecisionContext, zone: string | null): string =>
  String(Math.floor(minuteOfWeek(zone ?? visitorZone(index, context), context.nowMs) / 60));

/** One set that a request takes from or leaves out, and what to say of whom it shuts out. */
type Gate = { bits: Bits; inverted: boolean; objection: () => Objection };

/**
 * The sets that hold for a request, in the order of the rules.
 * @param relaxed dev or test mode: only what the request itself asks for counts
 */
function gatesOf(index: EligibilityIndex, context: DecisionContext, relaxed: boolean): Gate[] {
  const gates: Gate[] = [];
  const add = (bits: Bits, objection: () => Objection, inverted = false) => gates.push({ bits, inverted, objection });
  const { campaignId } = context;
  if (campaignId !== null)
    add(bitsWith(index.candidates.length, index.byCampaign.get(campaignId) ?? []), () => ({
      rule: 'campaign_id',
      campaignId,
    }));
  if (context.loyalty === 'none') add(index.loyal, () => ({ rule: 'loyalty_not_wanted' }), true);
  if (context.loyalty === 'only') add(index.loyal, () => ({ rule: 'loyalty_only' }));
  if (context.onlyWithCreative) add(index.pictured, () => ({ rule: 'no_creative' }));
  if (context.surface === 'offerwall') add(index.offerwall, () => ({ rule: 'not_on_offerwall' }));
  if (relaxed) return gates;
  if (context.userKey === null && index.needsIdentity !== null)
    add(index.needsIdentity, () => ({ rule: 'no_identity' }), true);
  for (const { key, dimension } of index.dimensions) {
    const value = requestValue(key, context);
    add(bitsOf(dimension, value), () => ({ rule: 'targeting', key, value }));
  }
  for (const { zone, dimension } of index.hours)
    add(bitsOf(dimension, hourOfWeek(index, context, zone)), () => ({
      rule: 'hours',
      zone: zone ?? visitorZone(index, context),
    }));
  return gates;
}

/** Survivors of late, for each index; of requests for one campaign none are kept. */
const known = new WeakMap<EligibilityIndex, { gates: readonly Gate[]; bits: Bits }[]>();

/** Kinds of requests whose survivors are kept, for each index (count). */
const maxKinds = 32;

/**
 * The candidates that the index lets through; what remains to be asked of each are its residual rules. Requests of one
 * kind
 * get the same object, not to be changed: what is worked out of it can be kept by it.
 */
export function survivors(index: EligibilityIndex, context: DecisionContext, relaxed: boolean): Bits {
  const gates = gatesOf(index, context, relaxed);
  if (context.campaignId !== null) return passing(index, gates);
  let kinds = known.get(index);
  if (kinds === undefined) {
    kinds = [];
    known.set(index, kinds);
  }
  for (const kind of kinds) if (isSame(kind.gates, gates)) return kind.bits;
  if (kinds.length >= maxKinds) kinds.shift();
  const bits = passing(index, gates);
  kinds.push({ gates, bits });
  return bits;
}

function passing(index: EligibilityIndex, gates: readonly Gate[]): Bits {
  const bits = index.everyone.slice();
  for (const gate of gates) {
    if (gate.inverted) drop(bits, gate.bits);
    else keep(bits, gate.bits);
  }
  return bits;
}

function isSame(a: readonly Gate[], b: readonly Gate[]): boolean {
  if (a.length !== b.length) return false;
  for (let at = 0; at < a.length; at++) {
    const [one, other] = [a[at] as Gate, b[at] as Gate];
    if (one.bits !== other.bits || one.inverted !== other.inverted) return false;
  }
  return true;
}

/** For each candidate, the first gate that shuts it out, or null: the same gates as `survivors`, one by one. */
export function gateObjections(
  index: EligibilityIndex,
  context: DecisionContext,
  relaxed: boolean,
): (candidate: Candidate) => Objection | null {
  const gates = gatesOf(index, context, relaxed);
  return (candidate) =>
    gates.find(({ bits, inverted }) => hasBit(bits, candidate.index) === inverted)?.objection() ?? null;
}
