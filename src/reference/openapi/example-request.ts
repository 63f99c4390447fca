import type { Node } from './operation-components.ts';

type Parameter = { $ref?: string; in: string; name: string; required?: boolean; example?: string | number | boolean };
type Media = { schema: { $ref?: string }; example?: unknown; examples?: { demo: { $ref: string } } };
type Answer = { $ref?: string; content?: Record<string, Media> };
type Body = { content: Record<string, { example?: unknown }> };
export type Operation = {
  operationId: string;
  security?: Record<string, string[]>[];
  parameters?: Parameter[];
  requestBody?: Body;
  responses: Record<string, Answer>;
};
type PathItem = { parameters?: Parameter[] } & { [method: string]: Operation };
export type ApiDocument = {
  info: { description: string };
  paths: Record<string, PathItem>;
  components: {
    parameters: Record<string, Parameter>;
    responses: Record<string, Answer>;
    securitySchemes: Record<string, Node>;
    examples: Record<string, { value: unknown }>;
  };
};

/** Every operation of a document, by its id, with the parameters of its path. */
export const operationsById = ({ paths }: ApiDocument) =>
  new Map(
    Object.entries(paths).flatMap(([path, { parameters = [], ...methods }]) =>
      Object.entries(methods as Record<string, Operation>).map(([method, operation]) => {
        const all = [...parameters, ...(operation.parameters ?? [])];
        return [operation.operationId, { path, method, operation: { ...operation, parameters: all } }] as const;
      }),
    ),
  );

/** The parameters of an operation, each without reference. */
export const parametersOf = ({ components }: ApiDocument, { parameters = [] }: Operation): Parameter[] =>
  parameters.map(({ $ref, ...parameter }) =>
    $ref === undefined
      ? parameter
      : (components.parameters[$ref.slice('#/components/parameters/'.length)] as Parameter),
  );

/** The body of an operation's example. */
export const bodyExampleOf = ({ requestBody }: Operation): unknown =>
  requestBody?.content['application/json']?.example ?? requestBody?.content['text/csv']?.example;

export type ExampleRequest = {
  method: string;
  /** Path and query. */
  url: string;
  headers: Record<string, string>;
  payload?: string;
};

/**
 * The call that an operation's example describes.
 * @param keys the API key for each security scheme; the first scheme of an operation that has one counts
 * @param values, body instead of the examples of the parameters that have these names
 */
export function exampleRequestOf(
  document: ApiDocument,
  { path, method, operation }: { path: string; method: string; operation: Operation },
  keys: Record<string, string>,
  values: Record<string, string> = {},
  body: unknown = bodyExampleOf(operation),
): ExampleRequest {
  const given = parametersOf(document, operation).flatMap(({ in: place, name, example }) => {
    const value = values[name] ?? example;
    return value === undefined ? [] : [{ place, name, value: String(value) }];
  });
  const inPlace = (place: string) => given.filter((one) => one.place === place);
  const url = inPlace('path').reduce(
    (text, { name, value }) => text.replace(`{${name}}`, encodeURIComponent(value)),
    path,
  );
  const query = new URLSearchParams(inPlace('query').map(({ name, value }): [string, string] => [name, value]));
  const schemes = (operation.security ?? [{ bearer: [] }]).flatMap((one) => Object.keys(one));
  const key = schemes.map((scheme) => keys[scheme]).find((one) => one !== undefined);
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
