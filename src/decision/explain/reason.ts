import type { Condition } from '../../catalog/rules/conditions.ts';
import type { FrequencyCap, TargetingKey } from '../../catalog/rules/rules.ts';
import { minuteOfWeek } from '../../platform/lib/time-zone.ts';
import type { Candidate, CompiledTotalCap } from '../index/compile.ts';
import type { Exclusion } from '../index/exclusion.ts';
import type { DecisionInput } from '../types.ts';

/** An exclusion in words for campaign managers. `candidate` null: the offer is withheld from the index. */
export function describeExclusion(exclusion: Exclusion, candidate: Candidate | null, input: DecisionInput): string {
  switch (exclusion.rule) {
    case 'campaign_paused':
      return 'The campaign is paused.';
    case 'offer_paused':
      return 'The offer is paused.';
    case 'provisioning_paused':
      return 'The campaign is switched off for this publisher.';
    case 'rules_invalid':
      return "The campaign's rules are invalid. Save them again.";
    case 'unit_off':
      return 'The unit is switched off.';
    case 'percentage':
      return 'The user is not in the share that gets offers.';
    case 'campaign_id':
      return `The request asks for campaign ${exclusion.campaignId} only.`;
    case 'loyalty_not_wanted':
      return 'It is an incentive campaign, and the request excludes these (loyaltyboost 0).';
    case 'loyalty_only':
      return 'It is not an incentive campaign, and the request asks for these only (loyaltyboost 2).';
    case 'no_creative':
      return 'It has no image, and the request asks for offers with one.';
    case 'not_on_offerwall':
      return 'It is not enabled for the offerwall.';
    case 'no_identity':
      return 'The user is unknown, and the campaign is withheld from unknown users.';
    case 'targeting':
      return targetingInWords(exclusion.key, exclusion.value, candidate);
    case 'not_started':
      return `The campaign starts at ${timeInWords(candidate?.rules.startMs)}.`;
    case 'ended':
      return `The campaign ended at ${timeInWords(candidate?.rules.endMs)}.`;
    case 'hours':
      return `It is ${weekTimeInWords(exclusion.timeZone, input.context.nowMs)}, outside of the campaign's hours.`;
    case 'conditions':
      return `The custom attributes do not match the campaign's condition: ${neededAttributes(candidate)}.`;
    case 'opted_out':
      return exclusion.untilMs === null
        ? 'The user declined the campaign.'
        : `The user declined the campaign until ${timeInWords(exclusion.untilMs)}.`;
    case 'frequency_cap':
      return frequencyInWords(exclusion.cap, exclusion.count);
    case 'total_cap':
      return totalInWords(exclusion.cap, exclusion.used, candidate, input.context.nowMs);
    case 'pacing':
      return (
        'The campaign is ahead of its pacing plan: it takes part in ' +
        `${percent(exclusion.probability)} of decisions now.`
      );
    case 'same_campaign':
      return `Offer ${exclusion.shown.offer.id} of the same campaign is shown.`;
    case 'same_advertiser':
      return (
        `${nameOf(exclusion.shown)} of the same advertiser, ` +
        `${exclusion.shown.offer.campaign.advertiserName}, is shown.`
      );
    case 'exclusion_group':
      return `${nameOf(exclusion.shown)} of the same exclusion group, ${exclusion.group}, is shown.`;
    case 'sequence_denied':
      return `Sequence rule ${exclusion.ruleId} denies it the remaining positions.`;
    case 'sequence_reserved':
      return 'Sequence rules reserve the remaining positions for other offers.';
    default:
      return exclusion.count === 1
        ? 'A better offer took the only position.'
        : `Better offers took all ${exclusion.count} positions.`;
  }
}

const nameOf = ({ offer }: Candidate): string => `Campaign “${offer.campaign.name}”`;

const targets: Record<TargetingKey, { one: string; of: string }> = {
  countries: { one: 'Country', of: 'country' },
  regions: { one: 'Region', of: 'region' },
  cities: { one: 'City', of: 'city' },
  postal_codes: { one: 'Postal code', of: 'postal code' },
  placements: { one: 'Placement', of: 'placement' },
  platforms: { one: 'Platform', of: 'platform' },
  os: { one: 'Operating system', of: 'operating system' },
  browsers: { one: 'Browser', of: 'browser' },
  devices: { one: 'Device', of: 'device' },
};

function targetingInWords(key: TargetingKey, value: string | null, candidate: Candidate | null): string {
  const { include, exclude } = candidate?.rules.targeting[key] ?? {};
  const { one, of } = targets[key];
  if (value === null)
    return `The ${of} of the user is unknown, and the campaign requires one of its list (${few(include)}).`;
  const excluded =
    exclude?.some((text) => text.toLowerCase() === value.toLowerCase()) === true || include === undefined;
  return excluded
    ? `${one} ${value} is excluded by the campaign (${few(exclude)}).`
    : `${one} ${value} is not in the campaign's list (${few(include)}).`;
}

/** The first values of a list, and the number of the others. */
function few(values: readonly (string | number | boolean)[] = []): string {
  const shown = values.slice(0, 10).join(', ');
  return values.length > 10 ? `${shown} and ${values.length - 10} more` : shown;
}

const timeInWords = (atMs = 0): string => `${new Date(atMs).toISOString().slice(0, 16).replace('T', ' ')} UTC`;

const days = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];

function weekTimeInWords(zone: string, nowMs: number): string {
  const minute = minuteOfWeek(zone, nowMs);
  const [hours, minutes] = [Math.floor(minute / 60) % 24, minute % 60].map((part) => String(part).padStart(2, '0'));
  return `${days[Math.floor(minute / 1440)]} ${hours}:${minutes} in ${zone}`;
}

const operators: Record<string, string> = {
  equals: 'is',
  not_equals: 'is not',
  in: 'is one of',
  not_in: 'is none of',
  lt: 'is below',
  lte: 'is at most',
  gt: 'is above',
  gte: 'is at least',
  prefix: 'begins with',
  exists: 'is set',
  not_exists: 'is not set',
};

function conditionInWords(condition: Condition): string {
  if ('all' in condition) return condition.all.map(partInWords).join(' and ');
  if ('any' in condition) return condition.any.map(partInWords).join(' or ');
  const value =
    'value' in condition ? ` ${Array.isArray(condition.value) ? few(condition.value) : condition.value}` : '';
  return `${condition.key} ${operators[condition.op]}${value}`;
}

const partInWords = (part: Condition): string =>
  'key' in part ? conditionInWords(part) : `(${conditionInWords(part)})`;

const events: Record<FrequencyCap['event'], string> = {
  impression: 'saw',
  click: 'clicked',
  no_thanks: 'declined',
  conversion: 'converted with',
};

function frequencyInWords({ scope, event, limit, window_minutes }: FrequencyCap, seen: number): string {
  const window = window_minutes === null ? '' : ` within ${durationInWords(window_minutes)}`;
  return `The user ${events[event]} the ${scope} ${times(seen)}${window}; the cap is ${limit}.`;
}

const times = (count: number): string => (count === 1 ? 'once' : `${count} times`);

const neededAttributes = (candidate: Candidate | null): string =>
  conditionInWords(candidate?.rules.conditions ?? { all: [] });

function durationInWords(minutes: number): string {
  const [count, unit] =
    minutes % 1440 === 0 ? [minutes / 1440, 'day'] : minutes % 60 === 0 ? [minutes / 60, 'hour'] : [minutes, 'minute'];
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}

const periodNames: Record<CompiledTotalCap['cap']['per'], string> = {
  hour: 'Hourly',
  day: 'Daily',
  month: 'Monthly',
  lifetime: 'Lifetime',
};

function totalInWords(
  { cap, limit, zone }: CompiledTotalCap,
  used: number,
  candidate: Candidate | null,
  nowMs: number,
): string {
  const since = sinceInWords(cap.per, zone, nowMs);
  if (cap.metric !== 'budget')
    return `${periodNames[cap.per]} cap used: ${used} of ${limit} ${cap.metric} of the campaign${since}.`;
  const money = (micros: number): string => (micros / 1_000_000).toFixed(2);
  const rest = used < limit ? '; the rest does not pay for another event' : '';
  const currency = candidate?.payout.currency ?? '';
  return `${periodNames[cap.per]} budget used: ${money(used)} of ${money(limit)} ${currency}${since}${rest}.`;
}

/** Since when a period counts, such as ` since 00:00 in Europe/Berlin`. */
function sinceInWords(per: CompiledTotalCap['cap']['per'], zone: string, nowMs: number): string {
  if (per === 'lifetime') return '';
  if (per === 'month') return ` since the first of the month in ${zone}`;
  const hour = per === 'day' ? 0 : Math.floor(minuteOfWeek(zone, nowMs) / 60) % 24;
  return ` since ${String(hour).padStart(2, '0')}:00 in ${zone}`;
}

const percent = (share: number): string => `${Number((share * 100).toPrecision(2))} %`;
