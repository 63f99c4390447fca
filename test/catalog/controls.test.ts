import { describe, expect, test } from 'vitest';
import {
  contentCategories,
  controlsOf,
  hostOf,
  noControls,
  rulesInForce,
  rulesOf,
  withoutRules,
} from '../../src/catalog/controls.ts';
import type { Campaign, Offer, StoredControls } from '../../src/catalog/types.ts';
import { decide } from '../../src/decision/decide.ts';
import {
  campaignOf,
  explainAtOnce,
  inputOf,
  offerOf,
  offersOf,
  pays,
  publisherWith,
  shownBy,
} from '../decision/support.ts';

type PartialControls = {
  blocked?: Partial<StoredControls['blocked']>;
  allowed?: Partial<StoredControls['allowed']>;
  placements?: StoredControls['placements'];
  separate?: Partial<StoredControls['separate']>;
};
const rules = (
  { blocked, allowed, placements = {}, separate }: PartialControls,
  floors: StoredControls['floors'] = {},
): StoredControls => ({
  blocked: { ...noControls.blocked, ...blocked },
  allowed: { ...noControls.allowed, ...allowed },
  placements,
  separate: { ...noControls.separate, ...separate },
  floors,
  rule_details: [],
});
const blockOf = (controls: PartialControls, offer: Offer) => controlsOf(rules(controls), null)?.blockOf(offer) ?? null;
const offerWith = (over: Partial<Campaign>): Offer => offerOf(5, campaignOf(7, over));

test.each([
  ['shop.example', 'shop.example'],
  ['*.Shop.Example.', 'shop.example'],
  ['Bücher.example', 'xn--bcher-kva.example'],
  ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
  ['xxx', 'xxx'],
  ['', null],
  ['.', null],
  ['a b', null],
  ['a..b', null],
  ['https://shop.example', null],
  ['user@shop.example', null],
  ['shop.example:443', null],
  ['shop.*', null],
])('reads the domain %j as the host %j', (domain, host) => {
  expect(hostOf(domain)).toBe(host);
});

describe('a domain rule', () => {
  test.each([
    ['https://www.shop.example/?c={click_id}', true],
    ['https://shop.example./', true],
    ['https://SHOP.example:8443/', true],
    ['https://myshop.example/', false],
    ['https://shop.example.evil.test/', false],
    ['https://evil.test/shop.example', false],
  ])('matches %s if it blocks shop.example: %s', (landingUrl, isBlocked) => {
    const block = blockOf({ blocked: { domains: ['Shop.Example.'] } }, offerWith({ landingUrl }));
    expect(block).toEqual(isBlocked ? { by: 'domain', value: 'shop.example' } : null);
  });

  test('also matches the secondary action, and can be written in its native script', () => {
    const offer = { ...offerWith({}), useractionUrl: 'https://www.bücher.example/' };
    expect(blockOf({ blocked: { domains: ['BÜCHER.example'] } }, offer)).toMatchObject({ by: 'domain' });
  });
});

test('every kind of rule blocks, and the match is reported', () => {
  const advertiser = { advertiserName: 'Lucky  GmbH', advertiserId: 9, landingUrl: 'https://www.lucky.example/' };
  const offer = offerWith({ category: 'Games of Chance', ...advertiser });
  const cases: [PartialControls, object | null][] = [
    [{ blocked: { offers: [5] } }, { by: 'offer', value: '5' }],
    [{ blocked: { offers: [7] } }, null],
    [{ blocked: { advertisers: [9] } }, { by: 'advertiser', value: '9' }],
    [{ blocked: { categories: ['games of chance '] } }, { by: 'category', value: 'Games of Chance' }],
    [{ blocked: { categories: ['games'] } }, null],
    [{ blocked: { brands: ['LUCKY GMBH'] } }, { by: 'brand', value: 'Lucky  GmbH' }],
    [{ blocked: { words: ['offer 5'] } }, { by: 'word', value: 'offer 5' }],
    [{ blocked: { words: ['lucky'] } }, { by: 'word', value: 'lucky' }],
    [{ separate: { competitors: [9] } }, { by: 'competitor', value: 'Lucky  GmbH' }],
    [{ separate: { competitors: ['lucky gmbh'] } }, { by: 'competitor', value: 'Lucky  GmbH' }],
    [{ separate: { competitors: ['lucky.example'] } }, { by: 'competitor', value: 'Lucky  GmbH' }],
    [{ separate: { competitors: ['example'] } }, null],
    [{ separate: { competitors: [7, 'Other'] } }, null],
  ];
  for (const [partial, block] of cases) expect([partial, blockOf(partial, offer)]).toEqual([partial, block]);
});

test('words in the markup of terms block nothing, but words in their text do', () => {
  const offer = { ...offerWith({}), termsAndConditions: '<a href="https://x.example/casino">play</a><b>Bingo</b>' };
  expect(blockOf({ blocked: { words: ['casino'] } }, offer)).toBeNull();
  expect(blockOf({ blocked: { words: ['play bingo'] } }, offer)).toBeNull();
  expect(blockOf({ blocked: { words: ['bingo'] } }, offer)).toMatchObject({ value: 'bingo' });
});

test('words of terms are matched as users see them, in every language', () => {
  const blocks = (word: string, terms: string) => {
    const texts = new Map([['fr', { tag: 'fr', texts: { terms_and_conditions: terms } }]]);
    const translations = { texts, imageLanguages: new Set<string>(), localised: new Map() };
    return [
      blockOf({ blocked: { words: [word] } }, { ...offerWith({}), termsAndConditions: terms }) !== null,
      blockOf({ blocked: { words: [word] } }, { ...offerWith({}), translations }) !== null,
    ];
  };
  expect(blocks('free spins', '<p>Get 50 <b>free</b> spins</p>')).toEqual([true, true]);
  expect(blocks('casino', '<p>c<b></b>as<i>in</i>o</p>')).toEqual([true, true]);
  expect(blocks('casino', '<p>ca\u00adsi\u200bno</p>')).toEqual([true, true]);
  expect(blocks('R&D', '<p>Our R&amp;D</p>')).toEqual([true, true]);
  expect(blocks('strong', '<p style="text-align:center"><strong>Read</strong></p>')).toEqual([false, false]);
  expect(blocks('center', '<p style="text-align:center"><strong>Read</strong></p>')).toEqual([false, false]);
  expect(blocks('one two', '<p>one</p><p>two</p>')).toEqual([false, false]);
});

test('unchanged rules are shared with the previous snapshot, and empty rules are null', () => {
  const earlier = controlsOf(rules({ blocked: { offers: [5] } }), null);
  expect(controlsOf(rules({ blocked: { offers: [5] } }), earlier)).toBe(earlier);
  expect(controlsOf(rules({ blocked: { offers: [6] } }), earlier)).not.toBe(earlier);
  expect(controlsOf(noControls, earlier)).toBeNull();
});

describe('a decision', () => {
  const reasons = (stored: StoredControls, offers: readonly Offer[], dev = false) => {
    const publisher = publisherWith(offers, { controls: controlsOf(stored, null) });
    const input = inputOf(publisher, { context: { dev } });
    return {
      shown: shownBy(decide(input)).sort((a, b) => a - b),
      blocked: explainAtOnce(input)
        .filter(({ rule }) => rule === 'blocked_by_publisher')
        .map(({ offer, reason }) => [offer.id, reason.values]),
    };
  };

  test('never shows a blocked offer, even in dev mode, and the explanation names the rule', () => {
    const offers = offersOf(campaignOf(1), campaignOf(2));
    for (const dev of [false, true])
      expect(reasons(rules({ blocked: { offers: [1] } }), offers, dev)).toEqual({
        shown: [2],
        blocked: [[1, { by: 'offer', value: '1', where: 'all' }]],
      });
  });

  test('shows one offer per category if the publisher separates the category', () => {
    const offers = offersOf(
      campaignOf(1, { category: 'Food', weight: 3 }),
      campaignOf(2, { category: 'food ', weight: 2 }),
      campaignOf(3, { weight: 1 }),
      campaignOf(4),
    );
    const apart = reasons(rules({ separate: { categories: true } }), offers);
    expect(apart).toEqual({ shown: [1, 3, 4], blocked: [[2, { by: 'separation', value: 'food ', where: 'all' }]] });
    expect(reasons(rules({}), offers).shown).toEqual([1, 2, 3, 4]);
  });

  test('shows nothing below the floor of its placement, except in dev mode', () => {
    const offers = offersOf(campaignOf(1, { payout: pays('cpm', 4) }), campaignOf(2, { payout: pays('cpm', 2) }));
    const at = (floors: Record<string, number>, dev = false) => reasons(rules({}, floors), offers, dev);
    expect(at({ checkout: 3 })).toEqual({ shown: [1], blocked: [[2, { by: 'floor', value: '3', where: 'all' }]] });
    expect(at({ checkout: 2 }).shown).toEqual([1, 2]);
    expect(at({ Checkout: 5 }).shown).toEqual([]);
    expect(at({ other: 5 }).shown).toEqual([1, 2]);
    expect(at({ checkout: 5 }, true).shown).toEqual([1, 2]);
  });
});

test('an offer must match every allow list, and the first list that it does not match is reported', () => {
  const offer = offerWith({
    category: 'Shoes',
    advertiserName: 'Lucky',
    advertiserId: 9,
    landingUrl: 'https://www.lucky.example/',
  });
  const cases: [NonNullable<PartialControls['allowed']>, object | null][] = [
    [{ categories: ['shoes'], brands: ['LUCKY'], advertisers: [9], domains: ['lucky.example'] }, null],
    [
      { categories: ['hats'], brands: ['lucky'] },
      { by: 'not_category', value: 'Shoes' },
    ],
    [
      { categories: ['shoes'], brands: ['other'] },
      { by: 'not_brand', value: 'Lucky' },
    ],
    [{ advertisers: [8] }, { by: 'not_advertiser', value: 'Lucky' }],
    [{ domains: ['other.example'] }, { by: 'not_domain', value: 'www.lucky.example' }],
  ];
  for (const [allowed, block] of cases) expect(blockOf({ allowed }, offer)).toEqual(block);
  const elsewhere = { ...offer, useractionUrl: 'https://other.example/' };
  expect(blockOf({ allowed: { domains: ['lucky.example'] } }, elsewhere)).toMatchObject({ by: 'not_domain' });
  const blocked = { brands: ['lucky'] };
  expect(blockOf({ allowed: { brands: ['lucky'] }, blocked }, offer)).toMatchObject({ by: 'brand' });
});

test.each([
  ['Food & Drink', 'Alcoholic Beverages', true],
  ['iab:210', 'Alcoholic Beverages', true],
  ['iab:211', 'alcoholic beverages', true],
  ['alcoholic beverages', 'iab:211', true],
  ['Alcoholic Beverages', 'Food & Drink', false],
  ['Food & Drink', 'Cigars', false],
  ['Our own', 'our  own', true],
])('the rule category %s and the campaign category %s match: %s', (rule, category, isBlocked) => {
  expect(blockOf({ blocked: { categories: [rule] } }, offerWith({ category })) !== null).toBe(isBlocked);
});

test('the category list contains each code and name once, with its subcategories', () => {
  for (const key of ['code', 'name'] as const)
    expect(new Set(contentCategories.map((category) => category[key].toLowerCase())).size).toBe(
      contentCategories.length,
    );
  expect(contentCategories.filter(({ parent }) => parent === null)).toHaveLength(38);
  expect(contentCategories).toContainEqual({ code: '211', name: 'Alcoholic Beverages', parent: 'Food & Drink' });
  expect(contentCategories.every(({ code, name }) => /^\w+$/.test(code) && /^[\w(]/.test(name))).toBe(true);
});

test('rules stored by earlier releases have no placement rules and no allow lists', () => {
  const { allowed: _allowed, placements: _placements, ...earlier } = rules({ blocked: { offers: [5] } });
  expect(controlsOf(earlier, null)?.stored).toEqual(rules({ blocked: { offers: [5] } }));
});

describe('a rule that has ended', () => {
  const lists = {
    blocked: { ...noControls.blocked, brands: ['Farm', 'Rival'], offers: [5] },
    allowed: { ...noControls.allowed, domains: ['shop.example'] },
  };
  const all: StoredControls = {
    ...lists,
    placements: { checkout: lists },
    separate: { categories: true, competitors: ['Rival', 7] },
    floors: { checkout: 2, thanks: 3 },
    rule_details: [],
  };

  test('no longer applies from its end, whatever its kind, and all other rules still do', () => {
    const allRules = rulesOf(all);
    for (const rule of allRules) {
      const ends = { ...all, rule_details: [{ ...rule, note: '', ends_at: '2031-01-01T00:00:00.000Z' }] };
      const endMs = Date.parse('2031-01-01T00:00:00Z');
      expect(rulesInForce(ends, endMs - 1)).toBe(ends);
      const others = allRules.filter((other) => other !== rule);
      expect([rule, rulesOf(rulesInForce(ends, endMs))]).toEqual([rule, others]);
      expect(rulesInForce(ends, endMs).rule_details).toEqual([]);
    }
  });

  test('leaves no block rules if it was the only one', () => {
    const [rule] = rulesOf(rules({ blocked: { words: ['half off'] } }));
    expect(controlsOf(withoutRules(rules({ blocked: { words: ['half off'] } }), rule ? [rule] : []), null)).toBeNull();
  });
});
