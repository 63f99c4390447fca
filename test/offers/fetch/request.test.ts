import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isPii, normaliseName } from '../../../src/catalog/names.ts';
import { readFetchOffers } from '../../../src/offers/fetch/request.ts';
import type { FetchOffersBody, FetchOffersQuery } from '../../../src/offers/fetch/request-schema.ts';
import { AppError } from '../../../src/platform/errors.ts';

const client = { ip: '198.51.100.1', userAgent: 'Header/1.0', gpc: false };

const read = (body: Record<string, unknown>, query: FetchOffersQuery = {}) =>
  readFetchOffers(query, { placement: 'checkout', ...body } as FetchOffersBody, client);

/** Returns the error that a call causes. */
function refusal(body: Record<string, unknown>, query: FetchOffersQuery = {}): AppError {
  try {
    read(body, query);
  } catch (err) {
    if (err instanceof AppError) return err;
    throw err;
  }
  throw new Error('the request was accepted');
}

describe("the end user's IP address", () => {
  test.each([
    ['is read from the body', '203.0.113.9', '203.0.113.9'],
    ['can be an IPv6 address', '2001:db8::1', '2001:db8::1'],
    ['is the client address if ip is missing', undefined, client.ip],
    ['is the client address if ip is empty', '', client.ip],
    ['is the client address if ip is blank', '  ', client.ip],
    ['is the client address if ip is auto', 'auto', client.ip],
    ['is the client address if ip is AUTO', 'AUTO', client.ip],
    ['can have a port', '203.0.113.9:51234', '203.0.113.9'],
    ['can have a port after an IPv6 address', '[2001:db8::1]:443', '2001:db8::1'],
    ['is the client address if ip is not an address', 'unknown', client.ip],
    ['is the client address if ip is a list', '203.0.113.9, 10.0.0.1', client.ip],
  ])('%s', (_name, ip, expected) => {
    expect(read({ ip }).ip).toBe(expected);
  });
});

describe('the user agent', () => {
  test('is taken from the body, or else from the header', () => {
    expect(read({ ua: 'Body/2' }).userAgent).toBe('Body/2');
    expect(read({}).userAgent).toBe('Header/1.0');
    expect(read({ ua: '' }).userAgent).toBe('Header/1.0');
  });
});

describe('deprecated names', () => {
  test.each([
    ['adpx_fp', 'adFp'],
    ['fingerprint', 'adFp'],
    ['user_agent', 'userAgent'],
  ] as const)('%s means the same as the new name', (name, field) => {
    const request = read({ [name]: 'value-1' });
    expect(request[field]).toBe('value-1');
    expect(request.custom.size).toBe(0);
  });

  test('theme_id means themeId, as a number or text', () => {
    expect(read({ theme_id: 5 }).themeId).toBe('5');
    expect(read({ theme_id: 'Dark Mode' }).themeId).toBe('Dark Mode');
    expect(read({ themeId: '7', theme_id: 5 }).themeId).toBe('7');
    expect(read({ themeId: '' }).themeId).toBeNull();
  });

  test('are overridden by the new name', () => {
    const request = read({ ad_fp: 'new', adpx_fp: 'old', fingerprint: 'older', ua: 'New/1', user_agent: 'Old/1' });
    expect([request.adFp, request.userAgent]).toEqual(['new', 'New/1']);
  });

  test('never become custom attributes, and the request body is not modified', () => {
    const body = {
      placement: 'p',
      adpx_fp: 'a',
      fingerprint: 'b',
      user_agent: 'c',
      theme_id: 1,
      key: 'k',
      api_key: 'k',
      shoe: '42',
    };
    const before = structuredClone(body);
    expect([...readFetchOffers({}, body, client).custom]).toEqual([['shoe', '42']]);
    expect(body).toEqual(before);
  });
});

describe('dev', () => {
  test.each([
    ['1', true],
    [1, true],
    [true, true],
    ['0', false],
    [0, false],
    [false, false],
    [undefined, false],
  ])('%j is %s', (dev, expected) => {
    expect(read({ dev }).dev).toBe(expected);
  });
});

describe('filters', () => {
  test('loyaltyboost has the values none, also and only', () => {
    expect(read({}).loyalty).toBe('none');
    expect(read({}, { loyaltyboost: '0' }).loyalty).toBe('none');
    expect(read({}, { loyaltyboost: '1' }).loyalty).toBe('also');
    expect(read({}, { loyaltyboost: '2' }).loyalty).toBe('only');
  });

  test('creative is read from the body if the query has none', () => {
    for (const creative of ['1', 1, true]) expect(read({ creative }).onlyWithCreative).toBe(true);
    expect(read({ creative: '1' }, { creative: '0' }).onlyWithCreative).toBe(false);
    expect(read({}, { creative: '1' }).onlyWithCreative).toBe(true);
    expect(read({}).onlyWithCreative).toBe(false);
  });

  test('country is upper case, from the body or else the query, and null if absent from both', () => {
    expect(read({ country: 'de' }).country).toBe('DE');
    expect(read({ country: 'De' }, { country: 'US' }).country).toBe('DE');
    expect(read({ country: '' }, { country: 'us' }).country).toBe('US');
    expect(read({}).country).toBeNull();
  });

  test.each([
    ['deu', 'DE'],
    [' Gbr ', 'GB'],
    ['xkx', 'XK'],
    ['UK', 'GB'],
    ['el', 'GR'],
    ['ß', null],
    ['ﬀ', null],
    ['ıt', null],
    ['D\u0130', null],
    ['null', null],
    ['germany', null],
    ['ZZ', null],
    ['d', null],
    [49, null],
    [['DE'], null],
    [{ code: 'DE' }, null],
    [true, null],
  ])('country %j is %j, and an ignored value is noted', (country, expected) => {
    const noted: string[] = [];
    const body = { placement: 'p', country } as FetchOffersBody;
    expect(readFetchOffers({}, body, client, (path) => noted.push(path)).country).toBe(expected);
    expect(noted).toEqual(expected === null ? ['/country'] : []);
  });

  test('an unknown country in the body does not override the one in the query', () => {
    expect(read({ country: 'nowhere' }, { country: 'fra' }).country).toBe('FR');
  });

  test('user IDs may be numbers', () => {
    expect(read({ pub_user_id: 42, ad_fp: 7 })).toMatchObject({ pubUserId: '42', adFp: '7' });
    expect(read({ fingerprint: 1.5 }).adFp).toBe('1.5');
    expect(read({ pub_user_id: 491511234567 }).pubUserId).toBe('491511234567');
  });

  test.each([[[1]], [{ id: 1 }], [true]])('theme %j is ignored and noted', (themeId) => {
    const noted: string[] = [];
    const body = { placement: 'p', themeId } as FetchOffersBody;
    expect(readFetchOffers({}, body, client, (path) => noted.push(path)).themeId).toBeNull();
    expect(noted).toEqual(['/themeId']);
  });

  test('pub_user_id is read from the body, or else the query, and empty counts as absent', () => {
    expect(read({ pub_user_id: 'b' }, { pub_user_id: 'q' }).pubUserId).toBe('b');
    expect(read({ pub_user_id: '' }, { pub_user_id: 'q' }).pubUserId).toBe('q');
    expect(read({ pub_user_id: ' ' }).pubUserId).toBeNull();
  });

  test('campaignId is a number, and any other text counts as absent', () => {
    expect(read({}, { campaignId: ' 42 ' }).campaignId).toBe(42);
    expect(read({}, { campaignId: '9'.repeat(400) }).campaignId).toBe(Number.MAX_SAFE_INTEGER);
    for (const campaignId of ['undefined', 'NaN', '-1', '1.5', '0x10']) {
      expect(read({}, { campaignId }).campaignId).toBeNull();
    }
    expect(read({}).campaignId).toBeNull();
  });
});

describe('personal data in pub_user_id is rejected', () => {
  test.each([
    'ann@example.com',
    'Ann.Lee+shop@mail.example.co.uk',
    'ann@münchen.example',
    '+491511234567',
    '+49 151 1234567',
    '+49 (151) 1234-567',
    '(+49) 151 1234567',
    '0151 1234567',
    '0151-1234567',
    '(0151) 1234567',
    '[0151]1234567',
    '1-800-555-0199',
    ' +49 151 1234567 ',
    '0151\u00a01234567',
  ])('%s', (id) => {
    expect(isPii(id.trim())).toBe(true);
    for (const error of [refusal({ pub_user_id: id }), refusal({}, { pub_user_id: id })]) {
      expect([error.code, error.status, error.details?.[0]?.path]).toEqual(['pub_user_id_is_pii', 400, '/pub_user_id']);
    }
  });
});

describe('a pub_user_id without personal data is accepted', () => {
  test.each([
    '491511234567',
    '1',
    'user-1',
    'user_1@shop',
    '@ann',
    'ann@',
    '3f2504e0-4f89-41d3-9a0c-0305e82c3301',
    'a1b2-c3d4',
    '+',
    '12-34',
    '1234567890123456-78',
    'über-user',
    '12.345.678',
  ])('%s', (id) => {
    expect(read({ pub_user_id: id }).pubUserId).toBe(id);
  });
});

describe('the placement', () => {
  test('is normalised to lower case with hyphens, without leading or trailing spaces', () => {
    expect(read({ placement: '  Order  Review_Page\t' }).placement).toBe('order-review-page');
    expect(read({ placement: 'ÄPFEL' }).placement).toBe('äpfel');
  });

  test('does not change once it is normalised', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(0xffff)), (units) => {
        const once = normaliseName(String.fromCharCode(...units));
        expect(normaliseName(once)).toBe(once);
        expect(once).not.toMatch(/[\s\u0085_A-Z]/);
      }),
    );
  });

  test('has at most 128 characters, including letters that become two in lower case', () => {
    expect(read({ placement: 'x'.repeat(128) }).placement).toHaveLength(128);
    expect(read({ placement: '𝒳'.repeat(128) }).placement).toBe('𝒳'.repeat(128));
    expect(refusal({ placement: 'İ'.repeat(128) })).toMatchObject({
      code: 'missing_placement',
      details: [{ path: '/placement' }],
    });
    const body = { placement: 'İ'.repeat(128) };
    expect(readFetchOffers({}, body, client, undefined, 'receipt').placement).toBe('receipt');
  });

  test('has no character that the database treats as whitespace', () => {
    expect(normaliseName('a\u0085b\u00a0c\u2028d\ufeffe\u3000f')).toBe('a-b-c-d-e-f');
  });

  test.each([undefined, '', ' ', '\t\n'])(
    'is missing if it is %j, so the default is used or the request is rejected',
    (placement) => {
      expect(refusal({ placement })).toMatchObject({ code: 'missing_placement', status: 400 });
      const body = { placement } as FetchOffersBody;
      expect(readFetchOffers({}, body, client, undefined, 'receipt').placement).toBe('receipt');
    },
  );
});

describe('custom keys', () => {
  test('keep text values, and convert numbers, booleans, lists and objects to text', () => {
    const { custom } = read({ a: 'x', b: 1.5, c: false, d: [1, 'two'], e: { f: null }, g: null, h: '' });
    expect(Object.fromEntries(custom)).toEqual({
      a: 'x',
      b: '1.5',
      c: 'false',
      d: '[1,"two"]',
      e: '{"f":null}',
      h: '',
    });
  });

  test('are limited to 50, and any beyond are dropped and noted', () => {
    const noted: string[] = [];
    const body = { placement: 'p', ...Object.fromEntries(Array.from({ length: 52 }, (_, at) => [`k${at}`, '1'])) };
    const { custom } = readFetchOffers({}, body, client, (path) => noted.push(path));
    expect([...custom.keys()]).toEqual(Array.from({ length: 50 }, (_, at) => `k${at}`));
    expect(noted).toEqual(['/k50', '/k51']);
  });

  test('are dropped and noted if they are longer than 512 characters, as text or JSON', () => {
    const noted: string[] = [];
    const body = {
      placement: 'p',
      fits: ['v'.repeat(508)],
      text: 'v'.repeat(513),
      list: ['v'.repeat(509)],
      object: { a: 'v'.repeat(512) },
    };
    const { custom } = readFetchOffers({}, body, client, (path) => noted.push(path));
    expect([...custom]).toEqual([['fits', JSON.stringify(body.fits)]]);
    expect(noted).toEqual(['/text', '/list', '/object']);
  });

  test('have names of 1 to 64 characters and values of up to 512 characters', () => {
    expect(read({ ['n'.repeat(64)]: 'v'.repeat(512) }).custom.size).toBe(1);
  });

  test.each(['a b', 'ä', 'a/b', 'a$', '', 'n'.repeat(65)])('named %j are dropped and noted', (name) => {
    const noted: string[] = [];
    const body = { placement: 'p', [name]: '1', shoe: '42' };
    const { custom } = readFetchOffers({}, body, client, (path) => noted.push(path));
    expect([...custom]).toEqual([['shoe', '42']]);
    expect(noted).toEqual([`/${name.slice(0, 64)}`]);
  });

  test('may not have the names of built-in object properties', () => {
    for (const name of ['__proto__', 'constructor', 'prototype']) {
      const body = JSON.parse(`{"${name}":{"polluted":true}}`);
      const withPlacement = Object.defineProperty(body, 'placement', { value: 'p', enumerable: true });
      expect(() => readFetchOffers({}, withPlacement, client)).toThrow(AppError);
    }
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  test('fail only with a documented error code, and contain only storable text', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ maxLength: 70 }), fc.jsonValue(), { maxKeys: 60 }), (own) => {
        // Known fields have their own types, which the route schema has already checked.
        const knownFields = [
          'placement',
          'ua',
          'ip',
          'ad_fp',
          'pub_user_id',
          'dev',
          'country',
          'creative',
          'themeId',
          'theme_id',
        ];
        fc.pre(!knownFields.some((name) => Object.hasOwn(own, name)));
        try {
          for (const [name, value] of read(own).custom) {
            expect(name).toMatch(/^[A-Za-z0-9_.-]{1,64}$/);
            expect(value.isWellFormed() && !value.includes('\0') && value.length <= 512).toBe(true);
          }
        } catch (err) {
          if (!(err instanceof AppError)) throw err;
          expect(err.code).toBe('invalid_request');
          expect(err.details?.length).toBeLessThanOrEqual(20);
        }
      }),
      { numRuns: 500 },
    );
  });
});

test('replace lone surrogates so that all text can be stored', () => {
  const request = read({
    pub_user_id: 'a\ud800',
    ad_fp: '\udfff',
    ua: 'x\ud83d',
    note: '\ud800',
    placement: 'p\ud800',
  });
  for (const text of [
    request.pubUserId,
    request.adFp,
    request.userAgent,
    request.custom.get('note'),
    request.placement,
  ]) {
    expect(text?.isWellFormed()).toBe(true);
  }
});
