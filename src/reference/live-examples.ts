import type { App } from '../platform/http/app.ts';
import { type ApiDocument, bodyExampleOf, operationsById, parametersOf } from './openapi/example-request.ts';
import { type Examples, readExamples } from './openapi/examples.ts';

type Values = Record<string, string>;

export type LiveExamples = {
  /** The API key for each security scheme. */
  keys: Record<string, string>;
  /** Values of things that exist, by the names that `live` in requests.json has for them. Reads, and never writes. */
  values: () => Promise<Values>;
};

/**
 * The description of the routes, as the API reference shows it.
 * @param live in the demo: what its examples name there. Describing them only reads.
 */
export function createDescription(app: App, live: LiveExamples | null): () => Promise<ApiDocument> {
  const described = () => app.swagger() as unknown as ApiDocument;
  if (live === null) return async () => described();
  const examples = readExamples();
  // Without a database the examples are those that are recorded.
  return async () => withLiveValues(described(), examples, await live.values().catch(() => ({})));
}

/** Each operation's example with the values that it names in `live`. */
const withLiveValues = (document: ApiDocument, { requests }: Examples, values: Record<string, string>): ApiDocument =>
  withValues(document, (operationId) =>
    Object.fromEntries(
      Object.entries(requests[operationId]?.live ?? {}).flatMap(([place, name]) => {
        const value = values[name];
        return value === undefined ? [] : [[place, value]];
      }),
    ),
  );

/**
 * The document with further values in the examples of operations: by the name of a parameter, or by the JSON pointer of
 * a place in the body. What is not given stays as it is recorded.
 */
export function withValues(given: ApiDocument, valuesOf: (operationId: string) => Values): ApiDocument {
  const document = withOwnParameters(structuredClone(given));
  for (const { path, method, operation } of operationsById(document).values()) {
    const values = valuesOf(operation.operationId);
    const parameters = operation.parameters.map((one, at) => {
      const parameter = parametersOf(given, operation)[at] ?? one;
      const example = values[parameter.name];
      return example === undefined ? one : { ...parameter, example };
    });
    Object.assign(document.paths[path]?.[method] ?? {}, { parameters });
    for (const [pointer, value] of Object.entries(values))
      if (pointer.startsWith('/')) setAt(bodyExampleOf(operation), pointer, value);
  }
  return document;
}

/** Moves the parameters of paths to their operations, which have values of their own for them. */
function withOwnParameters(document: ApiDocument): ApiDocument {
  for (const { path, method, operation } of operationsById(document).values())
    Object.assign(document.paths[path]?.[method] ?? {}, { parameters: operation.parameters });
  for (const item of Object.values(document.paths)) delete item.parameters;
  return document;
}

/** The value at a JSON pointer; `-1` is the last of a list. */
export const getAt = (value: unknown, pointer: string): unknown =>
  pointer
    .slice(1)
    .split('/')
    .reduce<unknown>((at, key) => (Array.isArray(at) ? at.at(Number(key)) : (at as Values | undefined)?.[key]), value);

/** A number stays one. */
function setAt(body: unknown, pointer: string, value: string): void {
  const parent = getAt(body, pointer.slice(0, pointer.lastIndexOf('/')) || '/') ?? body;
  const key = pointer.slice(pointer.lastIndexOf('/') + 1);
  const before = (parent as Record<string, unknown>)[key];
  (parent as Record<string, unknown>)[key] = typeof before === 'number' ? Number(value) : value;
}
