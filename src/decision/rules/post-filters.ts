import { minuteOfWeek } from '../../platform/lib/time-zone.ts';
import { type Candidate, type Matcher, matchesValue } from '../index/compile.ts';
import type { EligibilityIndex } from '../index/eligibility.ts';
import type { Exclusion } from '../index/exclusion.ts';
import { userTimeZone } from '../index/index-filters.ts';
import { salts, uniform } from '../random.ts';
import type { DecisionInput, OptOuts } from '../types.ts';
import { reachedFrequencyCap, reachedTotalCap } from './caps.ts';
import { matchesCondition } from './conditions.ts';
import { pacingProbability } from './pacing.ts';

/**
 * The first rule beyond the index that excludes a candidate, or null. Post-filters apply in this order: start and end,
 * hours, cities and postal codes, conditions, opt-out, frequency caps, total caps, pacing.
 */
export function postFilter(candidate: Candidate, index: EligibilityIndex, input: DecisionInput): Exclusion | null {
  const { context, history } = input;
  const { rules, offer } = candidate;
  const optOut = optOutOf(history.optOuts, offer.campaign.id, context.nowMs);
  if (rules.indexed) return optOut;
  return (
    scheduleExclusion(candidate, index, input) ??
    placeExclusion('cities', rules.cities, context.geo.city) ??
    placeExclusion('postal_codes', rules.postalCodes, context.geo.postalCode?.replaceAll(' ', '') ?? null) ??
    (rules.conditions === null || matchesCondition(rules.conditions, context.custom) ? null : { rule: 'conditions' }) ??
    optOut ??
    capExclusion(candidate, input)
  );
}

/** All rules beyond the index that exclude a candidate, in the order in which `postFilter` applies them. */
export function postExclusions(candidate: Candidate, index: EligibilityIndex, input: DecisionInput): Exclusion[] {
  const { context, history, totals } = input;
  const { rules, offer } = candidate;
  const found: (Exclusion | null)[] = [
    scheduleExclusion(candidate, index, input),
    placeExclusion('cities', rules.cities, context.geo.city),
    placeExclusion('postal_codes', rules.postalCodes, context.geo.postalCode?.replaceAll(' ', '') ?? null),
    rules.conditions === null || matchesCondition(rules.conditions, context.custom) ? null : { rule: 'conditions' },
    optOutOf(history.optOuts, offer.campaign.id, context.nowMs),
  ];
  for (const cap of rules.frequencyCaps) {
    const reached = reachedFrequencyCap([cap], offer, history.exposures, context.nowMs);
    found.push(reached && { rule: 'frequency_cap', ...reached });
  }
  for (const cap of rules.totalCaps) {
    const reached = reachedTotalCap({ ...candidate, rules: { ...rules, totalCaps: [cap] } }, totals);
    found.push(reached && { rule: 'total_cap', ...reached });
  }
  found.push(pacingExclusion(candidate, input));
  return found.filter((exclusion) => exclusion !== null);
}

function scheduleExclusion(
  { rules: { startMs, endMs, hours } }: Candidate,
  index: EligibilityIndex,
  { context }: DecisionInput,
): Exclusion | null {
  const { nowMs } = context;
  if (nowMs < startMs) return { rule: 'not_started' };
  if (nowMs >= endMs) return { rule: 'ended' };
  if (hours === null || hours.wholeHours) return null;
  const timeZone = hours.zone ?? userTimeZone(index, context);
  const minute = minuteOfWeek(timeZone, nowMs);
  const isOpen = hours.windows.some(({ start, end }) => minute >= start && minute < end);
  return isOpen ? null : { rule: 'hours', timeZone };
}

const placeExclusion = (
  key: 'cities' | 'postal_codes',
  matcher: Matcher | null,
  value: string | null,
): Exclusion | null =>
  matcher === null || matchesValue(matcher, value?.toLowerCase() ?? null) ? null : { rule: 'targeting', key, value };

function optOutOf(optOuts: OptOuts, campaignId: number, nowMs: number): Exclusion | null {
  const untilS = optOuts[campaignId];
  if (untilS === undefined || (untilS !== null && untilS * 1000 <= nowMs)) return null;
  return { rule: 'opted_out', untilMs: untilS === null ? null : untilS * 1000 };
}

function capExclusion(candidate: Candidate, input: DecisionInput): Exclusion | null {
  const { context, history, totals } = input;
  const { rules, offer } = candidate;
  const frequency = reachedFrequencyCap(rules.frequencyCaps, offer, history.exposures, context.nowMs);
  if (frequency !== null) return { rule: 'frequency_cap', ...frequency };
  if (rules.totalCaps.length === 0) return null;
  const total = reachedTotalCap(candidate, totals);
  if (total !== null) return { rule: 'total_cap', ...total };
  return pacingExclusion(candidate, input);
}

function pacingExclusion({ rules, offer }: Candidate, { context, totals, seed }: DecisionInput): Exclusion | null {
  const probability = pacingProbability(rules, totals, context.nowMs);
  return uniform(seed, salts.pacing + offer.campaign.id) < probability ? null : { rule: 'pacing', probability };
}
