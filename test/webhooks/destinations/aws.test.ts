import { createHash, createHmac } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { eventBridgeStatus } from '../../../src/webhooks/destinations/aws.ts';
import { withDestinations } from '../../../src/webhooks/destinations/sender.ts';
import { timeLimit } from '../../support/time-limit.ts';
import { createWebhooksApp, type WebhooksApp } from '../app.ts';
import { attemptsOf, createParts, deliveryOf, type Hook } from '../dispatcher/support.ts';
import { addManager, type Manager } from '../endpoints/manager.ts';

let t: WebhooksApp;
let me: Manager;
const parts = createParts(() => t);
beforeAll(async () => {
  t = await createWebhooksApp();
});
afterEach(() => parts.end());
afterAll(() => t.close());
beforeEach(async () => {
  me = await addManager(t);
});

const secretKey = 's3cret/access+key';
const aws = { region: 'eu-central-1', access_key_id: 'AKIATEST', secret_access_key: secretKey };
const payload = Buffer.from('{ "body" : {"pub_user_id":"ü","session_id":"0197a000-0000-7000-8000-000000000001"} }');

type Request = Hook['requests'][number];

/** Verifies a request as described in "Signature Version 4" of the AWS documentation. */
function expectSigned({ method, url, headers, body }: Request, service: string): void {
  const scheme = /^AWS4-HMAC-SHA256 Credential=AKIATEST\/(\d{8})\/eu-central-1\/(\w+)\/aws4_request/;
  const parts = /, SignedHeaders=(\S+), Signature=(\w+)$/;
  const pattern = new RegExp(scheme.source + parts.source);
  const [, day = '', signedService, signedHeaders = '', signature] = pattern.exec(headers.authorization ?? '') ?? [];
  expect(signedService).toBe(service);
  const sha256 = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex');
  const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();
  const bodyHash = headers['x-amz-content-sha256'] ?? sha256(body);
  if (bodyHash !== 'UNSIGNED-PAYLOAD') expect(bodyHash).toBe(sha256(body));
  const lines = signedHeaders.split(';').map((name) => `${name}:${headers[name]?.trim()}\n`);
  const canonical = [method, url, '', lines.join(''), signedHeaders, bodyHash].join('\n');
  const scope = `${day}/eu-central-1/${service}/aws4_request`;
  const toSign = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, sha256(canonical)].join('\n');
  const key = hmac(hmac(hmac(hmac(`AWS4${secretKey}`, day), 'eu-central-1'), service), 'aws4_request');
  expect(signature).toBe(hmac(key, toSign).toString('hex'));
}

async function deliver(destination: object, settings: object = {}): Promise<string> {
  const body = { destination, events: ['usp.selection'], retry_steps_s: [0, 0, 0], ...settings };
  const answer = await me.call('POST', '/webhook-endpoints', body);
  expect(answer.statusCode, answer.body).toBe(201);
  await parts.dispatcher();
  return me.enqueueDelivery({ payload });
}

const until = (id: string, status: string) =>
  vi.waitFor(async () => expect(await deliveryOf(t, id)).toMatchObject({ status }), timeLimit(5000));

test('SQS gets the bytes as the body, headers as attributes, and a group and ID in a FIFO queue', async () => {
  const hook = await parts.hook((response) => response.end('{"MessageId":"1"}'));
  const base = new URL(hook.url).origin;
  const id = await deliver({ kind: 'sqs', queue_url: `${base}/1234/orders.fifo`, ...aws });
  await until(id, 'delivered');
  const [request] = hook.requests as [Request];
  expectSigned(request, 'sqs');
  expect(request.headers).toMatchObject({
    'x-amz-target': 'AmazonSQS.SendMessage',
    'content-type': 'application/x-amz-json-1.0',
  });
  const message = JSON.parse(request.body.toString());
  const webhookId = `msg_${id.replaceAll('-', '')}`;
  expect(message).toMatchObject({
    QueueUrl: `${base}/1234/orders.fifo`,
    MessageBody: payload.toString(),
    MessageGroupId: '0197a000-0000-7000-8000-000000000001',
    MessageDeduplicationId: webhookId,
    MessageAttributes: { 'webhook-id': { DataType: 'String', StringValue: webhookId } },
  });
  expect(Object.keys(message.MessageAttributes)).toContain('webhook-signature');
  expect((await attemptsOf(t, id))[0]).toMatchObject({ outcome: 'delivered', status_code: 200 });
});

test('with strict order, all messages are one group, and at most ten headers are attributes', async () => {
  const hook = await parts.hook();
  const headers = Object.fromEntries(Array.from({ length: 15 }, (_, index) => [`x-own-${index}`, 'value']));
  const queue = { kind: 'sqs', queue_url: `${new URL(hook.url).origin}/1234/orders.fifo`, ...aws };
  await until(await deliver(queue, { strict_order: true, headers }), 'delivered');
  const message = JSON.parse((hook.requests[0] as Request).body.toString());
  expect(message.MessageGroupId).toMatch(/^endpoint-\d+$/);
  expect(Object.keys(message.MessageAttributes)).toHaveLength(10);
  expect(Object.keys(message.MessageAttributes)).toContain('webhook-signature');
});

test('EventBridge gets the payload as an object, and an event that it refuses is retried', async () => {
  const hook = await parts.hook((response, _request, count) => {
    const failed = { FailedEntryCount: 1, Entries: [{ ErrorCode: 'ThrottlingException' }] };
    response.end(JSON.stringify(count === 1 ? failed : { FailedEntryCount: 0, Entries: [{ EventId: '1' }] }));
  });
  const id = await deliver({ kind: 'eventbridge', bus: 'shop', service_url: new URL(hook.url).origin, ...aws });
  await until(id, 'delivered');
  expect((await attemptsOf(t, id)).map(({ status_code: status }) => status)).toEqual([429, 200]);
  const [request] = hook.requests as [Request];
  expectSigned(request, 'events');
  const [entry] = JSON.parse(request.body.toString()).Entries;
  expect(entry).toMatchObject({ EventBusName: 'shop', Source: 'perkwire', DetailType: 'usp.selection' });
  const detail = JSON.parse(entry.Detail);
  expect(detail.payload).toEqual(JSON.parse(payload.toString()));
  expect(detail.headers['webhook-id']).toBe(`msg_${id.replaceAll('-', '')}`);
});

test('S3 gets one object per event, under the same key for each attempt', async () => {
  const hook = await parts.hook((response, _request, count) => response.writeHead(count === 1 ? 503 : 200).end());
  const bucket = { kind: 's3', bucket: 'perks', prefix: 'events/shop', service_url: new URL(hook.url).origin, ...aws };
  const id = await deliver(bucket);
  await until(id, 'delivered');
  const webhookId = `msg_${id.replaceAll('-', '')}`;
  const day = new Date().toISOString().slice(0, 10).replaceAll('-', '/');
  expect(hook.requests.map(({ url }) => url)).toEqual(Array(2).fill(`/perks/events/shop/${day}/${webhookId}.json`));
  for (const request of hook.requests) {
    expectSigned(request, 's3');
    expect(request).toMatchObject({ method: 'PUT', body: payload });
    expect(request.headers).toMatchObject({ 'content-type': 'application/json', 'x-amz-meta-webhook-id': webhookId });
  }
});

test('SQS and S3 get a transformed body with its content type, and SQS keeps the order of the session', async () => {
  const hook = await parts.hook();
  const base = new URL(hook.url).origin;
  const transformation = { body: '"user=" & body.pub_user_id', headers: '{ "x-event": $event }' };
  const queue = { kind: 'sqs', queue_url: `${base}/1234/orders.fifo`, ...aws };
  await until(await deliver(queue, { transformation }), 'delivered');
  const message = JSON.parse((hook.requests[0] as Request).body.toString());
  expect(message).toMatchObject({
    MessageBody: 'user=ü',
    MessageGroupId: '0197a000-0000-7000-8000-000000000001',
    MessageAttributes: { 'x-event': { StringValue: 'usp.selection' } },
  });
  me = await addManager(t);
  await until(
    await deliver({ kind: 's3', bucket: 'perks', service_url: base, ...aws }, { transformation }),
    'delivered',
  );
  const [, object] = hook.requests as [Request, Request];
  expect(object.body.toString()).toBe('user=ü');
  expect(object.headers).toMatchObject({
    'content-type': 'text/plain; charset=utf-8',
    'x-amz-meta-x-event': 'usp.selection',
  });
});

test.each([
  ['{ "user": body.pub_user_id }', { user: 'ü' }],
  ['"user: “" & body.pub_user_id & "”"', 'user: “ü”'],
])('EventBridge gets the result of the expression %s as JSON', async (body, sent) => {
  const hook = await parts.hook((response) => response.end('{"FailedEntryCount":0,"Entries":[{"EventId":"1"}]}'));
  const bus = { kind: 'eventbridge', bus: 'shop', service_url: new URL(hook.url).origin, ...aws };
  await until(await deliver(bus, { transformation: { body } }), 'delivered');
  const [entry] = JSON.parse((hook.requests[0] as Request).body.toString()).Entries;
  expect(JSON.parse(entry.Detail).payload).toEqual(sent);
});

test('the secret key is in no request and no log, even if the service echoes it', async () => {
  const hook = await parts.hook((response) => response.writeHead(400).end(`you sent ${secretKey}`));
  const id = await deliver({ kind: 's3', bucket: 'perks', service_url: new URL(hook.url).origin, ...aws });
  await until(id, 'failed');
  expect(JSON.stringify(hook.requests.map(({ headers, body }) => [headers, String(body)]))).not.toContain(secretKey);
  const log = (await me.call('GET', `/deliveries/${id}`)).body;
  expect(log).not.toContain(secretKey);
  expect(log).toContain('[hidden]');
});

test('no reply from a hostile EventBridge, SQS or S3 service ends the worker', async () => {
  const odd: unknown[] = [null, 5, 'x', true, [], [null], {}, { toString: null }, { ErrorCode: { toString: null } }];
  const replies = [
    ...odd,
    ...odd.map((Entries) => ({ Entries })),
    ...odd.map((entry) => ({ FailedEntryCount: 1, Entries: [entry] })),
    ...odd.map((ErrorCode) => ({ FailedEntryCount: ErrorCode, Entries: [{ ErrorCode }] })),
  ].map((reply) => Buffer.from(JSON.stringify(reply)));
  const random = Array.from({ length: 500 }, (_, index) => {
    const bytes = Buffer.from(replies[index % replies.length] as Buffer);
    for (let at = index % 5; at < bytes.length; at += 7) bytes[at] = (index * 31 + at * 17) % 256;
    return bytes;
  });
  for (const body of [...replies, ...random])
    expect([200, 400, 429, 502, 503], body.toString()).toContain(eventBridgeStatus(body));
  expect(eventBridgeStatus(Buffer.from('null'))).toBe(502);
  const hook = await parts.hook((response, _request, count) => response.end(replies[(count - 1) % replies.length]));
  const service_url = new URL(hook.url).origin;
  const id = await deliver({ kind: 'eventbridge', bus: 'shop', service_url, ...aws });
  await until(id, 'failed');
  expect((await attemptsOf(t, id)).map(({ status_code: status }) => status)).toEqual([502, 502, 502]);
  for (const other of [
    { kind: 'sqs', queue_url: `${service_url}/1234/orders`, ...aws },
    { kind: 's3', bucket: 'perks', service_url, ...aws },
  ]) {
    me = await addManager(t);
    await until(await deliver(other), 'delivered');
  }
});

test('a fault in the sender is a local failure, and does not use up an attempt', async () => {
  const broken = { send: () => Promise.reject(new Error('broken')), close: async () => {} };
  const sender = withDestinations(broken, { allowNets: [], allowHttp: true, userAgent: 'test' });
  const request = { method: 'POST', headers: {}, body: null, deadlineMs: 1000 } as const;
  const destination = { id: 'msg_0', orderKey: 'x', secrets: {} };
  for (const url of ['https://example.com/', 's3://s3.example.com/bucket', 'sqs://%', 'nats://['])
    expect(await sender.send({ ...request, url, destination })).toMatchObject({ kind: 'error', class: 'local' });
  const hook = await parts.hook();
  await me.endpoint(hook.url);
  let calls = 0;
  const send = (): Promise<never> => (calls++ === 0 ? broken.send() : Promise.resolve({ kind: 'response' } as never));
  await parts.dispatcher({ sender: { ...broken, send } });
  const id = await me.enqueueDelivery({ payload });
  await vi.waitFor(async () => {
    const [rejected, malformed] = await attemptsOf(t, id);
    expect(rejected).toMatchObject({ error_class: 'local', error_message: expect.stringContaining('broken') });
    expect(malformed).toMatchObject({ error_class: 'local' });
  }, timeLimit(9000));
  expect(await deliveryOf(t, id)).toMatchObject({ attempts: 0 });
});
