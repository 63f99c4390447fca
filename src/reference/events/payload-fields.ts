import type { ApiDocument } from '../openapi/example-request.ts';
import { isNode, type Node } from '../openapi/operation-components.ts';
import { formatValue, typeOf, valuesOf } from '../operations/fields.ts';

/**
 * Fields of the event payloads with their types, by event and by the release that added them, newest last. Fields that
 * no release contains yet are under `unreleased`. A test keeps `assets/openapi/events.json` up to date.
 */
export type EventHistory = Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, string>>>>>>;

/** URL path of the event catalogue. */
export const eventsPath = '/docs/events';

/** Name of the release in preparation, as in the changelog. */
export const unreleased = 'Unreleased';

/** Field of a payload. `path` is its name after those of the objects around it, such as `body.campaigns[].title`. */
export type PayloadField = {
  path: string;
  type: string;
  required: boolean;
  description: string | null;
  /** Only values that the field can have. Empty if it can have others. */
  values: unknown[];
  /** Release that added the field, or null if it is not in the history. */
  since: string | null;
  /** Value in the sample payload. Absent if the sample does not contain the field. */
  example?: unknown;
};

/** Release with the fields that it added to an event. The first release of an event added all of its fields. */
export type EventChange = { release: string; isFirst: boolean; fields: string[] };

/** Description without components, because the schemas of events contain no references. */
export const noReferences = { paths: {} } as ApiDocument;

/** Returns the object schema that a schema contains, and the suffix of its path: `[]` if it is the item of an array. */
function objectIn(schema: Node): { properties: Record<string, Node>; required: string[]; suffix: string } | null {
  const { properties, items, anyOf, required = [] } = schema;
  if (isNode(properties))
    return { properties: properties as Record<string, Node>, required: required as string[], suffix: '' };
  if (isNode(items)) {
    const inner = objectIn(items);
    return inner === null ? null : { ...inner, suffix: `[]${inner.suffix}` };
  }
  for (const form of (anyOf as Node[] | undefined) ?? []) {
    const inner = objectIn(form);
    if (inner !== null) return inner;
  }
  return null;
}

/** Returns the first value in a sample below a path suffix, which is a number of `[]`. */
function firstIn(value: unknown, suffix: string): unknown {
  let inner = value;
  for (let depth = suffix.length / 2; depth > 0; depth--) inner = Array.isArray(inner) ? inner[0] : undefined;
  return inner;
}

/** Returns the fields of a payload schema, each object before its members. */
export function payloadFields(schema: Node, sample: unknown, history: EventHistory[string] = {}): PayloadField[] {
  const added = new Map(
    Object.entries(history).flatMap(([name, fields]) => Object.keys(fields).map((at) => [at, name])),
  );
  const fields: PayloadField[] = [];
  const collect = (node: Node, value: unknown, prefix: string): void => {
    const object = objectIn(node);
    if (object === null) return;
    const values = firstIn(value, object.suffix);
    for (const [name, property] of Object.entries(object.properties)) {
      const path = `${prefix}${name}`;
      const example = isNode(values) ? values[name] : undefined;
      fields.push({
        path,
        type: typeOf(noReferences, property),
        required: object.required.includes(name),
        description: typeof property.description === 'string' ? property.description : null,
        values: valuesOf(property),
        since: added.get(path) ?? null,
        ...(example !== undefined && { example }),
      });
      const inner = objectIn(property);
      if (inner !== null) collect(property, example, `${path}${inner.suffix}.`);
    }
  };
  collect(schema, sample, '');
  return fields;
}

/** Returns the releases that changed an event, newest first. */
export const eventChanges = (history: EventHistory[string] = {}): EventChange[] =>
  Object.entries(history)
    .map(([release, fields], index) => ({ release, isFirst: index === 0, fields: Object.keys(fields) }))
    .reverse();

const maxExampleLength = 80;

/** Returns an example as text that fits on a line, or null for objects, lists of objects and absent examples. */
export function shortExample(example: unknown): string | null {
  if (example === undefined || isNode(example)) return null;
  if (Array.isArray(example) && example.some(isNode)) return null;
  const text = formatValue(example);
  return text.length > maxExampleLength ? `${text.slice(0, maxExampleLength)}…` : text;
}
