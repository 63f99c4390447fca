import { describe, expect, test } from 'vitest';
import { type Condition, checkCondition } from '../../src/catalog/conditions.ts';
import { type CampaignRules, checkCapOverrides, checkRules, checkSequenceRule } from '../../src/catalog/rules.ts';
import { matchesCondition } from '../../src/decision/rules/post-filters.ts';

const lines = (rules: unknown): string[] => checkRules(rules).map(({ path, message }) => `${path} ${message}`);

const cap = { scope: 'campaign', event: 'impression', limit: 3, window_minutes: 1440 } as const;

describe('valid rules are accepted', () => {
  const good: CampaignRules[] = [
    {},
    {
      targeting: {
        countries: { include: ['US', 'ca'] },
        regions: { include: ['US-CA'], exclude: ['US-NY'] },
        postal_codes: { include: ['941*', 'SW1A-1AA'] },
      },
    },
    {
      schedule: {
        start_at: '2026-11-27T00:00:00+01:00',
        end_at: '2026-11-30T23:59:59.999Z',
        time_zone: 'Europe/Berlin',
        hours: [
          { days: [1, 2, 3, 4, 5], from: '09:00', to: '17:30' },
          { days: [6], from: '00:00', to: '24:00' },
        ],
      },
    },
    {
      conditions: {
        all: [
          { key: 'basket', op: 'gte', value: 50 },
          {
            any: [
              { key: 'tier', op: 'in', value: ['gold', 1] },
              { key: 'vip', op: 'exists' },
            ],
          },
        ],
      },
    },
    {
      frequency_caps: [cap, { ...cap, window_minutes: null }, { ...cap, window_minutes: 259_200 }],
      total_caps: [{ metric: 'budget', per: 'day', limit: 99.5 }],
    },
    { pacing: 'front_loaded', force_priority: true, exclusion_groups: ['cars', 'loans'], without_identity: 'withhold' },
  ];
  test.each(good)('%j', (rules) => {
    expect(lines(rules)).toEqual([]);
  });
});

describe('invalid rules are rejected with a message', () => {
  test.each<[string, unknown, string]>([
    ['a string instead of an object', 'x', ' The value must be an object.'],
    ['an unknown field', { targetting: {} }, '/targetting This field is unknown. Check its spelling, or remove it.'],
    [
      'an empty list',
      { targeting: { countries: { include: [] } } },
      '/targeting/countries/include The list is empty. Remove it, or add an entry.',
    ],
    [
      'a list without include or exclude',
      { targeting: { cities: {} } },
      '/targeting/cities Enter the values to include or exclude.',
    ],
    [
      'an unknown country',
      { targeting: { countries: { include: ['XX'] } } },
      '/targeting/countries/include/0 XX is not a country code (ISO 3166-1 alpha-2, such as US).',
    ],
    [
      'UK instead of GB',
      { targeting: { countries: { exclude: ['UK'] } } },
      '/targeting/countries/exclude/0 UK is not a country code. Use GB for the United Kingdom.',
    ],
    [
      'a duplicate value',
      { targeting: { os: { include: ['ios', 'iOS'] } } },
      '/targeting/os/include/1 iOS occurs more than once. Remove the duplicate.',
    ],
    [
      'a value that is both included and excluded',
      { targeting: { os: { include: ['ios'], exclude: ['ios'] } } },
      '/targeting/os/exclude/0 ios cannot be both included and excluded.',
    ],
    [
      'an invalid region code',
      { targeting: { regions: { include: ['California'] } } },
      '/targeting/regions/include/0 California is not a region code (ISO 3166-2, such as US-CA).',
    ],
    [
      'a region outside the included countries',
      { targeting: { countries: { include: ['DE'] }, regions: { include: ['US-CA'] } } },
      '/targeting/regions/include/0 The region US-CA has no effect because its country is not included.',
    ],
    [
      'an end before the start',
      { schedule: { start_at: '2026-02-01T00:00:00Z', end_at: '2026-01-01T00:00:00Z' } },
      '/schedule/end_at The end must be after the start.',
    ],
    [
      'an end equal to the start',
      { schedule: { start_at: '2026-01-01T01:00:00+01:00', end_at: '2026-01-01T00:00:00Z' } },
      '/schedule/end_at The end must be after the start.',
    ],
    [
      'a time without a UTC offset',
      { schedule: { end_at: '2026-01-01T00:00:00' } },
      '/schedule/end_at The value must be a time with a UTC offset, such as 2026-11-27T00:00:00+01:00.',
    ],
    [
      'a date that does not exist',
      { schedule: { end_at: '2026-02-30T00:00:00Z' } },
      '/schedule/end_at The value must be a time with a UTC offset, such as 2026-11-27T00:00:00+01:00.',
    ],
    [
      'an unknown time zone',
      { schedule: { time_zone: 'Mars/Base' } },
      '/schedule/time_zone The time zone Mars/Base is unknown. Use an IANA name, such as Europe/Berlin.',
    ],
    [
      'an offset instead of a time zone',
      { schedule: { time_zone: '+02:00' } },
      '/schedule/time_zone The time zone +02:00 is unknown. Use an IANA name, such as Europe/Berlin.',
    ],
    [
      'hours that end before they start',
      { schedule: { hours: [{ days: [1], from: '22:00', to: '02:00' }] } },
      '/schedule/hours/0/to The end must be after the start. Split a period that crosses midnight into two entries.',
    ],
    [
      'an invalid time of day',
      { schedule: { hours: [{ days: [1], from: '9:00', to: '25:00' }] } },
      '/schedule/hours/0/from The value must be a time of day, such as 09:00.',
    ],
    [
      'no days',
      { schedule: { hours: [{ days: [], from: '09:00', to: '10:00' }] } },
      '/schedule/hours/0/days The list is empty. Remove it, or add an entry.',
    ],
    [
      'a negative cap',
      { frequency_caps: [{ ...cap, limit: -1 }] },
      '/frequency_caps/0/limit The value must be 1 or more.',
    ],
    [
      'a window of zero minutes',
      { frequency_caps: [{ ...cap, window_minutes: 0 }] },
      '/frequency_caps/0/window_minutes The value must be 1 or more. It can also be null.',
    ],
    [
      'a window longer than 180 days',
      { frequency_caps: [{ ...cap, window_minutes: 259_201 }] },
      '/frequency_caps/0/window_minutes The value must be 259,200 or less. It can also be null.',
    ],
    [
      'a duplicate cap',
      { frequency_caps: [cap, { ...cap, limit: 5 }] },
      '/frequency_caps/1 This cap duplicates an earlier one. Remove one of them.',
    ],
    [
      'a negative budget',
      { total_caps: [{ metric: 'budget', per: 'day', limit: -5 }] },
      '/total_caps/0/limit The value must be greater than 0.',
    ],
    [
      'a fraction of an impression',
      { total_caps: [{ metric: 'impressions', per: 'day', limit: 0.5 }] },
      '/total_caps/0/limit The value must be a whole number.',
    ],
    [
      'a NUL character',
      { exclusion_groups: ['a\0b'] },
      '/exclusion_groups/0 The text contains characters that cannot be stored: NUL or unpaired surrogates.',
    ],
    [
      'an unpaired surrogate',
      { targeting: { cities: { include: ['\ud800'] } } },
      '/targeting/cities/include/0 The text contains characters that cannot be stored: NUL or unpaired surrogates.',
    ],
  ])('%s', (_, rules, line) => {
    expect(lines(rules)).toContain(line);
  });

  test('in provisioning overrides too', () => {
    expect(checkCapOverrides({ frequency_caps: null, total_caps: [] })).toEqual([]);
    expect(checkCapOverrides({ frequency_caps: [cap, cap], total_caps: null })).toEqual([
      { path: '/frequency_caps/1', message: 'This cap duplicates an earlier one. Remove one of them.' },
    ]);
  });

  test('in sequence rules too', () => {
    const rule = {
      placement: null,
      positions: null,
      effect: 'deny',
      match: { tags: ['loans'] },
      weight: 100,
      active: true,
    };
    expect(checkSequenceRule(rule)).toEqual([]);
    const messages = (over: object): string[] =>
      checkSequenceRule({ ...rule, ...over }).map(({ path, message }) => `${path} ${message}`);
    expect(messages({ positions: [] })).toEqual(['/positions Enter at least one position, or null for all positions.']);
    expect(messages({ positions: [1, 1] })).toEqual([
      '/positions/1 The value occurs more than once. Remove the duplicate.',
    ]);
    expect(messages({ positions: [11] })).not.toEqual([]);
    expect(messages({ match: {} })).toEqual([
      '/match Enter at least one offer, campaign, advertiser, category or tag.',
    ]);
    expect(messages({ match: { tags: [] } })).toEqual(['/match/tags The list is empty. Remove it, or add an entry.']);
    expect(messages({ placement: 'Check Out' })).toEqual([
      '/placement The value must be a placement name, in lower case and with hyphens instead of spaces.',
    ]);
  });

  test('without an exception for any input', () => {
    let deep: unknown = { key: 'a', op: 'exists' };
    for (let depth = 0; depth < 5000; depth++) deep = { all: [deep] };
    for (const value of [null, undefined, [], 7, { targeting: null }, { schedule: [] }, { conditions: deep }])
      expect(checkRules(value)).not.toEqual([]);
  });
});

describe('conditions on custom keys', () => {
  const custom = new Map([
    ['tier', 'gold'],
    ['basket', '49.90'],
    ['empty', ''],
    ['word', '12 apples'],
    ['flag', 'true'],
  ]);
  test.each<[Condition, boolean]>([
    [{ key: 'tier', op: 'equals', value: 'gold' }, true],
    [{ key: 'flag', op: 'equals', value: true }, true],
    [{ key: 'tier', op: 'not_equals', value: 'gold' }, false],
    [{ key: 'missing', op: 'not_equals', value: 'gold' }, true],
    [{ key: 'tier', op: 'in', value: ['silver', 'gold'] }, true],
    [{ key: 'missing', op: 'in', value: ['undefined'] }, false],
    [{ key: 'missing', op: 'not_in', value: ['gold'] }, true],
    [{ key: 'basket', op: 'gt', value: 49.89 }, true],
    [{ key: 'basket', op: 'gte', value: 49.9 }, true],
    [{ key: 'basket', op: 'lt', value: 49.9 }, false],
    [{ key: 'basket', op: 'lte', value: 49.9 }, true],
    [{ key: 'word', op: 'gt', value: 1 }, false],
    [{ key: 'word', op: 'lt', value: 100 }, false],
    [{ key: 'empty', op: 'lte', value: 0 }, false],
    [{ key: 'missing', op: 'lt', value: 1 }, false],
    [{ key: 'tier', op: 'prefix', value: 'go' }, true],
    [{ key: 'missing', op: 'prefix', value: 'go' }, false],
    [{ key: 'empty', op: 'exists' }, true],
    [{ key: 'missing', op: 'not_exists' }, true],
    [
      {
        all: [
          { key: 'tier', op: 'exists' },
          { key: 'missing', op: 'exists' },
        ],
      },
      false,
    ],
    [
      {
        any: [
          { key: 'tier', op: 'exists' },
          { key: 'missing', op: 'exists' },
        ],
      },
      true,
    ],
  ])('%j evaluates to %s', (condition, expected) => {
    expect(checkCondition(condition, '')).toEqual([]);
    expect(matchesCondition(condition, custom)).toBe(expected);
  });

  test.each<[string, unknown]>([
    ['an unknown comparison', { key: 'a', op: 'matches', value: '.*' }],
    ['an empty list', { key: 'a', op: 'in', value: [] }],
    ['an empty group', { all: [] }],
    ['both all and any in one group', { all: [{ key: 'a', op: 'exists' }], any: [{ key: 'a', op: 'exists' }] }],
    ['a string in a numeric comparison', { key: 'a', op: 'lt', value: '5' }],
    ['an unused value', { key: 'a', op: 'exists', value: 1 }],
    ['an empty prefix', { key: 'a', op: 'prefix', value: '' }],
    ['an invalid key', { key: 'a b', op: 'exists' }],
    ['a missing value', { key: 'a', op: 'equals' }],
    [
      'too many comparisons',
      {
        all: Array.from({ length: 3 }, () => ({ any: Array.from({ length: 50 }, () => ({ key: 'a', op: 'exists' })) })),
      },
    ],
  ])('with %s are rejected', (_, condition) => {
    expect(checkCondition(condition, '')).not.toEqual([]);
  });
});
