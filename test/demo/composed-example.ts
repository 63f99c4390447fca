import { findReference } from '../support/api-description.ts';

type Schema = {
  $ref?: string;
  examples?: unknown[];
  default?: unknown;
  enum?: unknown[];
  const?: unknown;
  type?: string | string[];
  format?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  allOf?: Schema[];
  anyOf?: Schema[];
};

const texts: Record<string, string> = { 'date-time': '2026-01-01T00:00:00.000Z' };
const plainValues: Record<string, unknown> = { integer: 1, number: 1, boolean: true, null: null };

/** An example of a schema as tools put it together: the examples of its parts, and plain values elsewhere. */
export function composedExample(schema: Schema, document: object): unknown {
  const compose = (part: Schema): unknown => composedExample(part, document);
  const { $ref, examples, allOf, anyOf, properties, items, type, format = '' } = schema;
  if ($ref !== undefined) return compose(findReference(document, $ref) as Schema);
  if (examples !== undefined || schema.default !== undefined) return examples?.[0] ?? schema.default;
  if (schema.const !== undefined || schema.enum !== undefined) return schema.const ?? schema.enum?.[0];
  if (anyOf?.[0] !== undefined) return compose(anyOf[0]);
  if (properties !== undefined || allOf !== undefined) {
    const own = Object.entries(properties ?? {}).map(([name, one]) => [name, compose(one)]);
    return Object.assign({}, ...(allOf ?? []).map(compose), Object.fromEntries(own));
  }
  const [first = 'object'] = typeof type === 'string' ? [type] : (type ?? []);
  if (first === 'array') return items === undefined ? [] : [compose(items)];
  return first === 'string' ? (texts[format] ?? 'string') : first in plainValues ? plainValues[first] : {};
}
