import { minuteOfWeek } from '../../platform/lib/time-zone.ts';
import { type EligibilityIndex, requestValue } from '../eligibility.ts';
import type { DecisionContext } from '../types.ts';
import { type Bits, bitsWith, hasBit, intersect, subtract } from './bitset.ts';
import type { Candidate } from './compile.ts';
import { acceptedBy } from './dimension.ts';
import type { Exclusion } from './exclusion.ts';

/** The user's time zone where it is known, else the publisher's. */
export const userTimeZone = ({ timeZone }: EligibilityIndex, { geo }: DecisionContext): string =>
  geo.timeZone ?? timeZone;

const hourOfWeek = (timeZone: string, nowMs: number): string => String(Math.floor(minuteOfWeek(timeZone, nowMs) / 60));

/** A set that a request's candidates must be in, or with `negated` must not be in, and why the others are excluded. */
type IndexFilter = { bits: Bits; negated: boolean; exclusion: () => Exclusion };

/**
 * The filters that apply to a request, in the order of the rules.
 * @param relaxed dev or test mode: only what the request itself asks for applies
 */
function filtersOf(index: EligibilityIndex, context: DecisionContext, relaxed: boolean): IndexFilter[] {
  const filters: IndexFilter[] = [];
  const only = (bits: Bits, exclusion: () => Exclusion) => filters.push({ bits, negated: false, exclusion });
  const without = (bits: Bits, exclusion: () => Exclusion) => filters.push({ bits, negated: true, exclusion });
  const { campaignId } = context;
  if (campaignId !== null) {
    const bits = bitsWith(index.candidates.length, index.byCampaign.get(campaignId) ?? []);
    only(bits, () => ({ rule: 'campaign_id', campaignId }));
  }
  if (context.loyalty === 'none') without(index.loyalty, () => ({ rule: 'loyalty_not_wanted' }));
  if (context.loyalty === 'only') only(index.loyalty, () => ({ rule: 'loyalty_only' }));
  if (context.onlyWithCreative) only(index.withCreative, () => ({ rule: 'no_creative' }));
  if (context.surface === 'offerwall') only(index.offerwall, () => ({ rule: 'not_on_offerwall' }));
  if (relaxed) return filters;
  if (context.userKey === null && index.needsIdentity !== null)
    without(index.needsIdentity, () => ({ rule: 'no_identity' }));
  for (const { key, dimension } of index.dimensions) {
    const value = requestValue(key, context);
    only(acceptedBy(dimension, value), () => ({ rule: 'targeting', key, value }));
  }
  for (const { zone, dimension } of index.hours) {
    const timeZone = zone ?? userTimeZone(index, context);
    only(acceptedBy(dimension, hourOfWeek(timeZone, context.nowMs)), () => ({ rule: 'hours', timeZone }));
  }
  return filters;
}

/** The candidates that pass all index filters; what remains are the post-filters of each. */
export function passIndexFilters(index: EligibilityIndex, context: DecisionContext, relaxed: boolean): Bits {
  const passing = index.all.slice();
  for (const { bits, negated } of filtersOf(index, context, relaxed)) {
    if (negated) subtract(passing, bits);
    else intersect(passing, bits);
  }
  return passing;
}

/** All index filters that exclude a candidate, in the order of the rules. */
export const indexExclusions = (
  candidate: Candidate,
  index: EligibilityIndex,
  context: DecisionContext,
  relaxed: boolean,
): Exclusion[] =>
  filtersOf(index, context, relaxed)
    .filter(({ bits, negated }) => hasBit(bits, candidate.index) === negated)
    .map(({ exclusion }) => exclusion());

/** For each candidate, the first index filter that excludes it, or null: the same as `passIndexFilters`, one by one. */
export function indexExclusionOf(
  index: EligibilityIndex,
  context: DecisionContext,
  relaxed: boolean,
): (candidate: Candidate) => Exclusion | null {
  const filters = filtersOf(index, context, relaxed);
  return (candidate) =>
    filters.find(({ bits, negated }) => hasBit(bits, candidate.index) === negated)?.exclusion() ?? null;
}
