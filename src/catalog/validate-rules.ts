import type { TSchema } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { schemaErrors } from '../management/schema-errors.ts';
import type { ErrorDetail } from '../platform/errors.ts';
import { canonicalTag } from '../platform/lib/language-tags.ts';
import { minuteOf, timeOf } from '../platform/lib/time-zone.ts';
import { isKnownZone, namesInstead } from '../platform/lib/zone-names.ts';
import { checkCondition } from './conditions.ts';
import { isCountry, normaliseName } from './names.ts';
import {
  type CampaignRules,
  campaignRules,
  type FrequencyCap,
  frequencyCaps,
  type Schedule,
  type SequenceRuleBody,
  sequenceRule,
  type TargetingKey,
  type TargetList,
  type TotalCap,
  totalCaps,
} from './rules.ts';

const maxDetails = 20;

/**
 * Validates the rules of a campaign.
 * @param isZone whether a schedule may use a time zone; earlier releases stored names that are now rejected
 * @returns one problem for each invalid field; empty if all are valid
 */
export function checkRules(rules: unknown, isZone: (name: string) => boolean = isKnownZone): ErrorDetail[] {
  const checkKnown = (validRules: CampaignRules): ErrorDetail[] => checkKnownRules(validRules, isZone);
  const details = checked(campaignRules, rules, checkKnown);
  const rest = withoutInvalid(rules, details);
  if (details.length === 0 || !Value.Check(campaignRules, rest)) return details;
  const others = checkKnown(rest).filter(({ path }) => !details.some((detail) => detail.path === path));
  return [...details, ...others].slice(0, maxDetails);
}

const checkKnownRules = (validRules: CampaignRules, isZone: (name: string) => boolean): ErrorDetail[] => [
  ...checkTargeting(validRules),
  ...checkSchedule(validRules.schedule ?? {}, isZone),
  ...(validRules.conditions === undefined ? [] : checkCondition(validRules.conditions, '/conditions')),
  ...checkFrequencyCaps(validRules.frequency_caps, '/frequency_caps'),
  ...checkTotalCaps(validRules.total_caps, '/total_caps'),
  ...repeated(validRules.exclusion_groups, '/exclusion_groups', (group) => group),
];

/** Returns rules without their invalid parts, so that the other parts can be checked as well. */
function withoutInvalid(rules: unknown, details: readonly ErrorDetail[]): unknown {
  const isObject = (value: unknown): value is Record<string, unknown> =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isObject(rules)) return rules;
  const rest: Record<string, unknown> = { ...rules };
  for (const { path } of details) {
    const [, part = '', inner = ''] = path.split('/');
    const value = rest[part];
    if ((part === 'targeting' || part === 'schedule') && isObject(value) && inner !== '') {
      const { [inner]: _invalid, ...others } = value;
      rest[part] = others;
    } else delete rest[part];
  }
  return rest;
}

/** Validates the caps of a provisioning like `checkRules`; null means not overridden. */
export function checkCapOverrides(caps: { frequency_caps: unknown; total_caps: unknown }): ErrorDetail[] {
  const of = <T>(
    schema: TSchema,
    value: unknown,
    path: string,
    check: (value: T, path: string) => ErrorDetail[],
  ): ErrorDetail[] =>
    value === null || value === undefined
      ? []
      : checked(schema, value, (caps: T) => check(caps, '')).map((detail) => ({
          ...detail,
          path: path + detail.path,
        }));
  return [
    ...of(frequencyCaps, caps.frequency_caps, '/frequency_caps', checkFrequencyCaps),
    ...of(totalCaps, caps.total_caps, '/total_caps', checkTotalCaps),
  ];
}

/** Validates a sequence rule like `checkRules`. */
export function checkSequenceRule(rule: unknown): ErrorDetail[] {
  return checked(sequenceRule, rule, ({ positions, match, placement }: SequenceRuleBody) => [
    ...(placement === null || placement === normaliseName(placement)
      ? []
      : [{ path: '/placement', message: 'must be the name of a placement: lower case, hyphens for blanks' }]),
    ...(positions?.length === 0
      ? [{ path: '/positions', message: 'lists no position; use null for all positions' }]
      : []),
    ...repeated(positions ?? undefined, '/positions', String),
    ...(Object.keys(match).length === 0
      ? [{ path: '/match', message: 'must name offers, campaigns, advertisers, categories or tags' }]
      : []),
    ...Object.entries(match).flatMap(([name, list]) => (list.length === 0 ? [empty(`/match/${name}`)] : [])),
  ]);
}

const empty = (path: string): ErrorDetail => ({ path, message: 'is empty; leave it out or list something' });

/** Checks the schema first, and runs `check` only on values that satisfy it. */
function checked<T>(schema: TSchema, value: unknown, check: (value: T) => ErrorDetail[]): ErrorDetail[] {
  const errors = schemaErrors(schema, value, maxDetails);
  if (errors.length > 0) return errors;
  return check(value as T).slice(0, maxDetails);
}

function checkTargeting({ targeting = {} }: CampaignRules): ErrorDetail[] {
  const details = Object.entries(targeting).flatMap(([name, list]) => checkTargetList(name as TargetingKey, list));
  const countries = targeting.countries?.include?.map((code) => code.toUpperCase());
  for (const [index, region] of (targeting.regions?.include ?? []).entries()) {
    const country = region.slice(0, 2).toUpperCase();
    if (countries !== undefined && !countries.includes(country))
      details.push({
        path: `/targeting/regions/include/${index}`,
        message: `${region} is in none of the countries listed, so it never counts`,
      });
  }
  return details;
}

function checkTargetList(name: TargetingKey, list: TargetList): ErrorDetail[] {
  const path = `/targeting/${name}`;
  if (list.include === undefined && list.exclude === undefined)
    return [{ path, message: 'must list what is included or excluded' }];
  const details: ErrorDetail[] = [];
  const pathByValue = new Map<string, string>();
  for (const side of ['include', 'exclude'] as const) {
    const values = list[side];
    if (values?.length === 0) details.push(empty(`${path}/${side}`));
    for (const [index, value] of (values ?? []).entries()) {
      const at = `${path}/${side}/${index}`;
      const message = targetMessage(name, value);
      const earlier = pathByValue.get(value.toLowerCase());
      if (message !== null) details.push({ path: at, message });
      else if (earlier !== undefined)
        details.push({
          path: at,
          message: earlier === side ? `${value} is listed twice` : `${value} is both included and excluded`,
        });
      pathByValue.set(value.toLowerCase(), side);
    }
  }
  return details;
}

function targetMessage(name: TargetingKey, value: string): string | null {
  if (value.trim() !== value) return 'must not begin or end with a blank';
  if (name === 'countries') {
    if (value.toUpperCase() === 'UK') return 'UK is not a country code; the United Kingdom is GB';
    return isCountry(value) ? null : `${value} is not a country code (ISO 3166-1 alpha-2, such as US)`;
  }
  if (name === 'regions')
    return /^[A-Z]{2}-[A-Z0-9]{1,3}$/i.test(value) && isCountry(value.slice(0, 2))
      ? null
      : `${value} is not a region code (ISO 3166-2, such as US-CA)`;
  if (name === 'languages')
    return canonicalTag(value) === null ? `${value} is not a language (BCP 47, such as de or pt-BR)` : null;
  if (name === 'postal_codes')
    return /^[A-Z0-9-]{1,12}\*?$/i.test(value)
      ? null
      : `${value} is not a postal code: letters, digits and hyphens without blanks, perhaps a * at the end`;
  return null;
}

export const timeProblem = 'must be a time with its offset, such as 2026-11-27T00:00:00+01:00';

function checkSchedule(
  { start_at, end_at, time_zone, hours }: Schedule,
  isZone: (name: string) => boolean,
): ErrorDetail[] {
  const details: ErrorDetail[] = [];
  const [startMs, endMs] = [timeOf(start_at), timeOf(end_at)];
  for (const [name, atMs] of [['start_at', startMs] as const, ['end_at', endMs] as const]) {
    if (Number.isNaN(atMs))
      details.push({
        path: `/schedule/${name}`,
        message: timeProblem,
      });
  }
  if (startMs !== null && endMs !== null && endMs <= startMs)
    details.push({ path: '/schedule/end_at', message: 'The end must come after the start' });
  const instead = time_zone === undefined || isZone(time_zone) ? null : namesInstead(time_zone);
  if (instead !== null)
    details.push({
      path: '/schedule/time_zone',
      message: `${time_zone} is not a time zone (IANA name, such as ${instead})`,
    });
  if (hours?.length === 0) details.push(empty('/schedule/hours'));
  for (const [index, { days, from, to }] of (hours ?? []).entries()) {
    const path = `/schedule/hours/${index}`;
    const [start, end] = [minuteOf(from), minuteOf(to)];
    if (days.length === 0) details.push(empty(`${path}/days`));
    details.push(...repeated(days, `${path}/days`, String));
    if (start === null || start === 1440)
      details.push({ path: `${path}/from`, message: 'must be a time of day such as 09:00' });
    if (end === null) details.push({ path: `${path}/to`, message: 'must be a time of day such as 17:30, or 24:00' });
    if (start !== null && end !== null && end <= start)
      details.push({
        path: `${path}/to`,
        message: 'The end must come after the start; split hours that pass midnight in two',
      });
  }
  return details;
}

const checkFrequencyCaps = (caps: readonly FrequencyCap[] | undefined, path: string): ErrorDetail[] =>
  repeated(
    caps,
    path,
    ({ scope, event, window_minutes }) => `${scope} ${event} ${window_minutes}`,
    'limits the same as an earlier cap',
  );

function checkTotalCaps(caps: readonly TotalCap[] | undefined, path: string): ErrorDetail[] {
  const details = repeated(caps, path, ({ metric, per }) => `${metric} ${per}`, 'limits the same as an earlier cap');
  for (const [index, { metric, limit }] of (caps ?? []).entries()) {
    if (metric !== 'budget' && !Number.isInteger(limit))
      details.push({ path: `${path}/${index}/limit`, message: 'must be a whole number' });
  }
  return details;
}

function repeated<T>(
  list: readonly T[] | undefined,
  path: string,
  keyOf: (item: T) => string,
  message = 'is listed twice',
): ErrorDetail[] {
  const seenKeys = new Set<string>();
  return (list ?? []).flatMap((item, index) => {
    const key = keyOf(item);
    if (seenKeys.has(key)) return [{ path: `${path}/${index}`, message }];
    seenKeys.add(key);
    return [];
  });
}
