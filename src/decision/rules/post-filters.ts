import { reachedFrequencyCap, reachedTotalCap } from '../../budgets/cap-rules.ts';
import { pacingProbability } from '../../budgets/pacing.ts';
import { type Condition, compare } from '../../catalog/conditions.ts';
import { minuteOfWeek } from '../../platform/lib/time-zone.ts';
import type { EligibilityIndex, Exclusion } from '../eligibility.ts';
import { type Candidate, type Matcher, matchesValue } from '../index/compile.ts';
import { userTimeZone } from '../index/index-filters.ts';
import { salts, uniform } from '../random.ts';
import type { DecisionInput } from '../types.ts';

type Rule = (candidate: Candidate, index: EligibilityIndex, input: DecisionInput) => Exclusion | null;

/**
 * Rules that the index does not cover, in evaluation order: they start with the schedule and end with frequency caps
 * and pacing.
 */
const rulesInOrder: readonly Rule[] = [
  scheduleExclusion,
  ({ rules }, _index, { context }) => placeExclusion('cities', rules.cities, context.geo.city),
  ({ rules }, _index, { context }) =>
    placeExclusion('postal_codes', rules.postalCodes, context.geo.postalCode?.replaceAll(' ', '') ?? null),
  ({ rules: { conditions } }, _index, { context }) =>
    conditions === null || matchesCondition(conditions, context.custom) ? null : { rule: 'conditions' },
  optOutExclusion,
  frequencyCapExclusion,
  totalCapExclusion,
  pacingExclusion,
];

/** Returns the exclusion by the first post-filter that a candidate fails, or null. */
export function postFilter(candidate: Candidate, index: EligibilityIndex, input: DecisionInput): Exclusion | null {
  if (candidate.rules.indexed) return optOutExclusion(candidate, index, input);
  for (const rule of rulesInOrder) {
    const exclusion = rule(candidate, index, input);
    if (exclusion !== null) return exclusion;
  }
  return null;
}

/** Returns the exclusions by all post-filters that a candidate fails, in the order of `postFilter`. */
export const postExclusions = (candidate: Candidate, index: EligibilityIndex, input: DecisionInput): Exclusion[] =>
  rulesInOrder.flatMap((rule) =>
    withOneCapEach(rule, candidate).flatMap((variant) => rule(variant, index, input) ?? []),
  );

/**
 * Returns the variants of a candidate to check against a rule. Cap rules get one copy of the candidate per cap, so that
 * every reached cap is reported.
 */
function withOneCapEach(rule: Rule, candidate: Candidate): Candidate[] {
  const { rules } = candidate;
  if (rule === frequencyCapExclusion)
    return rules.frequencyCaps.map((cap) => ({ ...candidate, rules: { ...rules, frequencyCaps: [cap] } }));
  if (rule === totalCapExclusion)
    return rules.totalCaps.map((cap) => ({ ...candidate, rules: { ...rules, totalCaps: [cap] } }));
  return [candidate];
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

function optOutExclusion({ offer }: Candidate, _index: unknown, { context, history }: DecisionInput): Exclusion | null {
  const untilS = history.optOuts[offer.campaign.id];
  if (untilS === undefined || (untilS !== null && untilS * 1000 <= context.nowMs)) return null;
  return { rule: 'opted_out', untilMs: untilS === null ? null : untilS * 1000 };
}

function frequencyCapExclusion(
  { rules, offer }: Candidate,
  _index: unknown,
  { context, history }: DecisionInput,
): Exclusion | null {
  const reached = reachedFrequencyCap(rules.frequencyCaps, offer, history.exposures, context.nowMs);
  return reached && { rule: 'frequency_cap', ...reached };
}

function totalCapExclusion(candidate: Candidate, _index: unknown, { totals }: DecisionInput): Exclusion | null {
  const reached = candidate.rules.totalCaps.length === 0 ? null : reachedTotalCap(candidate, totals);
  if (reached === null) return null;
  const { isWaiting, ...cap } = reached;
  return { rule: isWaiting ? 'cap_reserved' : 'total_cap', ...cap };
}

function pacingExclusion(
  { rules, offer }: Candidate,
  _index: unknown,
  { context, totals, model, seed }: DecisionInput,
): Exclusion | null {
  if (rules.totalCaps.length === 0 || rules.pacing === 'asap') return null;
  const probability = pacingProbability(rules, { totals, model, nowMs: context.nowMs });
  return uniform(seed, salts.pacing + offer.campaign.id) < probability ? null : { rule: 'pacing', probability };
}

/**
 * Whether an attribute value is a list or an object, which conditions ignore
 * (docs/reference/fetch-offers.md#request-body).
 */
const isStructured = (value: string): boolean =>
  (value.startsWith('[') && value.endsWith(']')) || (value.startsWith('{') && value.endsWith('}'));

/**
 * Whether the request's custom attributes satisfy a condition. A missing attribute equals no value and is in no list or
 * range. Lists and objects are treated as missing.
 */
export function matchesCondition(condition: Condition, custom: ReadonlyMap<string, string>): boolean {
  if ('all' in condition) return condition.all.every((part) => matchesCondition(part, custom));
  if ('any' in condition) return condition.any.some((part) => matchesCondition(part, custom));
  const attribute = custom.get(condition.key);
  return compare(condition, attribute === undefined || isStructured(attribute) ? undefined : attribute);
}
