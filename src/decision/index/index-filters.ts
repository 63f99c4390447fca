import type { Block } from '../../catalog/types.ts';
import { minuteOfWeek } from '../../platform/lib/time-zone.ts';
import type { AudienceIndex, Bits, Dimension, EligibilityIndex, Exclusion, IndexedKey } from '../eligibility.ts';
import type { DecisionContext } from '../types.ts';
import type { Candidate } from './compile.ts';

/** Returns the user's time zone or, if it is unknown, the publisher's. */
export const userTimeZone = ({ timeZone }: EligibilityIndex, { geo }: DecisionContext): string =>
  geo.timeZone ?? timeZone;

const hourOfWeek = (timeZone: string, nowMs: number): string => String(Math.floor(minuteOfWeek(timeZone, nowMs) / 60));

/**
 * Set to which candidates must belong (or must not belong, if `negated`), and the exclusion of candidates that fail.
 */
type IndexFilter = { bits: Bits; negated: boolean; exclusion: (candidate: Candidate) => Exclusion };

/**
 * Returns the filters that apply to a request, in rule order.
 * @param relaxed whether the request is in dev or test mode, in which only the restrictions in the request itself apply
 */
function filtersOf(index: EligibilityIndex, context: DecisionContext, relaxed: boolean): IndexFilter[] {
  const filters: IndexFilter[] = [];
  const only = (bits: Bits, exclusion: IndexFilter['exclusion']) => filters.push({ bits, negated: false, exclusion });
  const without = (bits: Bits, exclusion: IndexFilter['exclusion']) => filters.push({ bits, negated: true, exclusion });
  const { campaignId } = context;
  if (campaignId !== null) {
    const bits = bitsWith(index.candidates.length, index.byCampaign.get(campaignId) ?? []);
    only(bits, () => ({ rule: 'campaign_id', campaignId }));
  }
  if (context.loyalty === 'none') without(index.loyalty, () => ({ rule: 'loyalty_not_wanted' }));
  if (context.loyalty === 'only') only(index.loyalty, () => ({ rule: 'loyalty_only' }));
  if (context.onlyWithCreative) only(index.withCreative, () => ({ rule: 'no_creative' }));
  if (context.surface === 'offerwall') only(index.offerwall, () => ({ rule: 'not_on_offerwall' }));
  const blocked = index.blockedAt.get(context.placement);
  if (blocked !== undefined)
    without(blocked.bits, ({ offer }) => ({ rule: 'blocked_by_publisher', ...(blocked.blockOf(offer) as Block) }));
  if (relaxed) return filters;
  if (context.userKey === null && index.needsIdentity !== null)
    without(index.needsIdentity, () => ({ rule: 'no_identity' }));
  for (const { key, dimension } of index.dimensions) {
    const value = requestValue(key, context, index);
    const bits = key === 'languages' ? acceptedByLanguage(dimension, value) : acceptedBy(dimension, value);
    only(bits, () => ({ rule: 'targeting', key, value }));
  }
  if (index.audiences !== null) {
    const { audiences } = context;
    only(acceptedByAudiences(index.audiences, audiences), () => ({ rule: 'audience', audiences }));
  }
  for (const { zone, dimension } of index.hours) {
    const timeZone = zone ?? userTimeZone(index, context);
    only(acceptedBy(dimension, hourOfWeek(timeZone, context.nowMs)), () => ({ rule: 'hours', timeZone }));
  }
  return filters;
}

/** Returns the candidates that pass all index filters. The caller still has to apply the post-filters. */
export function passIndexFilters(index: EligibilityIndex, context: DecisionContext, relaxed: boolean): Bits {
  const passing = index.all.slice();
  for (const { bits, negated } of filtersOf(index, context, relaxed)) {
    if (negated) subtract(passing, bits);
    else intersect(passing, bits);
  }
  return passing;
}

/** Returns the exclusions of a candidate by all index filters, in rule order. */
export const indexExclusions = (
  candidate: Candidate,
  index: EligibilityIndex,
  context: DecisionContext,
  relaxed: boolean,
): Exclusion[] =>
  filtersOf(index, context, relaxed)
    .filter(({ bits, negated }) => hasBit(bits, candidate.index) === negated)
    .map(({ exclusion }) => exclusion(candidate));

/**
 * Returns the exclusion by the first index filter that a candidate fails, or null if it passes all. Gives the same
 * result as `passIndexFilters`, but for a single candidate.
 */
export function indexExclusionOf(
  index: EligibilityIndex,
  context: DecisionContext,
  relaxed: boolean,
): (candidate: Candidate) => Exclusion | null {
  const filters = filtersOf(index, context, relaxed);
  return (candidate) =>
    filters.find(({ bits, negated }) => hasBit(bits, candidate.index) === negated)?.exclusion(candidate) ?? null;
}

/** Returns the value that a request has for an indexed property. */
function requestValue(key: IndexedKey, context: DecisionContext, index: EligibilityIndex): string | null {
  switch (key) {
    case 'countries':
      return context.geo.country;
    case 'regions':
      return context.geo.region;
    case 'placements':
      return context.placement;
    case 'platforms':
      return context.platform;
    case 'devices':
      return context.device;
    case 'os':
      return context.os;
    case 'languages':
      return context.language ?? index.language;
    default:
      return context.browser;
  }
}

const acceptedBy = ({ byValue, otherwise }: Dimension, value: string | null): Bits =>
  (value === null ? undefined : byValue.get(value)) ?? otherwise;

/**
 * Returns the candidates whose audience rules accept the user. Such a candidate includes no audience or at least one of
 * the user's, and excludes none of the user's.
 */
function acceptedByAudiences({ withoutInclude, byKey }: AudienceIndex, audiences: readonly string[]): Bits {
  if (audiences.length === 0) return withoutInclude;
  const bits = withoutInclude.slice();
  for (const key of audiences) {
    const included = byKey.get(key)?.included;
    if (included !== undefined) unite(bits, included);
  }
  for (const key of audiences) {
    const excluded = byKey.get(key)?.excluded;
    if (excluded !== undefined) subtract(bits, excluded);
  }
  return bits;
}

/**
 * Returns the candidates that accept a language. Uses the most specific of the language's tags that occurs in any list:
 * `pt-BR`, or else `pt`.
 */
function acceptedByLanguage({ byValue, otherwise }: Dimension, value: string | null): Bits {
  for (let tag = value?.toLowerCase() ?? ''; tag !== ''; tag = tag.slice(0, Math.max(0, tag.lastIndexOf('-')))) {
    const bits = byValue.get(tag);
    if (bits !== undefined) return bits;
  }
  return otherwise;
}

export const emptyBits = (size: number): Bits => new Uint32Array((size + 31) >>> 5);

export function fullBits(size: number): Bits {
  const bits = emptyBits(size).fill(0xffffffff);
  if ((size & 31) !== 0) bits[bits.length - 1] = 2 ** (size & 31) - 1;
  return bits;
}

export function bitsWith(size: number, members: Iterable<number>): Bits {
  const bits = emptyBits(size);
  for (const index of members) setBit(bits, index);
  return bits;
}

export const setBit = (bits: Bits, index: number): void => {
  bits[index >>> 5] = (bits[index >>> 5] as number) | (1 << (index & 31));
};

export const clearBit = (bits: Bits, index: number): void => {
  bits[index >>> 5] = (bits[index >>> 5] as number) & ~(1 << (index & 31));
};

export const hasBit = (bits: Bits, index: number): boolean =>
  (((bits[index >>> 5] as number) >>> (index & 31)) & 1) === 1;

/** Removes all members from `bits` that are not in `other`. */
function intersect(bits: Bits, other: Bits): void {
  for (let word = 0; word < bits.length; word++) bits[word] = (bits[word] as number) & (other[word] as number);
}

/** Adds all members of `other` to `bits`. */
function unite(bits: Bits, other: Bits): void {
  for (let word = 0; word < bits.length; word++) bits[word] = (bits[word] as number) | (other[word] as number);
}

/** Removes all members of `other` from `bits`. */
export function subtract(bits: Bits, other: Bits): void {
  for (let word = 0; word < bits.length; word++) bits[word] = (bits[word] as number) & ~(other[word] as number);
}

/**
 * Returns the first member in the range from `from` (inclusive) to `to` (exclusive), after skipping `skipped` members.
 * Returns -1 if none exists.
 */
export function nextBit(bits: Bits, from: number, to: number, skipped = 0): number {
  if (from >= to) return -1;
  let word = from >>> 5;
  let rest = (bits[word] as number) & (-1 << (from & 31));
  let remaining = skipped;
  for (let count = countOnes(rest); count <= remaining; count = countOnes(rest)) {
    remaining -= count;
    word += 1;
    if (word << 5 >= to) return -1;
    rest = bits[word] as number;
  }
  for (; remaining > 0; remaining--) rest &= rest - 1; // without the lowest member
  const member = (word << 5) + 31 - Math.clz32(rest & -rest);
  return member < to ? member : -1;
}

/** Counts the members in the range from `from` (inclusive) to `to` (exclusive). */
export function countBits(bits: Bits, from: number, to: number): number {
  if (from >= to) return 0;
  const last = (to - 1) >>> 5;
  let count = -countOnes((bits[from >>> 5] as number) & ~(-1 << (from & 31)));
  for (let word = from >>> 5; word <= last; word++) count += countOnes(bits[word] as number);
  return (to & 31) === 0 ? count : count - countOnes((bits[last] as number) & (-1 << (to & 31)));
}

/** Counts the one bits of a 32-bit word in parallel (Hacker's Delight, 5-1). */
function countOnes(word: number): number {
  let ones = word - ((word >>> 1) & 0x55555555);
  ones = (ones & 0x33333333) + ((ones >>> 2) & 0x33333333);
  return Math.imul((ones + (ones >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
