import { afterAll, beforeAll, expect, test } from 'vitest';
import { mayBeCalled } from '../../../src/webhooks/dispatcher/claim/claim.ts';
import { createWebhooksApp, type WebhooksApp } from '../app.ts';
import { addManager, type Manager } from '../endpoints/manager.ts';

let t: WebhooksApp;
let strict: WebhooksApp;
let me: Manager;
beforeAll(async () => {
  t = await createWebhooksApp();
  strict = await createWebhooksApp({ config: { webhookAllowNets: [], webhookAllowHttp: false } });
  me = await addManager(t);
});
afterAll(async () => {
  await t.close();
  await strict.close();
});

const events = ['usp.selection'];
const nats = {
  kind: 'nats',
  address: 'nats.example.com',
  subject: 'orders.new',
  user: 'shop',
  password: 'p4ss-w0rd-secret',
};
const kafka = {
  kind: 'kafka',
  brokers: 'kafka-1.example.com, kafka-2.example.com:9093',
  topic: 'perks-events',
  user: 'shop',
  password: 'p4ss-w0rd-secret',
};
const aws = { region: 'eu-central-1', access_key_id: 'AKIA1', secret_access_key: 's3cret/access+key' };

const create = async (destination: object, settings: object = {}, manager = me) =>
  manager.call('POST', '/webhook-endpoints', { destination, events, ...settings });

async function refusedPath(destination: object, manager = me): Promise<string> {
  const answer = await create(destination, {}, manager);
  expect(answer.json()).toMatchObject({ error: { code: 'invalid_endpoint' } });
  return answer.json().error.details[0].path;
}

test.each([
  [nats, 'nats://nats.example.com:4222/orders.new?user=shop', { address: 'nats.example.com:4222', tls: true }],
  [
    kafka,
    'kafka://kafka-1.example.com:9092/perks-events?brokers=kafka-2.example.com%3A9093&user=shop&mechanism=PLAIN' +
      '&message_key=session',
    {
      brokers: 'kafka-1.example.com:9092,kafka-2.example.com:9093',
      topic: 'perks-events',
      tls: true,
      mechanism: 'PLAIN',
      message_key: 'session',
    },
  ],
  [
    { kind: 'sqs', queue_url: 'https://sqs.eu-central-1.amazonaws.com/1234/orders.fifo', ...aws },
    'sqs://sqs.eu-central-1.amazonaws.com/1234/orders.fifo?region=eu-central-1&access_key_id=AKIA1',
    { queue_url: 'https://sqs.eu-central-1.amazonaws.com/1234/orders.fifo', region: 'eu-central-1' },
  ],
  [
    { kind: 'eventbridge', bus: 'default', ...aws },
    'eventbridge://events.eu-central-1.amazonaws.com/default?region=eu-central-1&access_key_id=AKIA1',
    { bus: 'default', service_url: 'https://events.eu-central-1.amazonaws.com' },
  ],
  [
    { kind: 's3', bucket: 'perks', prefix: 'events/shop/', ...aws },
    's3://s3.eu-central-1.amazonaws.com/perks/events/shop?region=eu-central-1&access_key_id=AKIA1',
    { bucket: 'perks', prefix: 'events/shop', access_key_id: 'AKIA1' },
  ],
])('a destination %j is stored and shown without its secret', async (input, url, view) => {
  const manager = await addManager(t);
  const answer = await create(input, { headers: { 'x-own': 'header value' } }, manager);
  expect(answer.statusCode, answer.body).toBe(201);
  const { id, destination, headers } = answer.json().data;
  expect(answer.json().data).toMatchObject({ url, destination: { kind: input.kind, ...view } });
  expect(headers).toEqual({ 'x-own': null });
  const secretName = 'password' in input ? 'password' : 'secret_access_key';
  expect(destination[secretName]).toBeNull();
  const everything = [
    (await manager.call('GET', `/webhook-endpoints/${id}`)).body,
    (await manager.call('GET', '/audit-log')).body,
    JSON.stringify((await t.pool.query('select * from webhook_endpoints where id = $1', [id])).rows),
  ].join('\n');
  for (const secret of ['p4ss-w0rd-secret', 's3cret/access', 'header value']) expect(everything).not.toContain(secret);
  // The view can be sent back as it is, and keeps the secret.
  const patched = await manager.call('PATCH', `/webhook-endpoints/${id}`, { destination });
  expect(patched.statusCode, patched.body).toBe(200);
  expect(patched.json().data).toMatchObject({ url, destination, headers: { 'x-own': null } });
});

test('a stored secret is not used for another server or user', async () => {
  const { id } = (await create(nats)).json().data;
  const { password: _password, ...view } = nats;
  const change = (destination: object) => me.call('PATCH', `/webhook-endpoints/${id}`, { destination });
  expect((await change({ ...view, subject: 'other' })).json().data.destination.password).toBeNull();
  const moved = await change({ ...view, address: 'elsewhere.example.com' });
  expect(moved.json().data.destination).not.toHaveProperty('password');
  const cluster = (await create(kafka)).json().data;
  const { password: _kafkaPassword, ...withoutPassword } = kafka;
  for (const brokers of ['elsewhere.example.com', `${kafka.brokers},elsewhere.example.com`]) {
    const call = me.call('PATCH', `/webhook-endpoints/${cluster.id}`, { destination: { ...withoutPassword, brokers } });
    expect((await call).json().error.details[0].path, brokers).toBe('/destination/password');
  }
  const bucket = (await create({ kind: 's3', bucket: 'perks', ...aws })).json().data;
  const { secret_access_key: _secret, ...open } = aws;
  const stolen = { kind: 's3', bucket: 'perks', ...open, service_url: 'https://elsewhere.example.com' };
  for (const call of [
    me.call('PATCH', `/webhook-endpoints/${bucket.id}`, { destination: stolen }),
    me.call('POST', `/webhook-endpoints/${bucket.id}/test`, { destination: stolen }),
  ])
    expect((await call).json().error.details[0].path).toBe('/destination/secret_access_key');
});

test('workers of the previous release neither call nor remove an endpoint with a destination', async () => {
  const manager = await addManager(t);
  const queue = { kind: 'sqs', queue_url: 'https://sqs.eu-central-1.amazonaws.com/1234/orders', ...aws };
  const others = [queue, { kind: 'eventbridge', bus: 'x', ...aws }, { kind: 's3', bucket: 'perks', ...aws }];
  const ids: number[] = [];
  for (const destination of [{ kind: 'pull' }, nats, kafka, ...others])
    ids.push((await create(destination, {}, manager)).json().data.id);
  for (const enabled of [false, true])
    for (const id of ids) await manager.call('PATCH', `/webhook-endpoints/${id}`, { enabled });
  await t.pool.query("update webhook_endpoints set created_at = now() - interval '1 day' where id = any($1)", [ids]);
  const called = async (condition: string) => {
    const { rows } = await t.pool.query<{ id: number }>(
      `select e.id from webhook_endpoints e join endpoint_health h on h.endpoint_id = e.id
      where e.id = any($1) and e.enabled and e.deleted_at is null and ${condition} order by e.id`,
      [ids],
    );
    return rows.map(({ id }) => id);
  };
  // First the clean-up statement of the previous release, then its condition for calling an endpoint.
  await t.pool.query(
    `update webhook_endpoints e set deleted_at = now(), enabled = false, updated_at = now()
    from endpoint_health h
    where h.endpoint_id = e.id and e.is_listener and e.deleted_at is null
      and coalesce(h.listened_at, e.created_at) < now() - interval '15 minutes'`,
  );
  expect(await called('true')).toEqual(ids);
  expect(await called('e.paused_at is null and not e.is_listener')).toEqual([]);
  expect(await called(mayBeCalled)).toEqual(ids.slice(1));
});

test('private servers, plain text and unusual ports are refused like those of webhook URLs', async () => {
  const other = await addManager(strict);
  const path = (destination: object) => refusedPath(destination, other);
  for (const address of [
    '127.0.0.1:4222',
    '[::1]',
    '169.254.169.254',
    '10.0.0.1:4222',
    'broker',
    'a.internal',
    '0x7f.1',
  ])
    expect(await path({ ...nats, address }), address).toBe('/destination/address');
  expect(await path({ ...nats, tls: false })).toBe('/destination/address');
  expect(await path({ ...nats, address: 'nats.example.com:25' })).toBe('/destination/address');
  expect(await path({ ...nats, address: 'me:pass@nats.example.com' })).toBe('/destination/address');
  for (const brokers of ['127.0.0.1', 'kafka.example.com,10.0.0.1:9092', 'kafka.example.com:25', 'a.internal', 'a,,b'])
    expect(await path({ ...kafka, brokers }), brokers).toBe('/destination/brokers');
  for (const url of ['http://s3.example.com', 'https://192.168.0.1', 'https://localhost:9000'])
    expect(await path({ kind: 's3', bucket: 'perks', ...aws, service_url: url })).toBe('/destination/service_url');
  expect(await path({ kind: 'sqs', queue_url: 'https://[fd00::1]/1/q', ...aws })).toBe('/destination/queue_url');
});

test.each([
  [{ ...nats, subject: '$JS.API.STREAM.DELETE.ORDERS' }, 'subject'],
  [{ ...nats, subject: 'orders.*' }, 'subject'],
  [{ ...nats, subject: undefined }, 'subject'],
  [{ ...nats, address: 'nats.example.com/x' }, 'address'],
  [{ ...nats, bucket: 'x' }, 'bucket'],
  [{ ...nats, password: 'päss' }, 'password'],
  [{ ...kafka, topic: '..' }, 'topic'],
  [{ ...kafka, topic: 'a/b' }, 'topic'],
  [{ ...kafka, mechanism: 'GSSAPI' }, 'mechanism'],
  [{ ...kafka, message_key: 'random' }, 'message_key'],
  [{ ...kafka, password: undefined }, 'password'],
  [{ ...kafka, user: undefined }, 'user'],
  [{ ...kafka, client_id: 'a b' }, 'client_id'],
  [{ ...kafka, brokers: Array(11).fill('kafka.example.com').join() }, 'brokers'],
  [{ kind: 'pull', address: 'x.example.com' }, 'address'],
  [{ kind: 's3', bucket: 'Perks', ...aws }, 'bucket'],
  [{ kind: 's3', bucket: 'perks', prefix: '../x', ...aws }, 'prefix'],
  [{ kind: 's3', bucket: 'perks', ...aws, secret_access_key: '' }, 'secret_access_key'],
  [{ kind: 's3', bucket: 'perks', ...aws, region: 'eu/../x' }, 'region'],
  [{ kind: 'sqs', queue_url: 'https://sqs.example.com/1/q?x=1', ...aws }, 'queue_url'],
])('%j is refused because of its %s', async (destination, name) => {
  expect(await refusedPath(destination)).toBe(`/destination/${name}`);
});

test('an endpoint keeps its kind, and has either a URL or a destination', async () => {
  const { id } = (await create(nats)).json().data;
  const web = await me.endpoint('http://127.0.0.1:9/');
  const pathOf = async (endpoint: number, body: object) =>
    (await me.call('PATCH', `/webhook-endpoints/${endpoint}`, body)).json().error.details[0].path;
  expect(await pathOf(id, { url: 'http://127.0.0.1:9/' })).toBe('/url');
  expect(await pathOf(id, { method: 'GET' })).toBe('/method');
  expect(await pathOf(id, { destination: { kind: 'http' } })).toBe('/destination/kind');
  expect(await pathOf(id, { destination: { kind: 'pull' } })).toBe('/destination/kind');
  expect(await pathOf(web, { destination: nats })).toBe('/destination/kind');
  const both = await create(nats, { url: 'http://127.0.0.1:9/' });
  expect(both.json().error.details[0].path).toBe('/url');
  const neither = await me.call('POST', '/webhook-endpoints', { events });
  expect(neither.json().error.details[0].path).toBe('/url');
  const plain = await me.call('GET', `/webhook-endpoints/${web}`);
  expect(plain.json().data).toMatchObject({ url: 'http://127.0.0.1:9/', destination: { kind: 'http' } });
});
