import { type Static, Type } from '@sinclair/typebox';
import type { Condition } from './conditions.ts';
import { kindsWith, orOwnKind } from './event-kinds.ts';

/**
 * Schemas of targeting, schedule, caps and sequence rules. `checkRules` validates what a schema cannot express. Every
 * code path that saves rules applies both.
 */

/** Maximum number of values in a targeting list. */
const maxListLength = 1000;

/** Maximum rolling window of a frequency cap: 180 days (minutes). */
const maxWindowMinutes = 180 * 24 * 60;

const text = (maxLength: number, description?: string) =>
  Type.String({ minLength: 1, maxLength, ...(description === undefined ? {} : { description }) });

const targetList = (description: string) =>
  Type.Object(
    {
      include: Type.Optional(Type.Array(text(100), { maxItems: maxListLength, description: 'Only these.' })),
      exclude: Type.Optional(Type.Array(text(100), { maxItems: maxListLength, description: 'All but these.' })),
    },
    { title: 'TargetList', additionalProperties: false, description },
  );

const targeting = Type.Object(
  {
    countries: Type.Optional(targetList('ISO 3166-1 alpha-2 codes, such as `US`.')),
    regions: Type.Optional(targetList('ISO 3166-2 codes, such as `US-CA`.')),
    cities: Type.Optional(targetList('English names; upper and lower case are the same.')),
    postal_codes: Type.Optional(targetList('Codes without blanks; a `*` at the end stands for any rest.')),
    placements: Type.Optional(targetList('Names of placements.')),
    platforms: Type.Optional(targetList('`web`, `ios`, `android`.')),
    os: Type.Optional(targetList('Such as `ios`, `android`, `windows`, `macos`, `linux`.')),
    browsers: Type.Optional(targetList('Such as `chrome`, `safari`, `firefox`.')),
    audiences: Type.Optional(
      targetList("Keys of audiences of the campaign's owner; at other publishers nobody is in them."),
    ),
    languages: Type.Optional(
      targetList('BCP 47 tags, such as `de` or `pt-BR`; `pt` is also every Portuguese of a region.'),
    ),
    devices: Type.Optional(targetList('`desktop`, `mobile`, `tablet`, `tv`.')),
  },
  { title: 'Targeting', additionalProperties: false },
);

const hourWindow = Type.Object(
  {
    days: Type.Array(Type.Integer({ minimum: 1, maximum: 7 }), { maxItems: 7, description: '1 Monday to 7 Sunday.' }),
    from: text(5, '`HH:MM`'),
    to: text(5, '`HH:MM`, up to `24:00`; this minute is no longer part of it.'),
  },
  { title: 'HourWindow', additionalProperties: false },
);

const schedule = Type.Object(
  {
    start_at: Type.Optional(text(40, 'RFC 3339 time with its offset, such as `2026-11-27T00:00:00+01:00`.')),
    end_at: Type.Optional(text(40, 'As `start_at`; at this instant the campaign is over.')),
    time_zone: Type.Optional(
      text(64, "IANA zone of `hours`; absent: the user's where it is known, else the publisher's."),
    ),
    hours: Type.Optional(Type.Array(hourWindow, { maxItems: 50, description: 'Absent: at all hours.' })),
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
    scope: literals(capScopes, 'What is counted together.'),
    event: orOwnKind(capEvents, 'What is counted.'),
    limit: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
    window_minutes: Type.Union([Type.Integer({ minimum: 1, maximum: maxWindowMinutes }), Type.Null()], {
      description: 'Length of the rolling window; null: for ever.',
    }),
  },
  { title: 'FrequencyCap', additionalProperties: false },
);

export const capMetrics = ['impressions', 'clicks', 'budget'] as const;
export const capPeriods = ['hour', 'day', 'month', 'lifetime'] as const;

/** Metric that a total cap limits. */
export const capMetric = orOwnKind(capMetrics, 'What is limited.');
const totalCap = Type.Object(
  {
    metric: capMetric,
    per: literals(capPeriods, "Calendar hour, day or month in the time zone of the campaign's owner; or all time."),
    limit: Type.Number({
      exclusiveMinimum: 0,
      maximum: 1_000_000_000,
      description: 'A count; for `budget`, money in the payout currency.',
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
              'On custom keys: `{"key","op","value"}` with op equals, not_equals, in, not_in, lt, lte, gt, gte, ' +
              'prefix, exists, not_exists; or `{"all":[…]}`, `{"any":[…]}`.',
          },
        ),
      ),
    ),
    frequency_caps: Type.Optional(frequencyCaps),
    total_caps: Type.Optional(totalCaps),
    pacing: Type.Optional(
      literals(
        [...pacings, 'as_fast'],
        'How budgets and total caps are spread over their time; default asap (as_fast).',
      ),
    ),
    force_priority: Type.Optional(Type.Boolean({ description: 'Shown before everything that is not forced.' })),
    exclusion_groups: Type.Optional(
      Type.Array(text(64), { maxItems: 10, description: 'Of each group one answer shows one campaign.' }),
    ),
    without_identity: Type.Optional(
      literals(['serve', 'withhold'], 'What happens when the user is not known; default serve.'),
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
    offers: ids('Ids.'),
    campaigns: ids('Ids.'),
    advertisers: ids('Ids.'),
    categories: names('Names.'),
    tags: names('Names.'),
  },
  { title: 'SequenceMatch', additionalProperties: false, description: 'Offers that any of the lists names.' },
);

/** Body of a sequence rule as it is saved. */
export const sequenceRule = Type.Object(
  {
    placement: Type.Union([text(128), Type.Null()], { description: 'null: all placements.' }),
    positions: Type.Union([Type.Array(Type.Integer({ minimum: 1, maximum: 10 }), { maxItems: 10 }), Type.Null()], {
      description: 'null: all positions.',
    }),
    effect: literals(['allow', 'deny'], 'Only these offers may stand there; or these may not.'),
    match: sequenceMatch,
    weight: Type.Integer({
      minimum: 0,
      maximum: 1_000_000,
      default: 100,
      description: 'Among allow rules, higher comes first.',
    }),
    active: Type.Boolean({ default: true }),
  },
  { additionalProperties: false },
);

export const goalMetrics = ['impressions', 'clicks', 'conversions'] as const;

/** Goal of a campaign: how much to deliver by when. */
export const campaignGoal = Type.Object(
  {
    metric: literals(goalMetrics, 'What is counted.'),
    count: Type.Integer({ minimum: 1, maximum: 1_000_000_000 }),
    by: text(40, 'RFC 3339 time with its offset; until then the count is to be delivered.'),
  },
  { title: 'CampaignGoal', additionalProperties: false },
);

export type CampaignGoal = Static<typeof campaignGoal>;
export type GoalMetric = CampaignGoal['metric'];

/** Goal of a campaign, counted from the time it was set (epoch milliseconds). */
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
export type SequenceRuleBody = Static<typeof sequenceRule>;
export type SequenceMatch = Static<typeof sequenceMatch>;

export const payoutKinds = ['cpc', 'cpa', 'cpm', 'cps'] as const;
export type PayoutKind = (typeof payoutKinds)[number];
