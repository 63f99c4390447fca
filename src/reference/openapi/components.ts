import { isDeepStrictEqual } from 'node:util';
import { describedAs } from '../../platform/http/schemas.ts';
import { isNode, type Node, nameAnswers, nameErrorAnswers, nameParameters } from './operation-components.ts';

type Components = Record<'schemas' | 'responses' | 'parameters' | 'examples', Node>;

/** Keywords whose values are data, not schemas. */
const dataKeywords = new Set(['default', 'const', 'enum', 'example', 'examples']);

/**
 * Says once what an OpenAPI description says many times. A schema with a `title` becomes the component of that name, an
 * error answer that of its status, a repeated parameter that of its name. What validates requests is not touched.
 * @throws where two different schemas have the same title
 */
export function nameComponents<Document extends object>(document: Document): Document {
  const { components: given, ...rest } = document as { components: Components } & Node;
  const named = new Map<string, Node>();
  const nameSchema = (schema: Node) => referenceTo(named, schema);
  const rewritten = Object.fromEntries(
    Object.entries(rest).map(([part, value]) => [
      part,
      part === 'paths' || part === 'webhooks' ? rewrite(value, nameSchema) : value,
    ]),
  );
  const shared = rewrite(given.schemas, nameSchema, true) as Node;
  const paths = rewritten.paths as Record<string, Node>;
  const schemas = { ...shared, ...Object.fromEntries(named) } as Record<string, Node>;
  const components = {
    ...given,
    schemas: sorted(schemas),
    responses: sorted({ ...nameErrorAnswers(paths), ...nameAnswers(paths) }),
    parameters: sorted(nameParameters(paths)),
  };
  sharePathParameters(paths);
  return { ...rewritten, components } as unknown as Document;
}

const sorted = (node: Node): Node => Object.fromEntries(Object.entries(node).sort(([a], [b]) => (a < b ? -1 : 1)));

/** @param isMap whether the keys are names of properties, not keywords */
function rewrite(value: unknown, nameSchema: (schema: Node) => Node, isMap = false): unknown {
  if (Array.isArray(value)) return value.map((one) => rewrite(one, nameSchema));
  if (!isNode(value)) return value;
  const entries = Object.entries(value).map(([key, one]) => {
    if (isMap) return [key, rewrite(one, nameSchema)];
    return [key, dataKeywords.has(key) ? one : rewrite(one, nameSchema, key === 'properties')];
  });
  const node = Object.fromEntries(entries.filter(([key]) => isMap || !isInternal(key))) as Node;
  if (isMap) return node;
  const schema = simplify(withoutDefaulted(describe(value, node)));
  return typeof schema.title === 'string' ? nameSchema(schema) : schema;
}

/** The sentence of our own validation for a pattern. */
const isInternal = (key: unknown): boolean => key === 'x-problem' || key === describedAs;

/** What a schema is described as: it may validate the text of a number. */
function describe(schema: Node, described: Node): Node {
  const shown = schema[describedAs];
  if (!isNode(shown)) return described;
  const { type: _type, pattern: _pattern, maxLength: _maxLength, ...rest } = described;
  return { ...shown, ...rest };
}

/** A field with a default may be left out. */
function withoutDefaulted(schema: Node): Node {
  const { required, properties } = schema as { required?: string[]; properties?: Record<string, Node> };
  if (!Array.isArray(required) || properties === undefined) return schema;
  const needed = required.filter((name) => !('default' in (properties[name] ?? {})));
  const { required: _required, ...rest } = schema;
  return needed.length === 0 ? rest : { ...rest, required: needed };
}

/** A choice of literals as one `enum`, a plain value or null as one `type`. */
function simplify({ anyOf, ...rest }: Node): Node {
  if (!Array.isArray(anyOf)) return anyOf === undefined ? rest : { anyOf, ...rest };
  const choices = anyOf as Node[];
  const isLiteral = (one: Node) => Array.isArray(one.enum) && Object.keys(one).length === 2;
  const [first = {}, second = {}] = choices;
  if (choices.every((one) => isLiteral(one) && one.type === first.type))
    return { type: first.type, enum: choices.flatMap((one) => one.enum), ...rest };
  if (choices.length === 2 && second.type === 'null' && typeof first.type === 'string' && !('enum' in first))
    return { ...first, type: [first.type, 'null'], ...rest };
  return { anyOf, ...rest };
}

/** Description and default belong to the place where a schema stands: they may differ from those of the component. */
function referenceTo(named: Map<string, Node>, { title, default: preset, description, ...schema }: Node): Node {
  const name = String(title);
  const known = named.get(name) ?? { ...schema, ...(description !== undefined && { description }) };
  named.set(name, known);
  const { description: general, ...first } = known;
  if (!isDeepStrictEqual(first, schema)) throw new Error(`Two different schemas have the title ${name}.`);
  return {
    $ref: `#/components/schemas/${name}`,
    ...(description !== undefined && description !== general && { description }),
    ...(preset !== undefined && { default: preset }),
  };
}

type Operation = { parameters?: Node[] };

/** Says the parameters that all operations of a path have beside these operations, once. */
function sharePathParameters(paths: Record<string, Node>): void {
  for (const methods of Object.values(paths)) {
    const [first, ...rest] = Object.values(methods) as Operation[];
    const isIn = (one: Node) => (operation: Operation) =>
      operation.parameters?.some((other) => isDeepStrictEqual(one, other)) === true;
    const shared = first?.parameters?.filter((one) => rest.every(isIn(one))) ?? [];
    if (rest.length === 0 || shared.length === 0) continue;
    for (const operation of [first as Operation, ...rest]) {
      const own = operation.parameters?.filter((one) => !shared.some((other) => isDeepStrictEqual(one, other))) ?? [];
      if (own.length > 0) operation.parameters = own;
      else delete operation.parameters;
    }
    methods.parameters = shared;
  }
}
