import type { Node } from './operation-components.ts';

type Parameter = { $ref?: string; in: string; name: string; required?: boolean; example?: string | number | boolean };
type Media = { schema: { $ref?: string }; example?: unknown; examples?: { demo: { $ref: string } } };
type ResponseObject = { $ref?: string; content?: Record<string, Media> };
type Body = { content: Record<string, { example?: unknown }> };
export type Operation = {
  operationId: string;
  security?: Record<string, string[]>[];
  parameters?: Parameter[];
  requestBody?: Body;
  responses: Record<string, ResponseObject>;
};
type PathItem = { parameters?: Parameter[] } & { [method: string]: Operation };
export type ApiDocument = {
  info: { description: string };
  paths: Record<string, PathItem>;
  components: {
    parameters: Record<string, Parameter>;
    responses: Record<string, ResponseObject>;
    securitySchemes: Record<string, Node>;
    examples: Record<string, { value: unknown }>;
  };
};

/** Returns all operations in a document by operation ID, including the parameters from their path. */
export const operationsById = ({ paths }: ApiDocument) =>
  new Map(
    Object.entries(paths).flatMap(([path, { parameters = [], ...methods }]) =>
      Object.entries(methods as Record<string, Operation>).map(([method, operation]) => {
        const all = [...parameters, ...(operation.parameters ?? [])];
        return [operation.operationId, { path, method, operation: { ...operation, parameters: all } }] as const;
      }),
    ),
  );

/** Returns the parameters of an operation, with references resolved. */
export const parametersOf = ({ components }: ApiDocument, { parameters = [] }: Operation): Parameter[] =>
  parameters.map(({ $ref, ...parameter }) =>
    $ref === undefined
      ? parameter
      : (components.parameters[$ref.slice('#/components/parameters/'.length)] as Parameter),
  );

/** Returns the example request body of an operation. */
export const bodyExampleOf = ({ requestBody }: Operation): unknown =>
  requestBody?.content['application/json']?.example ?? requestBody?.content['text/csv']?.example;

export type ExampleRequest = {
  method: string;
  /** Request path, including the query string. */
  url: string;
  headers: Record<string, string>;
  payload?: string;
};

/**
 * Builds the example call for an operation.
 * @param keys API keys by security scheme; the first scheme of the operation that has a key is used
 * @param values, body replacements for the example parameters, by name, and for the example body
 */
export function exampleRequestOf(
  document: ApiDocument,
  { path, method, operation }: { path: string; method: string; operation: Operation },
  keys: Record<string, string>,
  values: Record<string, string> = {},
  body: unknown = bodyExampleOf(operation),
): ExampleRequest {
  const parameters = parametersOf(document, operation).flatMap(({ in: place, name, example }) => {
    const value = values[name] ?? example;
    return value === undefined ? [] : [{ place, name, value: String(value) }];
  });
  const inPlace = (place: string) => parameters.filter((parameter) => parameter.place === place);
  const url = inPlace('path').reduce(
    (text, { name, value }) => text.replace(`{${name}}`, encodeURIComponent(value)),
    path,
  );
  const query = new URLSearchParams(inPlace('query').map(({ name, value }): [string, string] => [name, value]));
  const schemes = (operation.security ?? [{ bearer: [] }]).flatMap((requirement) => Object.keys(requirement));
  const key = schemes.map((scheme) => keys[scheme]).find((candidate) => candidate !== undefined);
  return {
    method: method.toUpperCase(),
    url: query.size === 0 ? url : `${url}?${query}`,
    headers: {
      ...Object.fromEntries(inPlace('header').map(({ name, value }) => [name, value])),
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...(body !== undefined && { 'content-type': typeof body === 'string' ? 'text/csv' : 'application/json' }),
    },
    ...(body !== undefined && { payload: typeof body === 'string' ? body : JSON.stringify(body) }),
  };
}
