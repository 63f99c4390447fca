import { afterAll, beforeAll, expect, test } from 'vitest';
import { transaction } from '../../../src/platform/db/pool.ts';
import { enqueue } from '../../../src/webhooks/outbox.ts';
import { errorsIn, signInAs, type TestUser } from '../../dashboard/support.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { addManager, type Manager } from '../endpoints/manager.ts';

let t: TestApp;
let me: Manager;
let user: TestUser;
let base: string;
beforeAll(async () => {
  t = await createTestApp();
  me = await addManager(t);
  user = await signInAs(t, 'admin', me.id);
  base = `/dashboard/p/${me.id}/settings/webhooks`;
});
afterAll(() => t.close());

const settings = { events: 'usp.selection', enabled: 'on', deadline_s: '15', max_in_flight: '4', method: 'POST' };
const nats = { destination: 'nats', 'nats.address': '127.0.0.1:1', 'nats.subject': 'orders.new', 'nats.user': 'shop' };

const endpoints = async () => (await me.call('GET', '/webhook-endpoints')).json().data;
const newest = async () => (await endpoints()).at(-1);

test('a new endpoint has a choice of destinations, and each has its own fields', async () => {
  const { body } = await user.get(`${base}/new`);
  for (const kind of ['http', 'pull', 'nats', 'kafka', 'sqs', 'eventbridge', 's3'])
    expect(body).toContain(`name="destination" value="${kind}"`);
  for (const name of ['url', 'nats.address', 'kafka.brokers', 'sqs.queue_url', 'eventbridge.bus', 's3.bucket'])
    expect(body).toContain(`name="${name}"`);
  // The page of a default endpoint has only the fields of a URL.
  expect((await user.get(`${base}/usp.selection`)).body).not.toContain('name="destination"');
});

test('an endpoint of another kind is created, shown without its password, changed and tested', async () => {
  const created = await user.post(`${base}/new`, { ...settings, ...nats, 'nats.password': 'p4ssword-secret' });
  expect(created.body).toContain('whsec_');
  const { id, url } = await newest();
  expect(url).toBe('nats://127.0.0.1:1/orders.new?user=shop&tls=false');
  const page = (await user.get(`${base}/${id}`)).body;
  expect(page).toContain('name="nats.address"');
  expect(page).not.toContain('p4ssword-secret');
  expect(page).not.toContain('type="radio"');
  const changed = await user.post(`${base}/${id}`, { ...settings, ...nats, 'nats.subject': 'orders.all' });
  expect(changed.statusCode, changed.body).toBe(303);
  expect((await newest()).destination).toMatchObject({ subject: 'orders.all', password: null });
  const tested = await user.post(`${base}/${id}/test`, { ...settings, ...nats });
  expect(tested.body).toContain('ECONNREFUSED');
  const list = (await user.get(`${base}/all`)).body;
  expect(list).toContain('NATS JetStream<br><code>127.0.0.1:1/orders.all</code>');
});

test('a Kafka endpoint is created and changed with its login and message key', async () => {
  const kafka = {
    destination: 'kafka',
    'kafka.brokers': '127.0.0.1:1, 127.0.0.1:2',
    'kafka.topic': 'orders',
    'kafka.user': 'shop',
    'kafka.mechanism': 'SCRAM-SHA-512',
    'kafka.message_key': 'publisher',
  };
  await user.post(`${base}/new`, { ...settings, ...kafka, 'kafka.password': 'p4ssword-secret' });
  const { id, destination } = await newest();
  expect(destination).toEqual({
    kind: 'kafka',
    brokers: '127.0.0.1:1,127.0.0.1:2',
    topic: 'orders',
    tls: false,
    user: 'shop',
    mechanism: 'SCRAM-SHA-512',
    message_key: 'publisher',
    password: null,
  });
  const page = (await user.get(`${base}/${id}`)).body;
  expect(page).toContain('value="127.0.0.1:1,127.0.0.1:2"');
  expect(page).toContain('value="SCRAM-SHA-512" selected');
  expect(page).not.toContain('p4ssword-secret');
  const changed = await user.post(`${base}/${id}`, { ...settings, ...kafka, 'kafka.message_key': 'session' });
  expect(changed.statusCode, changed.body).toBe(303);
  expect((await newest()).destination).toMatchObject({ message_key: 'session', password: null });
  expect((await user.post(`${base}/${id}/test`, { ...settings, ...kafka })).body).toContain('ECONNREFUSED');
});

test('an error is shown at the field of the chosen destination, and all other values are kept', async () => {
  const count = (await endpoints()).length;
  const answer = await user.post(`${base}/new`, { ...settings, ...nats, 'nats.subject': 'orders.*' });
  expect(answer.statusCode).toBe(422);
  expect(errorsIn(answer.body)).toEqual([
    'The value must consist of words separated by dots, without spaces and * &gt; ? # / \\ %, and not begin with $.',
  ]);
  expect(answer.body).toContain('name="nats.address" ');
  expect(answer.body).toContain('value="orders.*"');
  expect(answer.body).toContain('value="nats" checked');
  const missing = await user.post(`${base}/new`, { ...settings, destination: 's3', 's3.bucket': 'perks' });
  expect(errorsIn(missing.body)).toEqual(['This setting is required.']);
  expect(await endpoints()).toHaveLength(count);
});

test('the error of an S3 key prefix lists the allowed characters', async () => {
  const s3 = { destination: 's3', 's3.bucket': 'perks', 's3.region': 'eu-central-1', 's3.access_key_id': 'AKIA' };
  const fields = { ...settings, ...s3, 's3.prefix': 'perks events', 's3.secret_access_key': 'a-secret' };
  const errors = errorsIn((await user.post(`${base}/new`, fields)).body);
  expect(errors).toEqual([expect.stringContaining('1 to 200 characters (A–Z a–z 0–9 . _ / = -)')]);
});

test('a transformation can be edited for brokers, and is rejected at its field for pull endpoints', async () => {
  const transformation = { 'transformation.headers': '{ "x-event": $event }' };
  const refused = await user.post(`${base}/new`, { ...settings, ...transformation, destination: 'pull' });
  expect(refused.statusCode).toBe(422);
  expect(errorsIn(refused.body)).toEqual([
    'Events that are pulled cannot be transformed. Transform them in your program.',
  ]);
  await user.post(`${base}/new`, { ...settings, ...nats, ...transformation });
  expect(await newest()).toMatchObject({ transformation: { headers: '{ "x-event": $event }' } });
  expect((await user.get(`${base}/${(await newest()).id}`)).body).toContain('name="transformation.body"');
});

test('a pull endpoint shows how to pull its events, and has no settings for calls', async () => {
  await user.post(`${base}/new`, { ...settings, destination: 'pull' });
  const { id, destination } = await newest();
  expect(destination).toEqual({ kind: 'pull' });
  const { body } = await user.get(`${base}/${id}`);
  expect(body.replaceAll(/<[^>]+>/g, '')).toContain(`perkwire events pull --endpoint ${id} --follow`);
  for (const name of ['url', 'headers', 'deadline_s', 'retry_steps_s', 'transformation.body'])
    expect(body).not.toContain(`name="${name}"`);
  const changes = { destination: 'pull', events: 'conversion', description: 'Warehouse' };
  const saved = await user.post(`${base}/${id}`, changes);
  expect(saved.statusCode).toBe(303);
  expect(await newest()).toMatchObject({ description: 'Warehouse', events: ['conversion'], enabled: false });
});

test('the page of an event that nobody has pulled says so, and has no button to retry it', async () => {
  await user.post(`${base}/new`, { ...settings, destination: 'pull' });
  const { id } = await newest();
  const nowMs = t.deps.now();
  const event = { publisherId: me.id, event: 'usp.selection', sessionId: null, pubUserId: null, dev: false, nowMs };
  await transaction(t.pool, (executor) => enqueue(executor, [{ ...event, payload: () => Buffer.from('{}') }]));
  const { rows } = await t.pool.query('select id from deliveries where endpoint_id = $1', [id]);
  const { body } = await user.get(`/dashboard/p/${me.id}/deliveries/${rows[0]?.id}`);
  expect(body).toContain('Your program has not pulled the event yet.');
  expect(body).not.toContain('Retry now');
  expect(body).not.toContain('Next attempt');
});
