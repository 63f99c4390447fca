import { Readable } from 'node:stream';
import type { Schema } from './arbitraries.ts';

/** Schema with the limits that determine how large a value can be. */
type Sized = Schema & { maxItems?: number; items?: Sized };

/** Body for a call, with the place that was made as large as possible. */
export type LargeBody = { place: string; value: unknown };

/** Contents of long strings: plain text, and texts that are slow to parse as HTML, as a template or as a list. */
export const longTexts: Readonly<Record<string, string>> = {
  letters: 'x',
  spaces: ' ',
  tags: '<b>a</b>',
  macros: '{{a}}',
  accents: 'äé',
  commas: 'a,',
};

/** Maximum length of a string that is too short to take long, in characters. */
const shortLength = 5000;

/**
 * Yields bodies that match a schema, each with one place that is as large as the schema and the limit allow: a long
 * string, a list of many items, or an object with many keys.
 * @param example body that the call accepts
 * @param bytes maximum size of the whole body
 */
export function* largestBodies(schema: Schema, example: unknown, bytes: number): Generator<LargeBody> {
  const room = bytes - JSON.stringify(example ?? {}).length - 200;
  yield* largestValues(schema, example, room, '');
}

function* largestValues(schema: Sized, example: unknown, room: number, place: string): Generator<LargeBody> {
  if (schema.const !== undefined || schema.enum !== undefined) return;
  for (const choice of schema.anyOf ?? []) yield* largestValues(choice, example, room, place);
  for (const part of schema.allOf ?? []) yield* largestValues(part, example, room, place);
  const types = [schema.type ?? (schema.properties === undefined ? [] : 'object')].flat();
  if (types.includes('string') && (schema.maxLength ?? room) > shortLength)
    for (const [name, text] of Object.entries(longTexts)) {
      const length = Math.min(schema.maxLength ?? room, room);
      const count = Math.floor(length / Buffer.byteLength(text));
      yield { place: `${place}: ${name}`, value: text.repeat(count) };
    }
  if (types.includes('array')) yield* largestLists(schema, example, room, place);
  if (types.includes('object')) yield* largestObjects(schema, example, room, place);
  // Values without a type can be anything.
  if (types.length === 0 && schema.anyOf === undefined && schema.allOf === undefined) {
    yield { place: `${place}: letters`, value: 'x'.repeat(room) };
    yield { place: `${place}: list`, value: manyItems(room, Number.POSITIVE_INFINITY, (index) => index) };
  }
}

function* largestLists(schema: Sized, example: unknown, room: number, place: string): Generator<LargeBody> {
  const { items = {}, maxItems = Number.POSITIVE_INFINITY } = schema;
  const [first] = Array.isArray(example) ? (example as unknown[]) : [];
  yield { place: `${place}[]`, value: manyItems(room, maxItems, (index) => smallest(items, index)) };
  for (const { place: inner, value } of largestValues(items, first, room, `${place}[0]`))
    yield { place: inner, value: [value] };
}

function* largestObjects(schema: Sized, example: unknown, room: number, place: string): Generator<LargeBody> {
  const base = typeof example === 'object' && example !== null && !Array.isArray(example) ? example : {};
  const { properties = {}, additionalProperties, patternProperties = {} } = schema;
  const [pattern] = Object.values(patternProperties);
  const others = typeof additionalProperties === 'object' ? additionalProperties : pattern;
  if (others !== undefined) {
    const entries = manyItems(room, Number.POSITIVE_INFINITY, (index) => [`k${index}`, smallest(others, index)]);
    yield { place: `${place}/*`, value: { ...base, ...Object.fromEntries(entries) } };
    for (const { place: inner, value } of largestValues(others, undefined, room, `${place}/k`))
      yield { place: inner, value: { ...base, k: value } };
  }
  for (const [name, property] of Object.entries(properties)) {
    const own = (base as Record<string, unknown>)[name];
    for (const { place: inner, value } of largestValues(property, own, room, `${place}/${name}`))
      yield { place: inner, value: { ...base, [name]: value } };
  }
}

/** Streams a body as if it came over a network, one chunk per turn. */
export const inChunks = (body: Buffer): Readable =>
  Readable.from(
    (function* () {
      for (let at = 0; at < body.length; at += 64 * 1024) yield body.subarray(at, at + 64 * 1024);
    })(),
  );

/** Returns as many items as fit into the given number of bytes of JSON. */
function manyItems<Item>(room: number, maxItems: number, itemOf: (index: number) => Item): Item[] {
  const items: Item[] = [];
  for (let length = 0; items.length < maxItems; ) {
    const item = itemOf(items.length);
    length += Buffer.byteLength(JSON.stringify(item)) + 1;
    if (length > room) break;
    items.push(item);
  }
  return items;
}

/** Strings that match the patterns and formats in use. */
const texts: readonly ((index: number) => string)[] = [
  (index) => `x${index}`,
  (index) => `https://a.example/${index}`,
  () => '2026-11-21',
  () => '2026-11-20T10:00:00Z',
  () => 'US',
  () => 'USD',
  (index) => `10.${(index >> 16) & 255}.${(index >> 8) & 255}.${index & 255}`,
  (index) => String(index + 1),
  () => '#ffffff',
  () => '10px',
  () => '12:30',
  () => 'usp.selection',
  (index) => `019aa8f4-5b00-7000-8000-${String(index).padStart(12, '0')}`,
];

/** Returns a small value that matches a schema. Values with different indexes differ, where the schema allows it. */
function smallest(schema: Sized, index: number): unknown {
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[index % schema.enum.length];
  if (schema.anyOf?.[0] !== undefined) return smallest(schema.anyOf[0], index);
  if (schema.allOf !== undefined) return Object.assign({}, ...schema.allOf.map((part) => smallest(part, index)));
  const [type] = [schema.type ?? (schema.properties === undefined ? 'integer' : 'object')].flat();
  if (type === 'string') {
    const { pattern = '', maxLength = Number.POSITIVE_INFINITY } = schema;
    const rule = new RegExp(pattern, 'u');
    const fitting = texts.map((text) => text(index)).find((text) => rule.test(text) && text.length <= maxLength);
    return fitting ?? 'x';
  }
  if (type === 'integer' || type === 'number')
    return Math.min((schema.minimum ?? 1) + index, schema.maximum ?? 2 ** 31);
  if (type === 'array') return schema.items === undefined ? [] : [smallest(schema.items, index)];
  if (type === 'boolean') return true;
  if (type === 'null') return null;
  const { properties = {}, required = [] } = schema;
  return Object.fromEntries(required.map((name) => [name, smallest(properties[name] ?? {}, index)]));
}
