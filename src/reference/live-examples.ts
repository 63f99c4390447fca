import type { App } from '../platform/ports.ts';
import {
  type ApiDocument,
  bodyExampleOf,
  exampleRequestOf,
  operationsById,
  parametersOf,
} from './openapi/example-request.ts';
import type { Examples } from './openapi/examples.ts';

export type LiveExamples = {
  /** The API key for each security scheme. */
  keys: Record<string, string>;
  /** Further ways to make a value of one in an answer: see `from`. */
  filters: Record<string, (value: string) => string>;
  now: () => number;
};

type Values = Record<string, string>;
type Answer = { headers: Record<string, unknown>; body: string };

/** How long values are used again; tokens are good for a day. */
const keptMs = 12 * 3600 * 1000;

/**
 * Examples with values that exist: ids of sessions and tokens of offers come from calls made now, with the examples of
 * other operations. In requests.json `from` names for a value the calls that make it, in order:
 * `fetchOffers /data/offers/0/pixel ?t` is parameter `t` of the URL at this place of the answer.
 * @returns the document with such examples; a value that cannot be made stays as documented
 */
export function createLiveExamples(
  app: Pick<App, 'inject'>,
  { requests }: Pick<Examples, 'requests'>,
  { keys, filters, now }: LiveExamples,
): (document: ApiDocument) => Promise<ApiDocument> {
  let made: { document: Promise<ApiDocument>; atMs: number } | null = null;

  async function make(given: ApiDocument): Promise<ApiDocument> {
    const document = withOwnParameters(structuredClone(given));
    const operations = operationsById(document);
    const call = async (operationId: string, values: Values, body: unknown): Promise<Answer> => {
      const operation = operations.get(operationId);
      if (operation === undefined) throw new Error(`no operation ${operationId}`);
      return answerOf(app, exampleRequestOf(given, operation, keys, values, body));
    };
    for (const [operationId, { from = {}, bodies = {} }] of Object.entries(requests)) {
      const found = operations.get(operationId);
      if (found === undefined) continue;
      const { path, method, operation } = found;
      const callWith = (id: string, known: Values) => call(id, known, bodies[id]);
      const values = await valuesFrom(from, callWith, filters).catch(() => ({}) as Values);
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

  return (document) => {
    if (made === null || now() - made.atMs > keptMs) made = { document: make(document), atMs: now() };
    return made.document;
  };
}

/** Moves the parameters of paths to their operations, which have values of their own for them. */
function withOwnParameters(document: ApiDocument): ApiDocument {
  for (const { path, method, operation } of operationsById(document).values())
    Object.assign(document.paths[path]?.[method] ?? {}, { parameters: operation.parameters });
  for (const item of Object.values(document.paths)) delete item.parameters;
  return document;
}

/** Each call is made once for an operation, so that its values belong together. */
async function valuesFrom(
  from: Record<string, string[]>,
  call: (operationId: string, values: Values) => Promise<Answer>,
  filters: LiveExamples['filters'],
): Promise<Values> {
  const values: Values = {};
  const answers = new Map<string, Answer>();
  for (const [name, steps] of Object.entries(from)) {
    for (const step of steps) {
      const [operationId = '', place, filter = ''] = step.split(' ');
      const answer = answers.get(operationId) ?? (await call(operationId, values));
      answers.set(operationId, answer);
      if (place === undefined) continue;
      const found = place.startsWith('/') ? getAt(JSON.parse(answer.body), place) : answer.headers[place];
      const text = String(found);
      values[name] = filter.startsWith('?')
        ? (new URL(text).searchParams.get(filter.slice(1)) ?? '')
        : (filters[filter]?.(text) ?? text);
    }
  }
  return values;
}

/** @throws unless the answer is 2xx or 3xx */
async function answerOf(app: Pick<App, 'inject'>, request: ReturnType<typeof exampleRequestOf>): Promise<Answer> {
  const answer = await app.inject({ ...request, method: request.method as 'GET', payloadAsStream: true });
  const stream = answer.stream();
  let body = '';
  for await (const chunk of stream) {
    body += String(chunk);
    // A stream of events has no end; what it begins with is enough.
    if (String(answer.headers['content-type']).startsWith('text/event-stream') && body.includes('\n\n')) break;
  }
  if (answer.statusCode >= 400) throw new Error(`${request.method} ${request.url}: ${answer.statusCode}`);
  return { headers: answer.headers, body };
}

/** The value at a JSON pointer; `-1` is the last of a list. */
const getAt = (value: unknown, pointer: string): unknown =>
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
