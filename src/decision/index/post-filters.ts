import { minuteOfWeek } from '../../platform/lib/time-zone.ts';
import type { Objection } from '../explain/exclusions.ts';
import { pacingChance } from '../rank/pacing.ts';
import { salts, uniform } from '../rank/random.ts';
import { reachedCap, spentCap } from '../rules/caps.ts';
import { matchesCondition } from '../rules/conditions.ts';
import type { DecisionInput, OptOuts } from '../types.ts';
import { admits, type Candidate, type Matcher } from './compile.ts';
import type { EligibilityIndex } from './eligibility.ts';
import { visitorZone } from './index-filters.ts';

/** The first of the rules an index cannot answer that shuts a survivor out, or null. They are asked in this order. */
export function residualObjection(
  candidate: Candidate,
  index: EligibilityIndex,
  input: DecisionInput,
): Objection | null {
  const { context, history, totals } = input;
  const { rules, offer } = candidate;
  const { nowMs } = context;
  if (rules.indexed) return optOutOf(history.optOuts, offer.campaign.id, nowMs);
  if (nowMs < rules.startMs) return { rule: 'not_started' };
  if (nowMs >= rules.endMs) return { rule: 'ended' };
  if (rules.hours !== null && !rules.hours.wholeHours) {
    const zone = rules.hours.zone ?? visitorZone(index, context);
    const minute = minuteOfWeek(zone, nowMs);
    if (!rules.hours.windows.some(({ start, end }) => minute >= start && minute < end)) return { rule: 'hours', zone };
  }
  const place =
    placeObjection('cities', rules.cities, context.geo.city) ??
    placeObjection('postal_codes', rules.postalCodes, postalCode(input));
  if (place !== null) return place;
  if (rules.conditions !== null && !matchesCondition(rules.conditions, context.custom)) return { rule: 'conditions' };
  const optOut = optOutOf(history.optOuts, offer.campaign.id, nowMs);
  if (optOut !== null) return optOut;
  const reached =
    rules.frequencyCaps.length === 0 ? null : reachedCap(rules.frequencyCaps, offer, history.exposures, nowMs);
  if (reached !== null) return { rule: 'frequency_cap', ...reached };
  if (rules.totalCaps.length === 0) return null;
  const spent = spentCap(candidate, totals);
  if (spent !== null) return { rule: 'total_cap', ...spent };
  const chance = pacingChance(rules, totals, nowMs);
  return uniform(input.seed, salts.pacing + offer.campaign.id) < chance ? null : { rule: 'pacing', chance };
}

function placeObjection(
  key: 'cities' | 'postal_codes',
  matcher: Matcher | null,
  value: string | null,
): Objection | null {
  return matcher === null || admits(matcher, value?.toLowerCase() ?? null) ? null : { rule: 'targeting', key, value };
}

const postalCode = ({ context }: DecisionInput): string | null => context.geo.postalCode?.replaceAll(' ', '') ?? null;

function optOutOf(optOuts: OptOuts, campaignId: number, nowMs: number): Objection | null {
  const until = optOuts[campaignId];
  if (until === undefined || (until !== null && until * 1000 <= nowMs)) return null;
  return { rule: 'opted_out', untilMs: until === null ? null : until * 1000 };
}
