import { deliveryOf } from '../budgets/goals.ts';
import type { Condition } from '../catalog/conditions.ts';
import { splitKind } from '../catalog/event-kinds.ts';
import { maxCostMicros } from '../catalog/provisioning.ts';
import { type FrequencyCap, payingEventOf } from '../catalog/rules.ts';
import { minuteOfWeek } from '../platform/lib/time-zone.ts';
import type { Exclusion } from './eligibility.ts';
import type { Candidate } from './index/compile.ts';
import type { DecisionInput } from './types.ts';

/** Localisable reason: the key of its message, and the arguments for the message. */
export type Reason = { key: ReasonKey; values: ReasonValues };

/** Key of a reason's message. Most rules have a single message; some have several, for different cases. */
type ReasonKey =
  | Exclude<Exclusion['rule'], 'targeting' | 'audience'>
  | 'audience_excluded'
  | 'audience_missed'
  | 'targeting_unknown'
  | 'targeting_excluded'
  | 'targeting_missed'
  | 'opted_out_until'
  | 'budget'
  | 'budget_reserved'
  | 'shown'
  | 'shown_goal';

type ReasonValues = Readonly<Record<string, ReasonValue>>;

/**
 * Argument for a reason's message. Strings are inserted unchanged. Numbers also select the plural form. Other types are
 * formatted in the reader's language.
 */
export type ReasonValue =
  | string
  | number
  | { as: 'count'; value: number }
  | { as: 'share'; value: number }
  | { as: 'moment'; atMs: number }
  /** `day` counts from 0, which is Monday. */
  | { as: 'weekday'; day: number }
  | { as: 'timeOfDay'; minute: number }
  /** `currency` is null if the message already shows the currency next to another amount. */
  | { as: 'amount'; micros: number; currency: string | null }
  | { as: 'list'; values: readonly (string | number | boolean)[] }
  | { as: 'condition'; condition: Condition };

/** Returns the reason why an offer is shown. */
export const shownReason = (position: number): Reason => ({ key: 'shown', values: { position: String(position) } });

/** Returns the reason why an offer ranks before others: its campaign is behind its goal. */
export function shownForGoal(
  position: number,
  { rules }: Candidate,
  { totals, model, context }: DecisionInput,
): Reason {
  const delivered = totals.get(rules.goal?.key ?? '')?.goal ?? 0;
  const { expected = 0 } = deliveryOf(rules, delivered, { model, nowMs: context.nowMs }) ?? {};
  const metric = rules.goal?.metric ?? '';
  return {
    key: 'shown_goal',
    values: { position: String(position), metric, delivered: count(delivered), expected: count(expected) },
  };
}

/** Returns the reason why an offer is not shown. `candidate` is null if the offer is not in the index. */
export function reasonOf(exclusion: Exclusion, candidate: Candidate | null, input: DecisionInput): Reason {
  const { rule } = exclusion;
  switch (rule) {
    case 'targeting':
      return targetingReason(exclusion, candidate);
    case 'audience':
      return audienceReason(exclusion, candidate);
    case 'stopped':
      return { key: rule, values: { what: exclusion.what } };
    case 'blocked_by_publisher':
      return {
        key: rule,
        values: {
          by: exclusion.by,
          value: exclusion.value,
          ...('placement' in exclusion ? { where: 'one', placement: exclusion.placement ?? '' } : { where: 'all' }),
        },
      };
    case 'campaign_id':
      return { key: rule, values: { id: String(exclusion.campaignId) } };
    case 'not_started':
      return { key: rule, values: { time: moment(candidate?.rules.startMs) } };
    case 'ended':
      return { key: rule, values: { time: moment(candidate?.rules.endMs) } };
    case 'hours':
      return { key: rule, values: { ...weekTime(exclusion.timeZone, input.context.nowMs), zone: exclusion.timeZone } };
    case 'conditions':
      return { key: rule, values: { condition: conditionOf(candidate) } };
    case 'opted_out':
      return exclusion.untilMs === null
        ? { key: rule, values: {} }
        : { key: 'opted_out_until', values: { time: moment(exclusion.untilMs) } };
    case 'frequency_cap':
      return { key: rule, values: frequencyValues(exclusion.cap, exclusion.count) };
    case 'total_cap':
    case 'cap_reserved':
      return totalReason(exclusion, candidate, input.context.nowMs);
    case 'pacing':
      return { key: rule, values: { share: { as: 'share', value: exclusion.probability } } };
    case 'same_campaign':
      return { key: rule, values: { id: String(exclusion.conflictsWith.offer.id) } };
    case 'same_advertiser': {
      const { name, advertiserName } = exclusion.conflictsWith.offer.campaign;
      return { key: rule, values: { name, advertiser: advertiserName } };
    }
    case 'exclusion_group':
      return { key: rule, values: { name: exclusion.conflictsWith.offer.campaign.name, group: exclusion.group } };
    case 'sequence_denied':
      return { key: rule, values: { id: String(exclusion.ruleId) } };
    case 'positions_filled':
      return { key: rule, values: { count: exclusion.count, positions: count(exclusion.count) } };
    default:
      return { key: rule, values: {} };
  }
}

type Of<Rule extends Exclusion['rule']> = Extract<Exclusion, { rule: Rule }>;

const count = (value: number): ReasonValue => ({ as: 'count', value });
const moment = (atMs = 0): ReasonValue => ({ as: 'moment', atMs });
const list = (values: readonly (string | number | boolean)[] = []): ReasonValue => ({ as: 'list', values });

function audienceReason({ audiences }: Of<'audience'>, candidate: Candidate | null): Reason {
  const { include = [], exclude = [] } = candidate?.rules.targeting.audiences ?? {};
  const excluded = exclude.filter((key) => audiences.includes(key));
  return excluded.length > 0
    ? { key: 'audience_excluded', values: { list: list(excluded) } }
    : { key: 'audience_missed', values: { list: list(include) } };
}

function targetingReason({ key, value }: Of<'targeting'>, candidate: Candidate | null): Reason {
  const { include, exclude } = candidate?.rules.targeting[key] ?? {};
  if (value === null) return { key: 'targeting_unknown', values: { key, list: list(include) } };
  const isExcluded = include === undefined || exclude?.some((entry) => entry.toLowerCase() === value.toLowerCase());
  return isExcluded === true
    ? { key: 'targeting_excluded', values: { key, value, list: list(exclude) } }
    : { key: 'targeting_missed', values: { key, value, list: list(include) } };
}

function weekTime(zone: string, nowMs: number): ReasonValues {
  const minute = minuteOfWeek(zone, nowMs);
  return {
    weekday: { as: 'weekday', day: Math.floor(minute / 1440) },
    time: { as: 'timeOfDay', minute: minute % 1440 },
  };
}

const conditionOf = (candidate: Candidate | null): ReasonValue => ({
  as: 'condition',
  condition: candidate?.rules.conditions ?? { all: [] },
});

function frequencyValues({ scope, event, limit, window_minutes: minutes }: FrequencyCap, used: number): ReasonValues {
  const eventKind = splitKind(event);
  const [unit, length] = minutes === null ? (['ever', 0] as const) : durationOf(minutes);
  return {
    scope,
    event: eventKind.kind,
    name: eventKind.name,
    count: used,
    times: count(used),
    unit,
    duration: length,
    length: count(length),
    limit: count(limit),
  };
}

/** Converts a duration to the largest unit in which it is a whole number. */
function durationOf(minutes: number): readonly [unit: string, length: number] {
  if (minutes % 1440 === 0) return ['day', minutes / 1440];
  return minutes % 60 === 0 ? ['hour', minutes / 60] : ['minute', minutes];
}

/** Returns the remaining budget, and the price of the next event, for which the budget is too small. */
function nextPaid(remaining: number, candidate: Candidate | null): ReasonValues {
  if (remaining <= 0 || candidate === null || candidate.payout.kind === 'cps') return { rest: 'no' };
  const { payout } = candidate;
  return {
    rest: 'yes',
    event: payingEventOf(payout.kind),
    left: { as: 'amount', micros: remaining, currency: null },
    cost: { as: 'amount', micros: maxCostMicros(payout), currency: payout.currency },
  };
}

function totalReason(
  { rule, cap: { cap, limit, zone }, used, reserved }: Of<'total_cap' | 'cap_reserved'>,
  candidate: Candidate | null,
  nowMs: number,
): Reason {
  const hour = cap.per === 'hour' ? Math.floor((minuteOfWeek(zone, nowMs) % 1440) / 60) : 0;
  const since = { per: cap.per, zone, since: { as: 'timeOfDay', minute: hour * 60 } } as const;
  const counted = used - reserved;
  if (cap.metric !== 'budget') {
    const counts = { used: count(counted), reserved: count(reserved), limit: count(limit) };
    const { kind, name } = splitKind(cap.metric);
    return { key: rule, values: { ...since, metric: kind, name, ...counts } };
  }
  const amount = (micros: number, currency: string | null = null): ReasonValue => ({ as: 'amount', micros, currency });
  return {
    key: rule === 'cap_reserved' ? 'budget_reserved' : 'budget',
    values: {
      ...since,
      used: amount(counted),
      reserved: amount(reserved),
      limit: amount(limit, candidate?.payout.currency ?? null),
      ...nextPaid(limit - counted, candidate),
    },
  };
}
