import type { AgentTool } from './tools.ts';

export type Json = Readonly<Record<string, unknown>>;

type Parameter = { name: string; in: string; required?: boolean; description?: string; schema?: Json };

/** OpenAPI operation that a tool calls. */
export type Operation = {
  method: string;
  path: string;
  description: string;
  parameters: readonly Parameter[];
  body: { schema: Json; isRequired: boolean } | null;
};

/** JSON Schema of a tool's arguments. */
export type InputSchema = { type: 'object'; properties: Record<string, Json>; required?: string[] } & {
  [key: string]: unknown;
};

const methods = ['get', 'post', 'put', 'patch', 'delete'];

/** Returns the operations of an OpenAPI description by ID, with all references resolved. */
export function operationsOf(document: Json): Map<string, Operation> {
  const operations = new Map<string, Operation>();
  for (const [path, item] of Object.entries((document.paths ?? {}) as Record<string, Json>))
    for (const method of methods) {
      const operation = item[method] as Json | undefined;
      if (operation === undefined || typeof operation.operationId !== 'string') continue;
      const listed = [...((item.parameters ?? []) as Json[]), ...((operation.parameters ?? []) as Json[])];
      const body = operation.requestBody as { required?: boolean; content?: Record<string, Json> } | undefined;
      const schema = body?.content?.['application/json']?.schema;
      operations.set(operation.operationId, {
        method: method.toUpperCase(),
        path,
        description: String(operation.description ?? operation.summary ?? ''),
        parameters: listed.map((parameter) => resolve(document, parameter) as Parameter),
        body:
          schema === undefined
            ? null
            : { schema: resolve(document, schema) as Json, isRequired: body?.required === true },
      });
    }
  return operations;
}

/** Maximum nesting depth of a schema. Deeper parts accept any value, and the API validates them. */
const maxDepth = 12;

/** Keywords that a language model does not need. The API checks the values anyway. */
const omittedKeywords = new Set(['example', 'examples', 'pattern', 'title']);

/** Replaces references with the schemas that they refer to. Some clients do not support references. */
function resolve(document: Json, value: unknown, depth = 0, areNames = false): unknown {
  if (depth > maxDepth) return {};
  if (Array.isArray(value)) return value.map((item) => resolve(document, item, depth + 1));
  if (typeof value !== 'object' || value === null) return value;
  const { $ref: reference, ...own } = value as Json;
  if (typeof reference === 'string') {
    const target = reference
      .replace(/^#\//, '')
      .split('/')
      .reduce<unknown>((node, part) => (node as Json | undefined)?.[part], document);
    return { ...(resolve(document, target, depth + 1) as object), ...own };
  }
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => areNames || !omittedKeywords.has(name))
      .map(([name, item]) => [name, resolve(document, item, depth + 1, !areNames && name === 'properties')]),
  );
}

/**
 * Returns the parameters that are arguments of a tool. This excludes headers and the parameters that can carry an API
 * key. If the operation has a body, query parameters are also excluded, because they duplicate its fields.
 */
export const argumentsOf = ({ parameters, body }: Operation, { fixed = {} }: AgentTool): Parameter[] =>
  parameters.filter(
    ({ name, in: place }) =>
      place === 'path' ||
      (place === 'query' &&
        name !== 'accountId' &&
        !Object.hasOwn(fixed, name) &&
        (body === null || name === 'publisher_id')),
  );

/** Derives the arguments of a tool from its operation. The request body becomes the argument `body`. */
export function inputSchemaOf(operation: Operation, tool: AgentTool): InputSchema {
  const parameters = argumentsOf(operation, tool);
  const { body } = operation;
  const required = [
    ...parameters.filter((parameter) => parameter.required === true).map(({ name }) => name),
    ...(body?.isRequired ? ['body'] : []),
  ];
  const entries = parameters.map(({ name, schema = {}, description }) => [
    name,
    { ...schema, ...(description !== undefined && { description }) },
  ]);
  return {
    type: 'object',
    properties: { ...Object.fromEntries(entries), ...(body !== null && { body: body.schema }) },
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
}
