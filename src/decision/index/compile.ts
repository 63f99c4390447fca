import { type CompiledTotalCap, type Hours, totalsKey } from '../../budgets/caps.ts';
import { type CompiledGoal, compileGoal } from '../../budgets/goals.ts';
import type { Condition } from '../../catalog/conditions.ts';
import { payoutOf, priorityOf } from '../../catalog/provisioning.ts';
import {
  type CampaignRules,
  checkCapOverrides,
  checkRules,
  type FrequencyCap,
  type Goal,
  type Pacing,
  pacingOf,
  type Schedule,
  type Targeting,
  type TargetList,
  type TotalCap,
} from '../../catalog/rules.ts';
import type { Offer, Payout, Provision } from '../../catalog/types.ts';
import { isTimeZone, minuteOf, timeOf } from '../../platform/lib/time-zone.ts';
import { toMicros } from '../../platform/money.ts';

/** Offer as a candidate for a publisher's decisions, with its compiled rules. */
export type Candidate = {
  offer: Offer;
  /** Index in catalogue order. It is also the number of the candidate's bit in bit sets. */
  index: number;
  forced: boolean;
  priority: number;
  payout: Payout;
  rules: CompiledRules;
};

export type CompiledRules = {
  targeting: Targeting;
  /** Start of the campaign (inclusive), in epoch milliseconds. `endMs` is its end (exclusive). */
  startMs: number;
  endMs: number;
  hours: Hours | null;
  cities: Matcher | null;
  postalCodes: Matcher | null;
  conditions: Condition | null;
  frequencyCaps: readonly FrequencyCap[];
  totalCaps: readonly CompiledTotalCap[];
  pacing: Pacing;
  /** IDs of the publishers that run the campaign. */
  publisherIds: readonly number[];
  goal: CompiledGoal | null;
  /** Start of pacing plans, in epoch milliseconds: the campaign's start, or else its first activation. */
  planStartMs: number;
  /** Whether the campaign is hidden from unidentified users. */
  needsIdentity: boolean;
  groups: readonly string[];
  /**
   * Whether index filters cover all rules of the campaign except opt-outs. If so, opt-outs are the only post-filter to
   * evaluate.
   */
  indexed: boolean;
};

export type Matcher = { list: TargetList; include: readonly Pattern[] | null; exclude: readonly Pattern[] };
type Pattern = { text: string; isPrefix: boolean };

/** Parts of a campaign from which its rules are compiled. */
export type RuledCampaign = {
  id: number;
  rules: CampaignRules;
  goal: Goal | null;
  activatedAtMs: number | null;
  provisions: ReadonlyMap<number, Provision>;
};

/**
 * Accepts all usable time zones, because schedules stored by earlier releases may contain names that new schedules may
 * not use.
 */
const checkStoredRules = (rules: unknown) => checkRules(rules, isTimeZone);

/**
 * Compiles the rules of a campaign, which all its offers share.
 * @throws Error if the rules are invalid, which only direct database writes can cause
 */
export function compileRules(
  { id: campaignId, rules, goal, activatedAtMs, provisions }: RuledCampaign,
  capZone: string,
): CompiledRules {
  if (!isValid(rules, checkStoredRules)) throw new Error('the rules are invalid');
  const { targeting = {}, schedule = {} } = rules;
  const compiled = {
    targeting,
    startMs: timeOf(schedule.start_at) ?? Number.NEGATIVE_INFINITY,
    endMs: timeOf(schedule.end_at) ?? Number.POSITIVE_INFINITY,
    hours: compileHours(schedule),
    cities: targeting.cities === undefined ? null : matcherOf(targeting.cities),
    postalCodes: targeting.postal_codes === undefined ? null : matcherOf(targeting.postal_codes),
    conditions: rules.conditions ?? null,
    frequencyCaps: rules.frequency_caps ?? [],
    totalCaps: compileTotalCaps(rules.total_caps ?? [], totalsKey(campaignId, null), capZone),
    pacing: pacingOf(rules),
    publisherIds: [...provisions.values()].flatMap(({ publisherId, active }) => (active ? publisherId : [])),
    goal: compileGoal(campaignId, goal, capZone),
    planStartMs: timeOf(schedule.start_at) ?? activatedAtMs ?? Number.NEGATIVE_INFINITY,
    needsIdentity: rules.without_identity === 'withhold',
    groups: rules.exclusion_groups ?? [],
  };
  // Keep the spread last for performance; see docs/adr/0022-spread-first.md.
  return { indexed: isIndexed(compiled), ...compiled };
}

function isIndexed(rules: Omit<CompiledRules, 'indexed'>): boolean {
  const { startMs, endMs, hours, cities, postalCodes, conditions, frequencyCaps, totalCaps } = rules;
  const hasSchedule =
    startMs > Number.NEGATIVE_INFINITY || endMs < Number.POSITIVE_INFINITY || hours?.wholeHours === false;
  const hasLists = cities !== null || postalCodes !== null || conditions !== null;
  return !hasSchedule && !hasLists && frequencyCaps.length === 0 && totalCaps.length === 0;
}

function withCaps(
  base: CompiledRules,
  caps: { frequencyCaps: readonly FrequencyCap[]; totalCaps: readonly CompiledTotalCap[] },
): CompiledRules {
  const { indexed: _, ...rules } = { ...base, ...caps };
  return { indexed: isIndexed(rules), ...rules };
}

/**
 * Creates a publisher's candidate for an offer. Its `index` is assigned later, after sorting.
 * @throws Error if the caps of the provision are invalid
 */
export function toCandidate(offer: Offer, publisherId: number, base: CompiledRules, capZone: string): Candidate {
  const { campaign } = offer;
  const provision = campaign.provisions.get(publisherId);
  const own = compileTotalCaps(provision?.totalCaps ?? [], totalsKey(campaign.id, publisherId), capZone);
  const frequencyCaps = provision?.frequencyCaps ?? null;
  const overrides = { frequency_caps: frequencyCaps, total_caps: provision?.totalCaps ?? null };
  if ((own.length > 0 || frequencyCaps !== null) && !isValid(overrides, checkCapOverrides))
    throw new Error('the cap overrides are invalid');
  return {
    offer,
    index: -1,
    forced: campaign.rules.force_priority === true,
    priority: priorityOf(campaign, publisherId),
    payout: payoutOf(campaign, publisherId),
    rules:
      own.length === 0 && frequencyCaps === null
        ? base
        : withCaps(base, {
            frequencyCaps: frequencyCaps ?? base.frequencyCaps,
            totalCaps: [...base.totalCaps, ...own],
          }),
  };
}

/**
 * Cached validation results, keyed by the JSON of the rules. The index is rebuilt after every catalogue change, but few
 * rules change each time.
 */
const validityByJson = new Map<string, boolean>();
const maxCached = 50_000;

function isValid<Rules>(rules: Rules, check: (rules: Rules) => readonly unknown[]): boolean {
  const text = JSON.stringify(rules);
  if (text === '{}') return true;
  let valid = validityByJson.get(text);
  if (valid === undefined) {
    valid = check(rules).length === 0;
    if (validityByJson.size >= maxCached) validityByJson.clear();
    validityByJson.set(text, valid);
  }
  return valid;
}

function compileHours({ time_zone, hours }: Schedule): Hours | null {
  if (hours === undefined) return null;
  const windows = hours.flatMap(({ days, from, to }) => {
    const [start, end] = [minuteOf(from) as number, minuteOf(to) as number];
    return days.map((day) => ({ start: (day - 1) * 1440 + start, end: (day - 1) * 1440 + end }));
  });
  return {
    zone: time_zone ?? null,
    windows,
    wholeHours: windows.every(({ start, end }) => start % 60 === 0 && end % 60 === 0),
  };
}

const matcherOf = (list: TargetList): Matcher => ({
  list,
  include: list.include?.map(patternOf) ?? null,
  exclude: list.exclude?.map(patternOf) ?? [],
});

const patternOf = (value: string): Pattern => {
  const isPrefix = value.endsWith('*');
  return { text: (isPrefix ? value.slice(0, -1) : value).toLowerCase(), isPrefix };
};

/** Whether a value satisfies the `include` and `exclude` lists. An unknown value matches no list. */
export function matchesValue({ include, exclude }: Matcher, value: string | null): boolean {
  const matches = ({ text, isPrefix }: Pattern): boolean =>
    isPrefix ? value?.startsWith(text) === true : value === text;
  return (include === null || include.some(matches)) && !exclude.some(matches);
}

function compileTotalCaps(caps: readonly TotalCap[], key: string, zone: string): CompiledTotalCap[] {
  return caps.map((cap) => ({
    cap,
    limit: cap.metric === 'budget' ? toMicros(cap.limit) : cap.limit,
    key,
    zone,
  }));
}
