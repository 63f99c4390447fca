import { isDeepStrictEqual } from 'node:util';
import { describedAs } from '../../platform/http/schemas.ts';
import { isNode, type Node, nameAnswers, nameErrorAnswers, nameParameters } from './operation-components.ts';

type Components = Record<'schemas' | 'responses' | 'parameters' | 'examples', Node>;

/** Schema keywords whose values are data rather than schemas. */
const dataKeywords = new Set(['default', 'const', 'enum', 'example', 'examples']);

/**
 * Moves repeated parts of an OpenAPI description to components: schemas with a `title`, the error response for each
 * status, and repeated parameters by name. Does not affect request validation.
 * @throws if two different schemas have the same title
 */
export function nameComponents<Document extends object>(document: Document): Document {
  const { components: existing, ...rest } = document as { components: Components } & Node;
  const schemaByTitle = new Map<string, Node>();
  const nameSchema = (schema: Node) => referenceTo(schemaByTitle, schema);
  const rewritten = Object.fromEntries(
    Object.entries(rest).map(([part, value]) => [
      part,
      part === 'paths' || part === 'webhooks' ? rewrite(value, nameSchema) : value,
    ]),
  );
  const shared = rewrite(existing.schemas, nameSchema, true) as Node;
  const paths = rewritten.paths as Record<string, Node>;
  const schemas = { ...shared, ...Object.fromEntries(schemaByTitle) } as Record<string, Node>;
  const components = {
    ...existing,
    schemas: sorted(schemas),
    responses: sorted({ ...nameErrorAnswers(paths), ...nameAnswers(paths) }),
    parameters: sorted(nameParameters(paths)),
  };
  sharePathParameters(paths);
  return { ...rewritten, components } as unknown as Document;
}

const sorted = (node: Node): Node => Object.fromEntries(Object.entries(node).sort(([a], [b]) => (a < b ? -1 : 1)));

/**
 * Replaces all titled schemas in a part of the document with references, and removes internal keywords.
 * @param isMap whether the keys are property names rather than keywords
 */
function rewrite(value: unknown, nameSchema: (schema: Node) => Node, isMap = false): unknown {
  if (Array.isArray(value)) return value.map((item) => rewrite(item, nameSchema));
  if (!isNode(value)) return value;
  const entries = Object.entries(value).map(([key, child]) => {
    if (isMap) return [key, rewrite(child, nameSchema)];
    return [key, dataKeywords.has(key) ? child : rewrite(child, nameSchema, key === 'properties')];
  });
  const node = Object.fromEntries(entries.filter(([key]) => isMap || !isInternal(key))) as Node;
  if (isMap) return node;
  const schema = simplify(withoutDefaulted(describe(value, node)));
  return typeof schema.title === 'string' ? nameSchema(schema) : schema;
}

/** Whether a schema keyword is only used internally, for our validation. */
const isInternal = (key: unknown): boolean => key === 'x-problem' || key === describedAs;

/**
 * Returns the schema to show in the API description. It may differ from the validation schema, for example because a
 * number is validated as text.
 */
function describe(schema: Node, described: Node): Node {
  const replacement = schema[describedAs];
  if (!isNode(replacement)) return described;
  const { type: _type, pattern: _pattern, maxLength: _maxLength, ...rest } = described;
  return { ...replacement, ...rest };
}

/** Makes fields with a default value optional. */
function withoutDefaulted(schema: Node): Node {
  const { required, properties } = schema as { required?: string[]; properties?: Record<string, Node> };
  if (!Array.isArray(required) || properties === undefined) return schema;
  const needed = required.filter((name) => !('default' in (properties[name] ?? {})));
  const { required: _required, ...rest } = schema;
  return needed.length === 0 ? rest : { ...rest, required: needed };
}

/** Simplifies a union: literals become a single `enum`, and a plain type combined with null becomes a single `type`. */
function simplify({ anyOf, ...rest }: Node): Node {
  if (!Array.isArray(anyOf)) return anyOf === undefined ? rest : { anyOf, ...rest };
  const choices = anyOf as Node[];
  const isLiteral = (choice: Node) => Array.isArray(choice.enum) && Object.keys(choice).length === 2;
  const [first = {}, second = {}] = choices;
  if (choices.every((choice) => isLiteral(choice) && choice.type === first.type))
    return { type: first.type, enum: choices.flatMap((choice) => choice.enum), ...rest };
  if (choices.length === 2 && second.type === 'null' && typeof first.type === 'string' && !('enum' in first))
    return { ...first, type: [first.type, 'null'], ...rest };
  return { anyOf, ...rest };
}

/**
 * Replaces a schema with a reference. The description and default are kept next to the reference, because they may
 * differ from those of the component.
 */
function referenceTo(schemas: Map<string, Node>, { title, default: preset, description, ...schema }: Node): Node {
  const name = String(title);
  const component = schemas.get(name) ?? { ...schema, ...(description !== undefined && { description }) };
  schemas.set(name, component);
  const { description: general, ...first } = component;
  if (!isDeepStrictEqual(first, schema)) throw new Error(`Two different schemas have the title ${name}.`);
  return {
    $ref: `#/components/schemas/${name}`,
    ...(description !== undefined && description !== general && { description }),
    ...(preset !== undefined && { default: preset }),
  };
}

type Operation = { parameters?: Node[] };

/** Moves parameters to the path level if all operations of the path share them. */
function sharePathParameters(paths: Record<string, Node>): void {
  for (const methods of Object.values(paths)) {
    const [first, ...rest] = Object.values(methods) as Operation[];
    const isIn = (parameter: Node) => (operation: Operation) =>
      operation.parameters?.some((other) => isDeepStrictEqual(parameter, other)) === true;
    const shared = first?.parameters?.filter((parameter) => rest.every(isIn(parameter))) ?? [];
    if (rest.length === 0 || shared.length === 0) continue;
    for (const operation of [first as Operation, ...rest]) {
      const own =
        operation.parameters?.filter((parameter) => !shared.some((other) => isDeepStrictEqual(parameter, other))) ?? [];
      if (own.length > 0) operation.parameters = own;
      else delete operation.parameters;
    }
    methods.parameters = shared;
  }
}
