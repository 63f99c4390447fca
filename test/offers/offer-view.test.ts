import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { OfferCopy } from '../../src/catalog/types.ts';
import { readFetchOffers } from '../../src/offers/fetch/request.ts';
import { fillCopy, hasMacros, macroNames, macroValuesOf } from '../../src/offers/offer-view.ts';
import { escapeHtml } from '../../src/platform/lib/escape-html.ts';

/** Text limits from the interface documentation. */
const limits = {
  title: 90,
  description: 220,
  miniText: 160,
  shortHeadline: 60,
  shortDescription: 140,
  ctaYes: 25,
  ctaNo: 25,
} as const;
const fields = Object.keys(limits) as (keyof OfferCopy)[];

const copyWith = (over: Partial<OfferCopy>): OfferCopy => ({
  title: '',
  description: '',
  miniText: '',
  shortHeadline: '',
  shortDescription: '',
  ctaYes: '',
  ctaNo: '',
  ...over,
});

const fillTitle = (title: string, values: Record<string, string>): string =>
  fillCopy(copyWith({ title }), values).title;

describe('a macro', () => {
  test.each([
    ['is replaced by its value', 'Hi {{first_name}}!', { first_name: 'Ada' }, 'Hi Ada!'],
    ['can have spaces around its name', 'Hi {{  first_name  }}!', { first_name: 'Ada' }, 'Hi Ada!'],
    ['without a value is removed, and its spaces collapse', 'Hi {{first_name}}, pick a perk', {}, 'Hi, pick a perk'],
    ['without a value leaves no space at either end of the text', '{{a}} Pick a perk {{b}}', {}, 'Pick a perk'],
    ['without a value in the middle leaves one space', 'Pick {{a}} a perk', {}, 'Pick a perk'],
    ['with an empty value uses its fallback', 'Hi {{first_name|friend}}', { first_name: '' }, 'Hi friend'],
    ['without a value uses its fallback', 'Hi {{ first_name | friend }}!', {}, 'Hi friend!'],
    ['with a blank value uses its fallback', 'Hi {{first_name|friend}}!', { first_name: ' ' }, 'Hi friend!'],
    ['with a value ignores its fallback', 'Hi {{first_name|friend}}!', { first_name: 'Ada' }, 'Hi Ada!'],
    ['can occur more than once', '{{a}}{{b}}{{a}}', { a: 'x', b: 'y' }, 'xyx'],
    ['can have dots, dashes, digits and both cases in its name', '{{A-b.c_1}}', { 'A-b.c_1': 'x' }, 'x'],
    ['inside a value stays text', 'Hi {{a}}', { a: '{{b}}', b: 'secret' }, 'Hi {{b}}'],
    ['named like a built-in object property has no value', '{{constructor}}{{__proto__}}{{toString|none}}', {}, 'none'],
    [
      'with an invalid name stays unchanged',
      'Use {{two words}} or {one} or {{',
      {},
      'Use {{two words}} or {one} or {{',
    ],
  ])('%s', (_name, title, values: Record<string, string>, expected) => {
    expect(fillTitle(title, values)).toBe(expected);
  });

  test('is HTML-escaped everywhere, so that no value becomes markup', () => {
    const copy = copyWith(Object.fromEntries(fields.map((field) => [field, '{{x}}'])));
    for (const text of Object.values(fillCopy(copy, { x: `<a "b" 'c'>&` }))) {
      expect(text).not.toMatch(/[<>"']/);
    }
    expect(fillTitle('{{x}}', { x: `<b>"Tom" & 'Ann'</b>` })).toBe(
      '&lt;b&gt;&quot;Tom&quot; &amp; &#39;Ann&#39;&lt;/b&gt;',
    );
  });

  test('works in every text of the copy', () => {
    const filled = fillCopy(copyWith(Object.fromEntries(fields.map((field) => [field, `{{x}} ${field}`]))), {
      x: 'Ada',
    });
    for (const field of fields) expect(filled[field]).toBe(`Ada ${field}`);
  });

  test('leaves copy without macros unchanged', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        fc.pre(!text.includes('{{'));
        expect(fillTitle(text, { x: 'y' })).toBe(text);
      }),
    );
  });
});

describe('a filled text', () => {
  const piece = fc.oneof(
    fc.constantFrom('{{a}}', '{{b|fallback}}', '{{missing}}', '{{missing|plan B}}'),
    fc.constantFrom('word', ' ', ', ', '😀', '👩‍👩‍👧'),
    fc.string({ unit: 'grapheme', maxLength: 12 }).filter((text) => !/[&<>"'{}]/.test(text)),
  );
  const template = fc.array(piece, { maxLength: 20 }).map((pieces) => `{{a}}${pieces.join('')}`);
  const character = fc.oneof(
    fc.constantFrom('&', '<', '>', '"', "'", '😀', ' '),
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }),
  );
  const value = fc.string({ unit: character, maxLength: 512 }).map((text) => text.toWellFormed());

  test('stays within its field limit for any value without splitting an entity or character', () => {
    fc.assert(
      fc.property(template, value, value, (text, a, b) => {
        const filled = fillCopy(copyWith(Object.fromEntries(fields.map((field) => [field, text]))), { a, b });
        for (const field of fields) {
          expect(filled[field].length).toBeLessThanOrEqual(limits[field]);
          expect(filled[field].isWellFormed()).toBe(true);
          expect(filled[field].replace(/&(amp|lt|gt|quot|#39);/g, '')).not.toMatch(/[&<>"']/);
        }
      }),
      { numRuns: 1000 },
    );
  });

  test('is cut before an entity that would not fit, wherever the limit falls', () => {
    for (const [sign, entity] of [
      ['&', '&amp;'],
      ["'", '&#39;'],
      ['"', '&quot;'],
    ] as const) {
      for (let before = 15; before <= 25; before++) {
        const start = 'x'.repeat(before);
        const expected = before + entity.length <= 25 ? `${start}${entity}`.padEnd(25, 'y') : start;
        expect(fillCopy(copyWith({ ctaYes: '{{x}}' }), { x: `${start}${sign}${'y'.repeat(30)}` }).ctaYes).toBe(
          expected,
        );
      }
    }
  });

  test('is cut before a two-unit character that would not fit', () => {
    expect(fillCopy(copyWith({ ctaYes: '{{x}}' }), { x: `${'x'.repeat(24)}😀` }).ctaYes).toBe('x'.repeat(24));
    expect(fillCopy(copyWith({ ctaYes: '{{x}}' }), { x: `${'x'.repeat(23)}😀😀` }).ctaYes).toBe(`${'x'.repeat(23)}😀`);
  });

  test('is not cut if its length is exactly the limit', () => {
    expect(fillCopy(copyWith({ ctaNo: '{{x}}' }), { x: 'n'.repeat(25) }).ctaNo).toBe('n'.repeat(25));
    expect(fillCopy(copyWith({ ctaNo: '{{x}}' }), { x: 'n'.repeat(26) }).ctaNo).toBe('n'.repeat(25));
  });
});

describe('a macro value', () => {
  const body = {
    placement: 'Order Review',
    ua: 'Browser/1',
    ip: '203.0.113.7',
    ad_fp: 'fingerprint-1',
    pub_user_id: 'user-1',
    country: 'de',
    key: 'secret-key',
    api_key: 'secret-key',
    adpx_fp: 'fingerprint-2',
    fingerprint: 'fingerprint-3',
    user_agent: 'Old/1',
    dev: '0' as const,
    themeId: 5,
    first_name: 'Ada',
    basket: 12.5,
  };
  const request = readFetchOffers({ api_key: 'secret-key' }, body, {
    ip: '203.0.113.7',
    userAgent: 'Header/1',
    gpc: false,
  });

  test('is a custom attribute or a non-identifying request field', () => {
    const names = ['first_name', 'basket', 'placement', 'country', 'pub_user_id', 'ua', 'unknown'];
    expect(macroValuesOf(request, names)).toEqual({
      first_name: 'Ada',
      basket: '12.5',
      placement: 'order-review',
      country: 'DE',
      pub_user_id: 'user-1',
      ua: 'Browser/1',
    });
  });

  test('is never an IP address, a fingerprint or a key', () => {
    const names = [
      'ip',
      'key',
      'api_key',
      'ad_fp',
      'adpx_fp',
      'fingerprint',
      'user_agent',
      'adFp',
      'dev',
      'themeId',
      'custom',
      '__proto__',
    ];
    const values = macroValuesOf(request, names);
    expect(values).toEqual({});
    expect(fillTitle(names.map((name) => `{{${name}}}`).join(' '), values)).toBe('');
  });
});

test('the macro names of a copy are listed once each', () => {
  const copy = copyWith({ title: '{{a}} {{b|x}}', ctaYes: '{{ a }}', miniText: '{{c' });
  expect(macroNames(copy)).toEqual(new Set(['a', 'b']));
  expect(hasMacros(copy)).toBe(true);
  expect(hasMacros(copyWith({ title: 'a } b' }))).toBe(false);
});

test('escaped text contains no character that can end a text or an attribute', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      expect(escapeHtml(text)).not.toMatch(/[<>"']|&(?!(amp|lt|gt|quot|#39);)/);
    }),
  );
});
