import { readFileSync } from 'node:fs';
import { getAt } from '../../src/reference/live-examples.ts';
import { type ApiDocument, exampleRequestOf, operationsById } from '../../src/reference/openapi/example-request.ts';

type Values = Record<string, string>;
type CallResponse = { headers: Headers; body: string };

/**
 * Calls that create the values of an example, which only exist after certain operations. Maps each value to its calls,
 * in order. `fetchOffers /data/offers/0/pixel ?t` is parameter `t` of the URL at that path of the response. `bodies`
 * replaces the example bodies of these calls.
 */
type Recipe = { from: Record<string, string[]>; bodies?: Record<string, unknown> };

const recipes = JSON.parse(readFileSync(new URL('made-values.json', import.meta.url), 'utf8')) as Record<
  string,
  Recipe
>;

type Maker = {
  url: string;
  document: ApiDocument;
  /** API key per security scheme. */
  keys: Record<string, string>;
  /** Additional functions that derive a value from one in a response. */
  filters: Record<string, (value: string) => string>;
};

/** Creates the values that operation examples refer to, by calling other operations. */
export async function makeValues({ url, document, keys, filters }: Maker): Promise<Map<string, Values>> {
  const operations = operationsById(document);
  const call = async (operationId: string, values: Values, body: unknown): Promise<CallResponse> => {
    const operation = operations.get(operationId);
    if (operation === undefined) throw new Error(`no operation ${operationId}`);
    const { url: path, payload, ...init } = exampleRequestOf(document, operation, keys, values, body);
    const answer = await fetch(url + path, { ...init, redirect: 'manual', ...(payload && { body: payload }) });
    if (answer.status >= 400) throw new Error(`${init.method} ${path}: ${answer.status} ${await answer.text()}`);
    return { headers: answer.headers, body: await bodyOf(answer) };
  };
  const valuesByOperation = new Map<string, Values>();
  for (const [operationId, { from, bodies = {} }] of Object.entries(recipes))
    valuesByOperation.set(operationId, await valuesFrom(from, (id, values) => call(id, values, bodies[id]), filters));
  return valuesByOperation;
}

/** Makes each call once per operation, so that its values belong together. */
async function valuesFrom(
  from: Recipe['from'],
  call: (operationId: string, values: Values) => Promise<CallResponse>,
  filters: Maker['filters'],
): Promise<Values> {
  const values: Values = {};
  const answers = new Map<string, CallResponse>();
  for (const [name, steps] of Object.entries(from)) {
    for (const step of steps) {
      const [operationId = '', place, filter = ''] = step.split(' ');
      const answer = answers.get(operationId) ?? (await call(operationId, values));
      answers.set(operationId, answer);
      if (place === undefined) continue;
      const value = place.startsWith('/') ? getAt(JSON.parse(answer.body), place) : answer.headers.get(place);
      const text = String(value);
      values[name] = filter.startsWith('?')
        ? (new URL(text).searchParams.get(filter.slice(1)) ?? '')
        : (filters[filter]?.(text) ?? text);
    }
  }
  return values;
}

/** Returns a response body. For event streams, which never end, returns the text up to the end of the first event. */
async function bodyOf(answer: Response): Promise<string> {
  if (!answer.headers.get('content-type')?.startsWith('text/event-stream')) return answer.text();
  let body = '';
  const decoder = new TextDecoder();
  for await (const chunk of answer.body ?? []) {
    body += decoder.decode(chunk as Uint8Array, { stream: true });
    if (body.includes('\n\n')) break;
  }
  return body;
}
