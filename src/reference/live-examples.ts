import type { App } from '../platform/http/app.ts';
import { type ApiDocument, bodyExampleOf, operationsById, parametersOf } from './openapi/example-request.ts';
import { type Examples, readExamples } from './openapi/examples.ts';

type Values = Record<string, string>;

export type LiveExamples = {
  /** API keys by security scheme. */
  keys: Record<string, string>;
  /**
   * Returns IDs and other values of existing objects, keyed by the names used in the `live` fields of requests.json.
   * Changes no data.
   */
  values: () => Promise<Values>;
};

/**
 * Creates a function that returns the API description for the API reference.
 * @param live source of current values for the examples in the demo, or null to use the recorded ones
 */
export function createDescription(app: App, live: LiveExamples | null): () => Promise<ApiDocument> {
  const described = () => app.swagger() as unknown as ApiDocument;
  if (live === null) return async () => described();
  const examples = readExamples();
  // If the database is unavailable, use the recorded examples.
  return async () => withLiveValues(described(), examples, await live.values().catch(() => ({})));
}

/** Replaces the values that the examples of operations list under `live`. */
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
 * Replaces values in the examples of operations, selected by parameter name or by JSON pointer into the body. All other
 * values stay as recorded.
 */
export function withValues(source: ApiDocument, valuesOf: (operationId: string) => Values): ApiDocument {
  const document = withOwnParameters(structuredClone(source));
  for (const { path, method, operation } of operationsById(document).values()) {
    const values = valuesOf(operation.operationId);
    const parameters = operation.parameters.map((original, at) => {
      const parameter = parametersOf(source, operation)[at] ?? original;
      const example = values[parameter.name];
      return example === undefined ? original : { ...parameter, example };
    });
    Object.assign(document.paths[path]?.[method] ?? {}, { parameters });
    for (const [pointer, value] of Object.entries(values))
      if (pointer.startsWith('/')) setAt(bodyExampleOf(operation), pointer, value);
  }
  return document;
}

/** Moves parameters from paths to operations, because each operation has its own values for them. */
function withOwnParameters(document: ApiDocument): ApiDocument {
  for (const { path, method, operation } of operationsById(document).values())
    Object.assign(document.paths[path]?.[method] ?? {}, { parameters: operation.parameters });
  for (const item of Object.values(document.paths)) delete item.parameters;
  return document;
}

/** Returns the value at a JSON pointer. `-1` selects the last item in a list. */
export const getAt = (value: unknown, pointer: string): unknown =>
  pointer
    .slice(1)
    .split('/')
    .reduce<unknown>((at, key) => (Array.isArray(at) ? at.at(Number(key)) : (at as Values | undefined)?.[key]), value);

/** Sets the value at a JSON pointer. If the previous value was a number, the new one is converted to a number. */
function setAt(body: unknown, pointer: string, value: string): void {
  const parent = getAt(body, pointer.slice(0, pointer.lastIndexOf('/')) || '/') ?? body;
  const key = pointer.slice(pointer.lastIndexOf('/') + 1);
  const before = (parent as Record<string, unknown>)[key];
  (parent as Record<string, unknown>)[key] = typeof before === 'number' ? Number(value) : value;
}
