import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { demoOperatorKey } from '../../src/demo/catalogue.ts';
import { createSigner } from '../../src/platform/security/tracking-token.ts';
import { withValues } from '../../src/reference/live-examples.ts';
import {
  type ApiDocument,
  bodyExampleOf,
  exampleRequestOf,
  operationsById,
  parametersOf,
} from '../../src/reference/openapi/example-request.ts';
import { createPayloadLinks, payloadLinkPurpose } from '../../src/webhooks/payload-link.ts';
import { woff2Of } from '../support/font.ts';
import { timeLimit } from '../support/time-limit.ts';
import { buildGeneratedClient } from './generated-client.ts';
import { makeValues } from './made-values.ts';
import { shortened } from './recorded-example.ts';
import { type DemoServer, startDemoServer } from './support.ts';

/**
 * Only these jobs run. The redelivery job is left out, because a redelivery that is cancelled must not have finished
 * before.
 */
const jobNames = ['webhook dispatcher', 'rollup'];

let demo: DemoServer;
let document: ApiDocument;
let ajv: Ajv2020;
const keys = () => ({ bearer: demo.t.publisher.key, operator: demoOperatorKey });
beforeAll(async () => {
  await new Promise<void>((resolve) => fontServer.listen(0, '127.0.0.1', resolve));
  demo = await startDemoServer(...jobNames);
  const apiDocument = (await (await fetch(`${demo.url}/docs/json`)).json()) as ApiDocument;
  const { config } = demo.t.deps;
  const links = createPayloadLinks(createSigner(config.tokenKeys, payloadLinkPurpose), config.publicUrl);
  const filters = {
    payloadToken: (deliveryId: string) => new URL(links.url(deliveryId, Date.now())).searchParams.get('t') ?? '',
  };
  const valuesByOperation = await makeValues({ url: demo.url, document: apiDocument, keys: keys(), filters });
  document = withValues(apiDocument, (operationId) => valuesByOperation.get(operationId) ?? {});
  ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true }).addSchema(document, 'api');
});
afterAll(async () => {
  await demo?.close();
  fontServer.close();
  fontServer.closeAllConnections();
});

const pointer = (...parts: string[]): string =>
  parts.map((part) => `/${encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))}`).join('');

/** Returns the errors of a value for the schema at a path in the document, or '' if it is valid. */
function problemsOf(value: unknown, ...place: string[]): string {
  const validate = ajv.compile({ $ref: `api#${pointer(...place)}` });
  return validate(value) ? '' : ajv.errorsText(validate.errors);
}

type Operation = Parameters<typeof exampleRequestOf>[1];

const json = 'application/json';
type ResponseObject = ApiDocument['components']['responses'][string];
/** Returns the response of an operation, resolving component references, with the path of its schema. */
function answerOf(
  { path, method, operation }: Operation,
  status: string,
): { answer?: ResponseObject; schemaAt: string[] } {
  const response = operation.responses[status];
  const name = response?.$ref?.split('/').at(-1);
  const answer = name === undefined ? response : document.components.responses[name];
  const at = name === undefined ? ['paths', path, method, 'responses', status] : ['components', 'responses', name];
  return { ...(answer && { answer }), schemaAt: [...at, 'content', json, 'schema'] };
}

/** `npm run openapi` records responses that have no example yet, or whose example no longer fits. */
const isRecording = process.env.RECORD_EXAMPLES === '1';
const recordedFile = new URL('../../assets/openapi/answers.json', import.meta.url);

/** Examples by schema name, or by operation and status. */
type Examples = Record<string, unknown>;

const readRecorded = (): Examples => JSON.parse(readFileSync(recordedFile, 'utf8')) as Examples;

type Called = { status: number; type: string; body: string };

/** Host of the font in the example. */
const exampleHost = 'https://fonts.example';
/** Host of the alert channel in the example. */
const channelHost = 'https://hooks.example';
const font = woff2Of({ family: 'Brand Sans', ascent: 968, descent: 241 });
const fontServer = createServer((_request, response) =>
  response.writeHead(200, { 'access-control-allow-origin': '*' }).end(font),
);
const fontHost = (): string => `http://127.0.0.1:${(fontServer.address() as AddressInfo).port}`;

async function call(entry: Operation): Promise<Called> {
  const { url, payload, ...init } = exampleRequestOf(document, entry, keys());
  const answer = await fetch(demo.url + url, {
    ...init,
    redirect: 'manual',
    ...(payload !== undefined && { body: payload.replace(exampleHost, fontHost()).replace(channelHost, fontHost()) }),
  });
  const type = answer.headers.get('content-type')?.split(';')[0] ?? '';
  // An event stream never ends.
  if (type !== 'text/event-stream')
    return { status: answer.status, type, body: (await answer.text()).replace(fontHost(), exampleHost) };
  await answer.body?.cancel();
  return { status: answer.status, type, body: '' };
}

// This test runs first, because the examples below change the endpoint.
test('a client generated from the description compiles, and works from fetch to webhook delivery', async () => {
  const shop = (await buildGeneratedClient(document))(demo.url, demo.t.publisher.key);
  const sessionId = await shop.confirmFirstOffer('generated-client');
  await expect.poll(() => shop.deliveryStatusesOf(sessionId)).toContain('delivered');
});

/** Creates an endpoint to pull from, with one event. */
async function addPullEndpoint(): Promise<void> {
  const post = async (path: string, content: object): Promise<{ data: { id: number } }> => {
    const headers = { authorization: `Bearer ${demo.t.publisher.key}`, 'content-type': 'application/json' };
    const body = JSON.stringify(content);
    const answer = await fetch(`${demo.url}/manage/v1/${path}`, { method: 'POST', headers, body });
    return (await answer.json()) as { data: { id: number } };
  };
  const endpoint = { destination: { kind: 'pull' }, events: ['offer_saved'] };
  const { data } = await post('webhook-endpoints', endpoint);
  await post('webhook-triggers', { event: 'offer_saved', endpoint: data.id });
}

/** Operations whose examples cannot be signed, because the secret is shown only once. */
const signedByAdvertisers: ReadonlySet<string> = new Set(['reportCouponRedeemed', 'reportCouponCancelled']);

// Long timeout: the test calls all operations.
test('every operation responds as documented to its example with existing IDs', {
  timeout: timeLimit(120_000),
}, async () => {
  // Extend the lease of the listener's delivery, which on a slow machine would end before its example is called.
  await demo.t.pool.query(
    `update delivery_queue set lease_until = now() + interval '1 hour'
    where lease_until is not null and endpoint_id in (select id from webhook_endpoints where is_listener)`,
  );
  // An audience to delete: the example audience is still needed for the member examples.
  await demo.t.pool.query(
    `insert into audiences (publisher_id, key, name)
    values ($1, 'lapsed', 'Lapsed'), ($1, 'newsletter', 'Newsletter')`,
    [demo.t.publisher.id],
  );
  await demo.t.pool.query(
    `insert into alerts (id, publisher_id, kind, subject, cause, data, raised_at) overriding system value
    values (1, $1, 'campaign.ended', '1', '', '{"name":"Box","ended_at":"2026-01-01T00:00:00Z"}', now())`,
    [demo.t.publisher.id],
  );
  await demo.t.pool.query(
    `insert into alert_rules (id, publisher_id, name, url_sealed, kinds, created_at) overriding system value
    select id, $1, '#shop', $2, '{budget.100}', now() from unnest(array[7, 8]) id`,
    [demo.t.publisher.id, demo.t.deps.secretBox.seal(fontHost(), 'alert-url')],
  );
  await demo.t.pool.query(
    `insert into saved_reports (id, publisher_id, user_id, name, query, created_at) overriding system value
    select id, $1, null, 'Report ' || id, '?by=campaign', now() from unnest(array[7, 8]) id`,
    [demo.t.publisher.id],
  );
  // Drafts that the examples approve or reject.
  await demo.t.pool.query(
    `insert into drafts (publisher_id, campaign_id, resource, row_id, subject, changes, base, note, state,
      proposer_kind, proposer_id, proposed_by, created_at, updated_at)
    select o.publisher_id, o.campaign_id, 'offers', o.id, o.title, jsonb_build_object(field, 'Two months free'),
      jsonb_build_object(field, to_jsonb(o)->>field), '', 'waiting', 'user', 0, 'ann@advertiser.example', now(), now()
    from offers o, unnest(array['title', 'description', 'short_headline', 'mini_text', 'short_description', 'cta_yes'])
      field
    where o.id = 1`,
  );
  await demo.t.pool.query("insert into draft_pictures (draft_id, bytes, type) values (6, '\\x89504e47', 'png')");
  // A failed message, which the example resends.
  await demo.t.pool.query(
    `insert into perk_messages (id, publisher_id, session_id, user_key, content_sealed, state, keep_until, created_at)
    values ('019b7609-c800-7000-8000-000000000001', $1, gen_random_uuid(), gen_random_uuid(), '', 'failed', now(),
      now())`,
    [demo.t.publisher.id],
  );
  await addPullEndpoint();
  const examples: Examples = {};
  const recorded = readRecorded();
  const wrong: string[] = [];
  for (const entry of operationsById(document).values()) {
    const { operationId } = entry.operation;
    const { status, type, body } = await call(entry);
    if (signedByAdvertisers.has(operationId) && status === 401) continue;
    const { answer, schemaAt } = answerOf(entry, String(status));
    const documented = status < 400 && answer !== undefined;
    const types = Object.keys(answer?.content ?? { '': {} });
    const isJson = documented && type === json;
    const problem = isJson ? problemsOf(JSON.parse(body), ...schemaAt) : '';
    const fits = types.some((mediaType) => mediaType === type || type.startsWith(mediaType.replace('*', '')));
    if (!documented || !fits || problem !== '')
      wrong.push(`${operationId}: ${status} ${type} ${problem} ${body.slice(0, 500)}`);
    else if (isJson) {
      const name = answer?.content?.[json]?.schema.$ref?.split('/').at(-1) ?? `${operationId} ${status}`;
      if (name in recorded && problemsOf(recorded[name], ...schemaAt) !== '') delete recorded[name];
      // If several operations return the same schema, the response of a read operation is the best example.
      if (!(name in examples) || operationId.startsWith('get')) examples[name] = shortened(JSON.parse(body));
    }
  }
  expect(wrong).toEqual([]);
  if (isRecording) writeFileSync(recordedFile, `${JSON.stringify({ ...examples, ...recorded }, null, 1)}\n`);
});

type Media = NonNullable<ResponseObject['content']>[string];
/** Returns the example of a response, resolving component references. */
function exampleOf({ example, examples }: Media): unknown {
  const name = examples?.demo.$ref.split('/').at(-1);
  return name === undefined ? example : document.components.examples[name]?.value;
}

test.skipIf(isRecording)('every operation has request and response examples that match their schemas', () => {
  const wrong: string[] = [];
  for (const { path, method, operation } of operationsById(document).values()) {
    const at = ['paths', path, method];
    for (const { name, required, example } of parametersOf(document, operation))
      if (required === true && example === undefined) wrong.push(`${operation.operationId}: no example of ${name}`);
    if (operation.requestBody?.content[json] !== undefined) {
      const problem = problemsOf(bodyExampleOf(operation), ...at, 'requestBody', 'content', json, 'schema');
      if (problem !== '') wrong.push(`${operation.operationId} request: ${problem}`);
    }
    for (const status of Object.keys(operation.responses)) {
      const { answer, schemaAt } = answerOf({ path, method, operation }, status);
      const content = answer?.content?.[json];
      if (!status.startsWith('2') || content === undefined) continue;
      const problem = problemsOf(exampleOf(content), ...schemaAt);
      if (problem !== '') wrong.push(`${operation.operationId} ${status}: ${problem}`);
    }
  }
  expect(wrong).toEqual([]);
});
