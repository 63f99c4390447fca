import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fillLanding, type Landing, type LandingValues, parseLanding } from '../../../src/tracking/clicks/landing.ts';

const values: LandingValues = {
  click_id: 'CLICK',
  session_id: 'SESSION',
  placement: 'check out',
  coupon_code: 'SPRING 5%',
  offer_id: 5,
  campaign_id: 6,
  publisher_id: 7,
};

const fill = (landingUrl: string, overrides: Partial<LandingValues> = {}, param = 'click_id'): string =>
  fillLanding(parseLanding(landingUrl) as Landing, param, { ...values, ...overrides });

const hostile = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    '..',
    '.',
    '../../admin',
    '%2e%2e',
    '@evil.example',
    '//evil.example',
    '\\\\evil.example',
    'a\r\nset-cookie: x=1',
    '\0',
    '\ud800',
    '#x',
    '?a=b',
    '&click_id=forged',
    '{click_id}',
    'https://evil.example/',
    'javascript:alert(1)',
    ':443',
    '\t//evil.example',
  ),
);

describe('a landing page', () => {
  test('gets every macro, percent-encoded, in its path, query and fragment', () => {
    const url = fill(
      'https://shop.example/{campaign_id}/{placement}?c={click_id}&s={session_id}&u={pub_user_id}' +
        '&o={offer_id}&code={coupon_code}#p={publisher_id}',
    );
    expect(url).toBe('https://shop.example/6/check%20out?c=CLICK&s=SESSION&u=&o=5&code=SPRING%205%25#p=7');
  });

  test('gets an empty text for an unknown macro or a missing value', () => {
    const url = fill('https://shop.example/?a={nonsense}&b={constructor}&c={click_id}&u={placement}', {
      placement: null,
    });
    expect(url).toBe('https://shop.example/?a=&b=&c=CLICK&u=');
  });

  test.each([
    ['an example value', 'https://shop.example/?click_id=12345&b=1', 'https://shop.example/?click_id=CLICK&b=1'],
    ['no value', 'https://shop.example/?b=%20x&click_id', 'https://shop.example/?b=%20x&click_id=CLICK'],
    ['a misspelt macro', 'https://shop.example/?click_id={clickid}#f', 'https://shop.example/?click_id=CLICK#f'],
    ['another macro', 'https://shop.example/?click_id={placement}', 'https://shop.example/?click_id=CLICK'],
    [
      'a repeated parameter',
      'https://shop.example/?click_id=1&click_id=2',
      'https://shop.example/?click_id=CLICK&click_id=CLICK',
    ],
    [
      'the macro elsewhere in the URL',
      'https://shop.example/{click_id}?click_id=1',
      'https://shop.example/CLICK?click_id=CLICK',
    ],
  ])('gets the click ID in an existing parameter of its URL, with %s', (_name, landingUrl, expected) => {
    expect(fill(landingUrl)).toBe(expected);
  });

  test("gets the click ID in the campaign's parameter before the fragment, and is otherwise unchanged", () => {
    expect(fill('https://shop.example')).toBe('https://shop.example/?click_id=CLICK');
    expect(fill('https://shop.example/x?a=b%20c+d&e=%2F#f', {}, 'aff_sub')).toBe(
      'https://shop.example/x?a=b%20c+d&e=%2F&aff_sub=CLICK#f',
    );
    expect(fill('https://shop.example/x?')).toBe('https://shop.example/x?click_id=CLICK');
  });

  test('does not get the click ID twice', () => {
    expect(fill('https://shop.example/{click_id}')).toBe('https://shop.example/CLICK');
  });

  test('can be checked for macros that need data of the session', () => {
    expect(parseLanding('https://shop.example/?p={placement}')?.needsSession).toBe(true);
    expect(parseLanding('https://shop.example/#{placement}')?.needsSession).toBe(true);
    expect(parseLanding('https://shop.example/?c={click_id}&s={session_id}')?.needsSession).toBe(false);
  });

  test('must be https', () => {
    for (const url of [
      'http://shop.example/',
      'javascript:alert(1)',
      '//shop.example',
      'https://',
      'https:///shop.example',
      'https:shop.example',
      '',
    ])
      expect(parseLanding(url)).toBeNull();
  });

  test('cannot be changed by any value to another origin, path or header', () => {
    fc.assert(
      fc.property(hostile, hostile, (sessionId, placement) => {
        const hostileValues = { session_id: sessionId, placement };
        const url = new URL(
          fill(
            'https://shop.example/deep/{session_id}/{placement}/end?s={session_id}&p={placement}#{session_id}',
            hostileValues,
          ),
        );
        expect(url.origin).toBe('https://shop.example');
        expect(url.pathname).toMatch(/^\/deep\/[^/]*\/[^/]*\/end$/);
        expect([...url.searchParams.keys()]).toEqual(['s', 'p', 'click_id']);
        expect(url.searchParams.get('s')).toBe(sessionId.toWellFormed());
        expect(url.searchParams.get('p')).toBe(placement.toWellFormed());
        expect(url.searchParams.get('click_id')).toBe('CLICK');
        expect(url.href).toMatch(/^[\x21-\x7e]+$/);
      }),
      { numRuns: 1000 },
    );
  });

  test('cannot be changed to another origin by a macro in the host or directly after it', () => {
    const templates = fc.constantFrom(
      'https://shop.example{placement}',
      'https://shop.example/{placement}',
      'https://shop.example?{placement}',
      'https://shop.example#{placement}',
      'https://shop.example\\{placement}',
      'https://{placement}.shop.example/',
      'https://{placement}@shop.example/',
      'https://shop.example:{placement}/',
    );
    fc.assert(
      fc.property(templates, hostile, (template, placement) => {
        const landing = parseLanding(template);
        if (landing === null) return;
        const url = fillLanding(landing, 'click_id', { ...values, placement });
        expect(new URL(url).origin).toBe(new URL(template).origin);
      }),
      { numRuns: 1000 },
    );
  });

  test('is filled literally, even with special replacement patterns', () => {
    expect(fill('https://shop.example/?u={placement}', { placement: "$&$1$'" })).toBe(
      'https://shop.example/?u=%24%26%241%24%27&click_id=CLICK',
    );
  });
});
