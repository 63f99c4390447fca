import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { schemaErrors } from '../management/schema-errors.ts';
import type { ErrorDetail } from '../platform/errors.ts';
import { canonicalTag } from '../platform/lib/language-tags.ts';
import { minuteOf, timeOf } from '../platform/lib/time-zone.ts';
import { isKnownZone, namesInstead } from '../platform/lib/zone-names.ts';
import { type Problem, problem } from '../platform/problem.ts';
import { type Condition, checkCondition } from './conditions.ts';
import { kindsWith, orOwnKind } from './event-kinds.ts';
import { isCountry, normaliseName } from './names.ts';

/**
 * Schemas for targeting, schedules, caps and sequence rules. `checkRules` validates what a schema cannot express. Every
 * code path that stores rules must apply both.
 */

/** Maximum number of values in a targeting list. */
const maxListLength = 1000;

/** Maximum rolling window of a frequency cap, in minutes (180 days). */
const maxWindowMinutes = 180 * 24 * 60;

const text = (maxLength: number, description?: string) =>
  Type.String({ minLength: 1, maxLength, ...(description === undefined ? {} : { description }) });

const targetList = (description: string) =>
  Type.Object(
    {
      include: Type.Optional(Type.Array(text(100), { maxItems: maxListLength, description: 'Values to include.' })),
      exclude: Type.Optional(Type.Array(text(100), { maxItems: maxListLength, description: 'Values to exclude.' })),
    },
    { title: 'TargetList', additionalProperties: false, description },
  );

const targeting = Type.Object(
  {
    countries: Type.Optional(targetList('ISO 3166-1 alpha-2 codes, such as `US`.')),
    regions: Type.Optional(targetList('ISO 3166-2 codes, such as `US-CA`.')),
    cities: Type.Optional(targetList('English names of cities. Matching ignores case.')),
    postal_codes: Type.Optional(targetList('Postal codes without spaces. A `*` at the end matches any suffix.')),
    placements: Type.Optional(targetList('Names of placements.')),
    platforms: Type.Optional(targetList('Platforms: `web`, `ios`, `android`.')),
    os: Type.Optional(targetList('Operating systems, such as `ios`, `android`, `windows`, `macos` or `linux`.')),
    browsers: Type.Optional(targetList('Browsers, such as `chrome`, `safari` or `firefox`.')),
    audiences: Type.Optional(
      targetList("Keys of audiences of the campaign's owner. At other publishers these audiences have no members."),
    ),
    languages: Type.Optional(targetList('BCP 47 tags, such as `de` or `pt-BR`. `pt` includes all regions.')),
    devices: Type.Optional(targetList('Device types: `desktop`, `mobile`, `tablet`, `tv`.')),
  },
  { title: 'Targeting', additionalProperties: false },
);

const hourWindow = Type.Object(
  {
    days: Type.Array(Type.Integer({ minimum: 1, maximum: 7 }), {
      maxItems: 7,
      description: 'Days of the week, from 1 (Monday) to 7 (Sunday).',
    }),
    from: text(5, 'Start of the window (`HH:MM`).'),
    to: text(5, 'End of the window (`HH:MM`, up to `24:00`), exclusive.'),
  },
  { title: 'HourWindow', additionalProperties: false },
);

const schedule = Type.Object(
  {
    start_at: Type.Optional(text(40, 'Start as an RFC 3339 time with offset, such as `2026-11-27T00:00:00+01:00`.')),
    end_at: Type.Optional(text(40, 'End as an RFC 3339 time with offset, exclusive.')),
    time_zone: Type.Optional(
      text(
        64,
        "IANA time zone of `hours`. Defaults to the user's time zone if it is known, or else to the publisher's.",
      ),
    ),
    hours: Type.Optional(
      Type.Array(hourWindow, {
        maxItems: 50,
        description: 'Time windows in which the campaign is shown. Defaults to all hours.',
      }),
    ),
  },
  { title: 'Schedule', additionalProperties: false },
);

const literals = <const Values extends readonly string[]>(values: Values, description: string) =>
  Type.Union(
    values.map((value) => Type.Literal(value as Values[number])),
    { description },
  );

export const capScopes = ['offer', 'campaign', 'advertiser'] as const;
export const capEvents = [...kindsWith('frequencyCap'), 'conversion'] as const;
const frequencyCap = Type.Object(
  {
    scope: literals(capScopes, 'Level at which events are counted.'),
    event: orOwnKind(capEvents, 'Event to count.'),
    limit: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
    window_minutes: Type.Union([Type.Integer({ minimum: 1, maximum: maxWindowMinutes }), Type.Null()], {
      description: 'Length of the rolling window in minutes. `null` counts all events.',
    }),
  },
  { title: 'FrequencyCap', additionalProperties: false },
);

export const capMetrics = ['impressions', 'clicks', 'budget'] as const;
export const capPeriods = ['hour', 'day', 'month', 'lifetime'] as const;

/** Metric that a total cap limits. */
export const capMetric = orOwnKind(capMetrics, 'Limited event or amount.');
const totalCap = Type.Object(
  {
    metric: capMetric,
    per: literals(
      capPeriods,
      "Period of the cap: a calendar hour, day or month in the time zone of the campaign's owner, or all time.",
    ),
    limit: Type.Number({
      exclusiveMinimum: 0,
      maximum: 1_000_000_000,
      description: 'Maximum count; for `budget`, the amount in the payout currency.',
    }),
  },
  { title: 'TotalCap', additionalProperties: false },
);

export const frequencyCaps = Type.Array(frequencyCap, { maxItems: 20 });
export const totalCaps = Type.Array(totalCap, { maxItems: 12 });
export const pacings = ['asap', 'even', 'front_loaded'] as const;

export const campaignRules = Type.Object(
  {
    targeting: Type.Optional(targeting),
    schedule: Type.Optional(schedule),
    conditions: Type.Optional(
      Type.Unsafe<Condition>(
        Type.Object(
          {},
          {
            title: 'Condition',
            additionalProperties: true,
            description:
              'Condition on custom attributes: `{"key","op","value"}`, where op is one of equals, not_equals, ' +
              'in, not_in, lt, lte, gt, gte, prefix, exists, not_exists; or `{"all":[…]}` or `{"any":[…]}`.',
          },
        ),
      ),
    ),
    frequency_caps: Type.Optional(frequencyCaps),
    total_caps: Type.Optional(totalCaps),
    pacing: Type.Optional(
      literals(
        [...pacings, 'as_fast'],
        'How budgets and total caps are spent over their period. Defaults to `asap` (as fast as possible).',
      ),
    ),
    force_priority: Type.Optional(
      Type.Boolean({ description: 'Whether the campaign is shown before all campaigns without forced priority.' }),
    ),
    exclusion_groups: Type.Optional(
      Type.Array(text(64), {
        maxItems: 10,
        description: 'Exclusion groups. A response contains at most one campaign of each group.',
      }),
    ),
    without_identity: Type.Optional(
      literals(['serve', 'withhold'], 'Behaviour if the user is unknown. Defaults to `serve`.'),
    ),
  },
  { additionalProperties: false },
);

const ids = (description: string) =>
  Type.Optional(
    Type.Array(Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1 }), { maxItems: maxListLength, description }),
  );
const names = (description: string) => Type.Optional(Type.Array(text(100), { maxItems: maxListLength, description }));

const sequenceMatch = Type.Object(
  {
    offers: ids('IDs of offers.'),
    campaigns: ids('IDs of campaigns.'),
    advertisers: ids('IDs of advertisers.'),
    categories: names('Names of categories.'),
    tags: names('Names of tags.'),
  },
  { title: 'SequenceMatch', additionalProperties: false, description: 'Matches offers that are in any of the lists.' },
);

/** Schema of a sequence rule as it is stored. */
export const sequenceRule = Type.Object(
  {
    placement: Type.Union([text(128), Type.Null()], {
      description: 'Placement that the rule applies to, or `null` for all placements.',
    }),
    positions: Type.Union([Type.Array(Type.Integer({ minimum: 1, maximum: 10 }), { maxItems: 10 }), Type.Null()], {
      description: 'Positions that the rule applies to, or `null` for all positions.',
    }),
    effect: literals(
      ['allow', 'deny'],
      '`allow` shows only matching offers at the position; `deny` shows no matching offers there.',
    ),
    match: sequenceMatch,
    weight: Type.Integer({
      minimum: 0,
      maximum: 1_000_000,
      default: 100,
      description: 'Order among allow rules. Higher weights come first.',
    }),
    active: Type.Boolean({ default: true }),
  },
  { additionalProperties: false },
);

export const goalMetrics = ['impressions', 'clicks', 'conversions'] as const;

/** Schema of a campaign goal: a number of events to deliver by a deadline. */
export const campaignGoal = Type.Object(
  {
    metric: literals(goalMetrics, 'Event to count.'),
    count: Type.Integer({ minimum: 1, maximum: 1_000_000_000 }),
    by: text(40, 'Deadline as an RFC 3339 time with offset.'),
  },
  { title: 'CampaignGoal', additionalProperties: false },
);

export type CampaignGoal = Static<typeof campaignGoal>;
export type GoalMetric = CampaignGoal['metric'];

/** Campaign goal. Only events after the goal was set count towards it. Times are in epoch milliseconds. */
export type Goal = { metric: GoalMetric; count: number; sinceMs: number; byMs: number };

export type CampaignRules = Static<typeof campaignRules>;
export type Targeting = Static<typeof targeting>;
export type TargetingKey = keyof Targeting;
export type TargetList = NonNullable<Targeting[TargetingKey]>;
export type Schedule = Static<typeof schedule>;
export type FrequencyCap = Static<typeof frequencyCap>;
export type TotalCap = Static<typeof totalCap>;
export type CapEvent = FrequencyCap['event'];
export type CapPeriod = TotalCap['per'];
export type CapMetric = TotalCap['metric'];
export type Pacing = (typeof pacings)[number];

/** Returns the pacing of a campaign. Without one, and with the value of earlier releases, it is not paced. */
export const pacingOf = ({ pacing }: CampaignRules): Pacing =>
  pacing === undefined || pacing === 'as_fast' ? 'asap' : pacing;

type SequenceRuleBody = Static<typeof sequenceRule>;
export type SequenceMatch = Static<typeof sequenceMatch>;

export const payoutKinds = ['cpc', 'cpa', 'cpm', 'cps'] as const;
export type PayoutKind = (typeof payoutKinds)[number];

/**
 * Events that campaigns can pay for. The order must not change, because stored reservations contain an index into this
 * list.
 */
export const payingEvents = ['impression', 'click', 'conversion'] as const;

export type PayingEvent = (typeof payingEvents)[number];

/** Returns the event that is paid for under a payout kind. */
export const payingEventOf = (payout: PayoutKind): PayingEvent => {
  if (payout === 'cpm') return 'impression';
  return payout === 'cpc' ? 'click' : 'conversion';
};

/** Parses a stored goal. Returns null if it is missing or invalid, because it may have been edited by hand. */
export function toGoal(goal: CampaignGoal | null | undefined, since: Date | string | null | undefined): Goal | null {
  const byMs = timeOf(goal?.by) ?? Number.NaN;
  if (goal == null || since == null || !(goal.count > 0) || Number.isNaN(byMs)) return null;
  return { metric: goal.metric, count: goal.count, sinceMs: new Date(since).getTime(), byMs };
}

const maxDetails = 20;

/**
 * Validates campaign rules.
 * @param isZone whether a schedule may use a time zone; time zones stored by earlier releases may now be rejected
 * @returns one problem per invalid field, or an empty list if all fields are valid
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

/** Returns the rules without their invalid parts, so that the remaining parts can still be validated. */
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

/** Validates the caps of a provision in the same way as `checkRules`. Null means that the campaign's caps apply. */
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

/** Validates a sequence rule in the same way as `checkRules`. */
export function checkSequenceRule(rule: unknown): ErrorDetail[] {
  return checked(sequenceRule, rule, ({ positions, match, placement }: SequenceRuleBody) => [
    ...(placement === null || placement === normaliseName(placement)
      ? []
      : [{ path: '/placement', message: problem('placementName') }]),
    ...(positions?.length === 0 ? [{ path: '/positions', message: problem('noPosition') }] : []),
    ...repeated(positions ?? undefined, '/positions', String),
    ...(Object.keys(match).length === 0 ? [{ path: '/match', message: problem('matchNothing') }] : []),
    ...Object.entries(match).flatMap(([name, list]) => (list.length === 0 ? [empty(`/match/${name}`)] : [])),
  ]);
}

const empty = (path: string): ErrorDetail => ({ path, message: problem('emptyList') });

/** Validates a value against the schema. `check` is called only if the value matches the schema. */
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
        message: problem('noCountryOf', { region }),
      });
  }
  return details;
}

function checkTargetList(name: TargetingKey, list: TargetList): ErrorDetail[] {
  const path = `/targeting/${name}`;
  if (list.include === undefined && list.exclude === undefined) return [{ path, message: problem('noTargets') }];
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
          message: earlier === side ? problem('valueTwice', { value }) : problem('bothSides', { value }),
        });
      pathByValue.set(value.toLowerCase(), side);
    }
  }
  return details;
}

function targetMessage(name: TargetingKey, value: string): Problem | null {
  if (value.trim() !== value) return problem('blankAround');
  if (name === 'countries') {
    if (value.toUpperCase() === 'UK') return problem('noUk');
    return isCountry(value) ? null : problem('noCountry', { value });
  }
  if (name === 'regions')
    return /^[A-Z]{2}-[A-Z0-9]{1,3}$/i.test(value) && isCountry(value.slice(0, 2))
      ? null
      : problem('noRegion', { value });
  if (name === 'languages') return canonicalTag(value) === null ? problem('noLanguageTag', { value }) : null;
  if (name === 'postal_codes') return /^[A-Z0-9-]{1,12}\*?$/i.test(value) ? null : problem('noPostalCode', { value });
  return null;
}

export const timeProblem = problem('scheduleTime');

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
    details.push({ path: '/schedule/end_at', message: problem('endFirst') });
  const instead = time_zone === undefined || isZone(time_zone) ? null : namesInstead(time_zone);
  if (instead !== null)
    details.push({
      path: '/schedule/time_zone',
      message: problem('noTimeZone', { name: String(time_zone), names: instead }),
    });
  if (hours?.length === 0) details.push(empty('/schedule/hours'));
  for (const [index, { days, from, to }] of (hours ?? []).entries()) {
    const path = `/schedule/hours/${index}`;
    const [start, end] = [minuteOf(from), minuteOf(to)];
    if (days.length === 0) details.push(empty(`${path}/days`));
    details.push(...repeated(days, `${path}/days`, String));
    if (start === null || start === 1440) details.push({ path: `${path}/from`, message: problem('timeOfDay') });
    if (end === null) details.push({ path: `${path}/to`, message: problem('timeOfDayEnd') });
    if (start !== null && end !== null && end <= start)
      details.push({
        path: `${path}/to`,
        message: problem('endOfHoursFirst'),
      });
  }
  return details;
}

const checkFrequencyCaps = (caps: readonly FrequencyCap[] | undefined, path: string): ErrorDetail[] =>
  repeated(caps, path, ({ scope, event, window_minutes }) => `${scope} ${event} ${window_minutes}`, problem('sameCap'));

function checkTotalCaps(caps: readonly TotalCap[] | undefined, path: string): ErrorDetail[] {
  const details = repeated(caps, path, ({ metric, per }) => `${metric} ${per}`, problem('sameCap'));
  for (const [index, { metric, limit }] of (caps ?? []).entries()) {
    if (metric !== 'budget' && !Number.isInteger(limit))
      details.push({ path: `${path}/${index}/limit`, message: problem('isInteger') });
  }
  return details;
}

function repeated<T>(
  list: readonly T[] | undefined,
  path: string,
  keyOf: (item: T) => string,
  message = problem('twice'),
): ErrorDetail[] {
  const seenKeys = new Set<string>();
  return (list ?? []).flatMap((item, index) => {
    const key = keyOf(item);
    if (seenKeys.has(key)) return [{ path: `${path}/${index}`, message }];
    seenKeys.add(key);
    return [];
  });
}

/** Single block rule of a publisher. */
export type ControlsRule = {
  by:
    | ('category' | 'brand' | 'advertiser' | 'domain' | 'offer' | 'word' | 'competitor' | 'separation' | 'floor')
    | ('allowed_categories' | 'allowed_brands' | 'allowed_advertisers' | 'allowed_domains');
  /** List entry, placement of a floor, or `categories`. A list in `allowed_` is a single rule with all its entries. */
  value: string;
  /** Placement to which the rule applies, or null for all placements. */
  placement: string | null;
};

/**
 * Note and end time of a block rule. For a list in `allowed_` and for the separation of categories, `value` is empty,
 * so that details stay with a list whose entries change.
 */
export type RuleDetail = ControlsRule & {
  note: string;
  /** RFC 3339 time from which the rule no longer applies, or null. */
  ends_at: string | null;
};
