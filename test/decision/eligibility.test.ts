import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type CampaignRules, checkRules, type TargetList } from '../../src/catalog/rules.ts';
import type { Campaign, Offer } from '../../src/catalog/types.ts';
import type { DecisionContext } from '../../src/decision/types.ts';
import {
  campaignOf,
  contextOf,
  decideOfferIds,
  imageCreative,
  offerOf,
  offersOf,
  provisionTo,
  withRules,
} from './support.ts';

const values = {
  countries: ['US', 'CA', 'DE', 'FR'],
  regions: ['US-CA', 'US-NY', 'CA-ON'],
  cities: ['Berlin', 'Paris'],
  postal_codes: ['94107', '941*', '10115'],
  placements: ['checkout', 'account'],
  platforms: ['web', 'ios', 'android'],
  os: ['ios', 'windows'],
  browsers: ['chrome', 'safari'],
  devices: ['mobile', 'desktop'],
} as const;

const listOf = (from: readonly string[]): fc.Arbitrary<TargetList> =>
  fc
    .constantFrom('include', 'exclude')
    .chain((side) =>
      fc.uniqueArray(fc.constantFrom(...from), { minLength: 1, maxLength: 2 }).map((list) => ({ [side]: list })),
    );

const targetings = fc.record(
  {
    countries: listOf(values.countries),
    regions: listOf(values.regions),
    cities: listOf(values.cities),
    postal_codes: listOf(values.postal_codes),
    placements: listOf(values.placements),
    platforms: listOf(values.platforms),
    os: listOf(values.os),
    browsers: listOf(values.browsers),
    devices: listOf(values.devices),
  },
  { requiredKeys: [] },
);

const rulesOf: fc.Arbitrary<CampaignRules> = fc
  .record(
    {
      targeting: targetings,
      schedule: fc.record({
        time_zone: fc.constantFrom('UTC', 'America/New_York', 'Asia/Kathmandu'),
        hours: fc.array(
          fc.record({
            days: fc.uniqueArray(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 7 }),
            from: fc.constantFrom('00:00', '06:30', '09:00'),
            to: fc.constantFrom('12:00', '17:45', '24:00'),
          }),
          { minLength: 1, maxLength: 2 },
        ),
      }),
      conditions: fc.constant({ key: 'tier', op: 'equals', value: 'gold' } as const),
      without_identity: fc.constantFrom('serve', 'withhold'),
    },
    { requiredKeys: [] },
  )
  .filter((rules) => checkRules(rules).length === 0);

const anyOf = <T>(from: readonly T[]): fc.Arbitrary<T | null> => fc.constantFrom(...from, null);

const contexts: fc.Arbitrary<DecisionContext> = fc
  .record({
    geo: fc.record({
      country: anyOf([...values.countries, 'JP']),
      region: anyOf([...values.regions, 'JP-13']),
      city: anyOf([...values.cities, 'BERLIN']),
      postalCode: anyOf(['94107', '94199', '101 15']),
      timeZone: anyOf(['Europe/Berlin']),
    }),
    placement: fc.constantFrom('checkout', 'account', 'other'),
    platform: anyOf(values.platforms),
    os: anyOf(values.os),
    browser: anyOf(values.browsers),
    device: anyOf(values.devices),
    custom: fc.constantFrom(new Map<string, string>(), new Map([['tier', 'gold']])),
    nowMs: fc.integer({ min: Date.UTC(2026, 0, 1), max: Date.UTC(2027, 0, 1) }),
    userKey: anyOf(['user']),
    loyalty: fc.constantFrom('none', 'also', 'only'),
    onlyWithCreative: fc.boolean(),
    campaignId: fc.option(fc.integer({ min: 1, max: 12 }), { freq: 4 }),
    surface: fc.constantFrom('unit', 'offerwall'),
    dev: fc.boolean(),
  })
  .map((over) => contextOf({ ...over, count: 100 }));

/** Reference implementation that evaluates the original rules one by one. */
function naive(offers: readonly Offer[], context: DecisionContext): number[] {
  return offers.filter((offer) => isEligible(offer, context)).map(({ id }) => id);
}

function isEligible({ campaign, creatives, offerwallEnabled }: Offer, context: DecisionContext): boolean {
  if (context.campaignId !== null && context.campaignId !== campaign.id) return false;
  if (context.loyalty !== 'also' && campaign.isLoyalty !== (context.loyalty === 'only')) return false;
  if (context.onlyWithCreative && creatives.length === 0) return false;
  if (context.surface === 'offerwall' && !offerwallEnabled) return false;
  if (context.dev) return true;
  const { targeting = {}, schedule, conditions, without_identity } = campaign.rules;
  if (without_identity === 'withhold' && context.userKey === null) return false;
  const valueByKey: Record<string, string | null> = {
    countries: context.geo.country,
    regions: context.geo.region,
    cities: context.geo.city,
    postal_codes: context.geo.postalCode?.replaceAll(' ', '') ?? null,
    placements: context.placement,
    platforms: context.platform,
    os: context.os,
    browsers: context.browser,
    devices: context.device,
  };
  for (const [key, { include, exclude }] of Object.entries(targeting)) {
    const value = valueByKey[key]?.toLowerCase() ?? null;
    const has = (list: readonly string[]): boolean =>
      list.some((entry) =>
        entry.endsWith('*') ? value?.startsWith(entry.slice(0, -1)) : entry.toLowerCase() === value,
      );
    if (include !== undefined && !has(include)) return false;
    if (exclude !== undefined && has(exclude)) return false;
  }
  if (conditions !== undefined && context.custom.get('tier') !== 'gold') return false;
  if (schedule?.hours === undefined) return true;
  const parts = new Intl.DateTimeFormat('en-GB', {
    timeZone: schedule.time_zone as string,
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
  const text = Object.fromEntries(parts.formatToParts(context.nowMs).map(({ type, value }) => [type, value]));
  const day = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'].indexOf(text.weekday as string) + 1;
  const at = `${text.hour}:${text.minute}`;
  return schedule.hours.some(({ days, from, to }) => days.includes(day) && from <= at && at < to);
}

describe('the offers that may be shown', () => {
  const campaigns = fc
    .array(fc.record({ rules: rulesOf, isLoyalty: fc.boolean(), hasImage: fc.boolean(), onWall: fc.boolean() }), {
      minLength: 1,
      maxLength: 40,
    })
    .map((list) =>
      list.map(({ rules, isLoyalty, hasImage, onWall }, index) =>
        offerOf(index + 1, withRules(index + 1, rules, { isLoyalty }), {
          creatives: hasImage ? [imageCreative] : [],
          offerwallEnabled: onWall,
        }),
      ),
    );

  test('match those of evaluating the rules one by one, for any campaigns and any request', () => {
    fc.assert(
      fc.property(campaigns, fc.array(contexts, { minLength: 3, maxLength: 3 }), (offers, requests) => {
        for (const context of requests) expect(decideOfferIds(offers, { context })).toEqual(naive(offers, context));
      }),
      { numRuns: 1000 },
    );
  });

  test('are the same with one campaign as with a thousand others', () => {
    const targeted = withRules(500, { targeting: { countries: { include: ['DE'] } } });
    const others = Array.from({ length: 1000 }, (_, at) =>
      withRules(1000 + at, { targeting: { countries: { include: ['US'] } } }),
    );
    expect(
      decideOfferIds(offersOf(...others, targeted), {
        context: { geo: { country: 'DE', region: null, city: null, postalCode: null, timeZone: null }, count: 100 },
      }),
    ).toEqual([500]);
  });
});

describe('a campaign is served', () => {
  const served = (campaign: Campaign, over: Partial<DecisionContext> = {}): boolean =>
    decideOfferIds(offersOf(campaign), { context: over }).length === 1;

  test('from its start to its end, to the millisecond', () => {
    const campaign = withRules(1, {
      schedule: { start_at: '2026-11-21T12:00:00Z', end_at: '2026-11-21T14:00:00+01:00' },
    });
    const [startMs, endMs] = [Date.UTC(2026, 10, 21, 12), Date.UTC(2026, 10, 21, 13)];
    expect([startMs - 1, startMs, endMs - 1, endMs].map((nowMs) => served(campaign, { nowMs }))).toEqual([
      false,
      true,
      true,
      false,
    ]);
  });

  test("in the hours of its own time zone, or else the user's, or else the publisher's", () => {
    const hours = [{ days: [6], from: '13:00', to: '13:30' }];
    const nowMs = Date.UTC(2026, 10, 21, 12, 15);
    const at = (time_zone: string | undefined, user: string | null, publisher: string): boolean =>
      decideOfferIds(
        offersOf(withRules(1, { schedule: { hours, ...(time_zone === undefined ? {} : { time_zone }) } })),
        { context: { nowMs, geo: { country: null, region: null, city: null, postalCode: null, timeZone: user } } },
        { timeZone: publisher },
      ).length === 1;
    expect(at('Europe/Berlin', 'UTC', 'UTC')).toBe(true);
    expect(at('UTC', 'Europe/Berlin', 'Europe/Berlin')).toBe(false);
    expect(at(undefined, 'Europe/Berlin', 'UTC')).toBe(true);
    expect(at(undefined, null, 'Europe/Berlin')).toBe(true);
    expect(at(undefined, null, 'UTC')).toBe(false);
    expect(at(undefined, 'No/Where', 'Europe/Berlin')).toBe(false);
  });

  test('across the hour that a clock change skips or repeats', () => {
    const campaign = withRules(1, {
      schedule: { time_zone: 'Europe/Berlin', hours: [{ days: [7], from: '03:00', to: '04:00' }] },
    });
    expect(served(campaign, { nowMs: Date.UTC(2026, 2, 29, 0, 59) })).toBe(false); // 01:59; 03:00 is next
    expect(served(campaign, { nowMs: Date.UTC(2026, 2, 29, 1, 0) })).toBe(true);
    expect(served(campaign, { nowMs: Date.UTC(2026, 9, 25, 1, 59) })).toBe(false); // 02:59 for the second time
    expect(served(campaign, { nowMs: Date.UTC(2026, 9, 25, 2, 0) })).toBe(true);
  });

  test('only to publishers that it is provisioned to', () => {
    const foreign = campaignOf(1, { publisherId: 2, provisions: new Map([[2, provisionTo(2)]]) });
    expect(served(foreign)).toBe(false);
    expect(served({ ...foreign, provisions: new Map([[1, provisionTo(1)]]) })).toBe(true);
    expect(served({ ...foreign, provisions: new Map([[1, provisionTo(1, { active: false })]]) })).toBe(false);
    expect(served(foreign, { dev: true })).toBe(false);
  });

  test('never if its stored rules are invalid, without affecting other campaigns', () => {
    const broken = [
      { targeting: { countries: { include: 'US' } } },
      { schedule: { start_at: 'soon' } },
      { schedule: { time_zone: 'Mars/Base' } },
      { schedule: { hours: [{ days: [1], from: 'x', to: 'y' }] } },
      { schedule: { hours: 7 } },
      { targeting: { cities: { include: [7] } } },
      { frequency_caps: 'many' },
      { total_caps: {} },
    ] as unknown as CampaignRules[];
    const offers = offersOf(...broken.map((rules, at) => withRules(at + 1, rules)), campaignOf(99));
    expect(decideOfferIds(offers)).toEqual([99]);
  });
});
