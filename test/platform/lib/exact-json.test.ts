import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseExactJson } from '../../../src/platform/lib/exact-json.ts';

const parse = (text: string): unknown => parseExactJson<unknown>(text, JSON.parse);

describe('an integer beyond 2^53 is kept as its original text', () => {
  test.each([
    ['{"id":9007199254740993}', { id: '9007199254740993' }],
    ['[9007199254740992,9007199254740993]', ['9007199254740992', '9007199254740993']],
    ['{"a":-12345678901234567890}', { a: '-12345678901234567890' }],
    ['{"a":12345678901234567.50}', { a: '12345678901234567.50' }],
    ['{"a":{"b":[100000000000000000000]}}', { a: { b: ['100000000000000000000'] } }],
    ['10000000000000000', '10000000000000000'],
    [`[${'9'.repeat(400)}]`, ['9'.repeat(400)]],
  ])('%s', (text, value) => {
    expect(parse(text)).toEqual(value);
  });
});

describe('any other value is parsed like JSON.parse', () => {
  test.each([
    '{"id":9007199254740991,"time":1732800000000000}',
    '{"lat":52.520006599999997,"weight":0.30000000000000004}',
    '[1e3,1E400,1.2345678901234567e+18,-0,0.1]',
    '{"1234567890123456789":"1234567890123456789 and \\"9999999999999999999\\" \\\\"}',
  ])('%s', (text) => {
    expect(parse(text)).toEqual(JSON.parse(text));
  });

  test.each([
    '{12345678901234567890:1}',
    '[012345678901234567890]',
    '12345678901234567890x',
    '[1.12345678901234567890.]',
  ])('%s stays malformed', (text) => {
    expect(() => parse(text)).toThrow(SyntaxError);
  });

  test('for generated values', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.array(fc.stringMatching(/^[0-9"\\\\]{0,40}$/)), (value, texts) => {
        const text = JSON.stringify([value, texts, 12345678901234567890n.toString()]);
        const hasLarge = /[^"\\\d.eE+-]-?\d{16,}/.test(text.replace(/"(?:[^"\\]|\\.)*"/g, '""'));
        fc.pre(!hasLarge);
        expect(parse(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  test('two different numbers never become equal', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }), fc.bigInt({ min: 1n, max: 5n }), (id, step) => {
        const [first, other] = parse(`[${id},${id + step}]`) as unknown[];
        expect(String(first)).toBe(String(id));
        expect(String(other)).toBe(String(id + step));
      }),
    );
  });

  test('a megabyte of quotes and digits is parsed', () => {
    const value = { a: '"\\'.repeat(250_000), b: '1234567890123456'.repeat(30_000) };
    expect(parse(JSON.stringify(value))).toEqual(value);
  });
});
