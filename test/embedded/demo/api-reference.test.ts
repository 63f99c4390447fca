import { readFileSync, writeFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { demoOperatorKey } from '../../../src/embedded/demo/catalogue.ts';
import {
  type ApiDocument,
  bodyExampleOf,
  exampleRequestOf,
  operationsById,
  parametersOf,
} from '../../../src/platform/http/openapi/example-request.ts';
import { buildGeneratedClient } from './generated-client.ts';
import { shortened } from './recorded-example.ts';
import { type DemoServer, startDemoServer } from './support.ts';

/** A cancelled redelivery must not have ended before, so its job does not run here. */
const jobNames = ['webhook dispatcher', 'rollup'];

let demo: DemoServer;
let document: ApiDocument;
let ajv: Ajv2020;
beforeAll(async () => {
  demo = await startDemoServer(...jobNames);
  document = (await (await fetch(`${demo.url}/docs/json`)).json()) as ApiDocument;
  ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true }).addSchema(document, 'api');
});
afterAll(() => demo?.close());

const pointer = (...parts: string[]): string =>
  parts.map((part) => `/${encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))}`).join('');

/** What is wrong with a value for the schema at a place of the document; '' for nothing. */
function problemsOf(value: unknown, ...place: string[]): string {
  const validate = ajv.compile({ $ref: `api#${pointer(...place)}` });
  return validate(value) ? '' : ajv.errorsText(validate.errors);
}

const json = 'application/json';
/** `npm run openapi` records the answers that have no example yet. */
const isRecording = process.env.RECORD_EXAMPLES === '1';
const recordedFile = new URL('../../../assets/openapi/answers.json', import.meta.url);

/** What is recorded already stays as it is. */
function record(found: Record<string, unknown>): void {
  const before = JSON.parse(readFileSync(recordedFile, 'utf8')) as Record<string, unknown>;
  writeFileSync(recordedFile, `${JSON.stringify({ ...found, ...before }, null, 1)}\n`);
}

type Called = { status: number; type: string; body: string };

async function call(one: Parameters<typeof exampleRequestOf>[1]): Promise<Called> {
  const keys = { bearer: demo.t.publisher.key, operator: demoOperatorKey };
  const { url, payload, ...init } = exampleRequestOf(document, one, keys);
  const answer = await fetch(demo.url + url, {
    ...init,
    redirect: 'manual',
    ...(payload !== undefined && { body: payload }),
  });
  const type = answer.headers.get('content-type')?.split(';')[0] ?? '';
  // A stream of events has no end.
  if (type !== 'text/event-stream') return { status: answer.status, type, body: await answer.text() };
  await answer.body?.cancel();
  return { status: answer.status, type, body: '' };
}

// First: the examples below change the endpoint.
test('a client generated from the description compiles, and does the main job up to the delivery', async () => {
  const shop = (await buildGeneratedClient(document))(demo.url, demo.t.publisher.key);
  const sessionId = await shop.confirmFirstOffer('generated-client');
  await expect.poll(() => shop.deliveryStatusesOf(sessionId)).toContain('delivered');
});

test('every operation, called with its own example by the keys of the demo, answers as documented', async () => {
  const found: Record<string, unknown> = {};
  const wrong: string[] = [];
  for (const one of operationsById(document).values()) {
    const { operationId, responses } = one.operation;
    const { status, type, body } = await call(one);
    const answer = responses[status];
    const documented = status < 400 && answer !== undefined;
    const place = ['paths', one.path, one.method, 'responses', String(status), 'content', json, 'schema'];
    const types = Object.keys(answer?.content ?? { '': {} });
    const isJson = documented && type === json;
    const problem = isJson ? problemsOf(JSON.parse(body), ...place) : '';
    const fits = types.some((one) => one === type || type.startsWith(one.replace('*', '')));
    if (!documented || !fits || problem !== '')
      wrong.push(`${operationId}: ${status} ${type} ${problem} ${body.slice(0, 500)}`);
    else if (isJson) {
      const name = answer?.content?.[json]?.schema.$ref?.split('/').at(-1) ?? `${operationId} ${status}`;
      // Where several operations answer the same form, what is read is the best example.
      if (!(name in found) || operationId.startsWith('get')) found[name] = shortened(JSON.parse(body));
    }
  }
  expect(wrong).toEqual([]);
  if (isRecording) record(found);
});

/** The example of an answer, also where it is a component. */
function exampleOf({ example, examples }: { example?: unknown; examples?: { demo: { $ref: string } } }): unknown {
  const name = examples?.demo.$ref.split('/').at(-1);
  return name === undefined ? example : document.components.examples[name]?.value;
}

test.skipIf(isRecording)('every operation has an example of its request and answer, which fit their schemas', () => {
  const wrong: string[] = [];
  for (const { path, method, operation } of operationsById(document).values()) {
    const at = ['paths', path, method];
    for (const { name, required, example } of parametersOf(document, operation))
      if (required === true && example === undefined) wrong.push(`${operation.operationId}: no example of ${name}`);
    if (operation.requestBody?.content[json] !== undefined) {
      const problem = problemsOf(bodyExampleOf(operation), ...at, 'requestBody', 'content', json, 'schema');
      if (problem !== '') wrong.push(`${operation.operationId} request: ${problem}`);
    }
    for (const [status, { content }] of Object.entries(operation.responses)) {
      if (!status.startsWith('2') || content?.[json] === undefined) continue;
      const problem = problemsOf(exampleOf(content[json]), ...at, 'responses', status, 'content', json, 'schema');
      if (problem !== '') wrong.push(`${operation.operationId} ${status}: ${problem}`);
    }
  }
  expect(wrong).toEqual([]);
});
