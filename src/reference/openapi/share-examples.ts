import { isNode, type Node } from './operation-components.ts';

type Media = { schema: Node; example?: unknown; examples?: { demo: { $ref: string } } };
type Answer = { $ref?: string; content?: Record<string, Media> };
type Components = {
  schemas: Record<string, Node>;
  responses: Record<string, Answer>;
  examples: Record<string, { value: unknown }>;
};

/** An answer whose example has less than this (bytes of JSON) in named schemas keeps it. */
const minSharedBytes = 120;

const sizeOf = (value: unknown): number => JSON.stringify(value).length;
const nameOf = ($ref: unknown): string => String($ref).slice(String($ref).lastIndexOf('/') + 1);

/**
 * Says an example once that answers have in common: beside the named schema that it is one of. From there tools put
 * together the examples of answers, which mostly are lists and envelopes of named schemas.
 */
export function shareExamples(paths: Record<string, Node>, components: Components): void {
  const { schemas, responses, examples } = components;
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods)) as { responses: Node }[];
  const answers = [...operations.flatMap((one) => Object.values(one.responses)), ...Object.values(responses)];
  const shared = new Map<string, unknown>();
  for (const { content } of answers as Answer[]) {
    const media = content?.['application/json'];
    if (media === undefined) continue;
    const name = media.examples && nameOf(media.examples.demo.$ref);
    const example = name === undefined ? media.example : examples[name]?.value;
    const own = schemas[nameOf(media.schema.$ref)] ?? media.schema;
    const found = new Map<string, unknown>();
    collect(own, example, schemas, found);
    if (sizeOf([...found.values()]) < minSharedBytes) continue;
    for (const [schema, value] of found) if (!shared.has(schema)) shared.set(schema, value);
    delete media.example;
    delete media.examples;
  }
  for (const [name, value] of shared) schemas[name] = { ...schemas[name], examples: [value] };
  const used = new Set(
    (answers as Answer[]).map((one) => nameOf(one.content?.['application/json']?.examples?.demo.$ref)),
  );
  components.examples = Object.fromEntries(Object.entries(examples).filter(([name]) => used.has(name)));
}

/** Finds the parts of an example that are objects of named schemas. */
function collect(schema: Node, value: unknown, schemas: Record<string, Node>, found: Map<string, unknown>): void {
  const {
    $ref,
    allOf,
    properties = {},
    items,
  } = schema as {
    $ref?: string;
    allOf?: Node[];
    properties?: Record<string, Node>;
    items?: Node;
  };
  if (Array.isArray(value)) {
    if (items !== undefined && value.length > 0) collect(items, value[0], schemas, found);
    return;
  }
  if (!isNode(value)) return;
  if ($ref !== undefined) {
    const name = nameOf($ref);
    const { properties: own, allOf: bases } = schemas[name] ?? {};
    if ((own ?? bases) !== undefined && !found.has(name)) found.set(name, value);
    return;
  }
  const rest = Object.fromEntries(Object.entries(value).filter(([name]) => !(name in properties)));
  for (const base of allOf ?? []) collect(base, rest, schemas, found);
  for (const [name, one] of Object.entries(value))
    if (name in properties) collect(properties[name] as Node, one, schemas, found);
}
