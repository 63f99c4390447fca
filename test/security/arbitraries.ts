import fc from 'fast-check';

export type Schema = {
  type?: string | string[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  allOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  additionalProperties?: boolean | Schema;
  patternProperties?: Record<string, Schema>;
};

/** Strings that are known to break servers. */
export const hostileTexts = [
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  '\ud800',
  'a\udfffb',
  '\u202e\u200b',
  'x'.repeat(3000),
  "' or 1=1 --",
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  '{{ad_fp}}{click_id}{',
  '%00%ff',
  '\\',
  'a\r\nset-cookie: x=1',
  '../../../etc/passwd',
  '__proto__',
  'constructor',
  'toString',
  '-1',
  '0',
  '2147483648',
  '9223372036854775808',
  '1e400',
  'NaN',
  'infinity',
  'true',
  'null',
  '0000-00-00',
  '2026-02-30',
  '0001-01-01',
  '9999-12-31',
  '2026-13-01T25:61:61Z',
  '+275760-09-13T00:00:00Z',
  'Europe/Nowhere',
  '00000000-0000-7000-8000-000000000000',
  'ffffffff-ffff-7fff-bfff-ffffffffffff',
  'http://127.0.0.1:1/',
  'https://[::1]:99999/',
  'javascript:alert(1)',
  'https://a.example/{payout}%zz',
];
const numbers = [0, -0, -1, 1, 0.1, 1e-9, 2 ** 31 - 1, 2 ** 31, -(2 ** 31) - 1, 2 ** 53, 1e21, 1e308, -1e308];
const deep = JSON.parse(`${'['.repeat(2000)}${']'.repeat(2000)}`);
const deepObject = JSON.parse(`${'{"all":['.repeat(500)}${']}'.repeat(500)}`);

/** Values that no schema asks for. */
export const whatever: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...hostileTexts) },
  { weight: 3, arbitrary: fc.constantFrom(...numbers) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
  { weight: 2, arbitrary: fc.constantFrom<unknown>(null, true, [], {}, [null], [[]], deep, deepObject, [1, '1', {}]) },
  { weight: 1, arbitrary: fc.jsonValue() },
);

/** Strings that match the patterns in use: dates, names, codes, URLs. */
const plausible = [
  'a',
  'US',
  'USD',
  'us',
  'checkout',
  'https://a.example/x?c={click_id}',
  'Europe/Berlin',
  '2026-11-21',
  '2026-11-20T10:00:00Z',
  '#ffffff',
  '10px',
  'usp.selection',
  'conversion',
  '1',
  '20',
  'impression',
  '12:30',
  '9:16',
  ...hostileTexts,
];

/** Values that match a schema, with an occasional unexpected value in their place. */
export function sensible(schema: Schema): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 12, arbitrary: fitting(schema) }, { weight: 1, arbitrary: whatever });
}

function fitting(schema: Schema): fc.Arbitrary<unknown> {
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map(fitting));
  if (schema.allOf !== undefined)
    return fc.tuple(...schema.allOf.map(fitting)).map((parts) => Object.assign({}, ...parts));
  if (Array.isArray(schema.type)) return fc.oneof(...schema.type.map((type) => fitting({ ...schema, type })));
  const type = schema.type ?? (schema.properties === undefined ? undefined : 'object');
  if (type === 'object') return objectOf(schema);
  if (type === 'array') return fc.array(sensible(schema.items ?? {}), { maxLength: 4 });
  if (type === 'boolean') return fc.boolean();
  if (type === 'null') return fc.constant(null);
  if (type === 'integer' || type === 'number') return numberOf(schema, type === 'integer');
  if (type === 'string') return textOf(schema);
  return fc.oneof(fc.constantFrom(...plausible), whatever);
}

function objectOf({
  properties = {},
  required = [],
  additionalProperties,
  patternProperties,
}: Schema): fc.Arbitrary<unknown> {
  const declaredProperties = fc.record(
    Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, sensible(schema)])),
    {
      requiredKeys: required.filter((name) => name in properties),
    },
  );
  const more =
    typeof additionalProperties === 'object' ? additionalProperties : Object.values(patternProperties ?? {})[0];
  if (more === undefined) return declaredProperties;
  const others = fc.dictionary(fc.constantFrom(...plausible, 'usp_enabled', 'x-token'), sensible(more), { maxKeys: 4 });
  return fc.tuple(declaredProperties, others).map(([a, b]) => ({ ...(a as object), ...b }));
}

function numberOf({ minimum = -(2 ** 31), maximum = 2 ** 31 }: Schema, whole: boolean): fc.Arbitrary<number> {
  const ends = fc.constantFrom(minimum, maximum, Math.min(maximum, Math.max(minimum, 1)));
  const between = whole
    ? fc.integer({ min: Math.ceil(minimum), max: Math.floor(maximum) })
    : fc.double({ min: minimum, max: maximum, noNaN: true });
  return fc.oneof(ends, between);
}

function textOf({ pattern, minLength = 0, maxLength = 100_000 }: Schema): fc.Arbitrary<string> {
  const rule = pattern === undefined ? /(?:)/ : new RegExp(pattern, 'u');
  const passing = plausible.filter((text) => rule.test(text) && text.length >= minLength && text.length <= maxLength);
  const random = fc.string({ unit: 'binary', maxLength: Math.min(maxLength, 40) });
  return passing.length === 0
    ? random
    : fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...passing) }, { weight: 1, arbitrary: random });
}
