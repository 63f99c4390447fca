import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { hasKcat, type KafkaCluster, startKafka, startKcat, topic } from '../../support/kafka.ts';
import { timeLimit } from '../../support/time-limit.ts';
import { createWebhooksApp, type WebhooksApp } from '../app.ts';
import { attemptsOf, createParts, deliveryOf } from '../dispatcher/support.ts';
import { addManager, type Manager } from '../endpoints/manager.ts';

let t: WebhooksApp;
let me: Manager;
let kafka: KafkaCluster;
const parts = createParts(() => t);
beforeAll(async () => {
  t = await createWebhooksApp();
  kafka = await startKafka({ size: 2 });
});
afterEach(async () => {
  await parts.end();
  kafka.react = () => null;
});
afterAll(async () => {
  await t.close();
  await kafka.close();
});

async function addKafka(destination: object = {}, settings: object = {}): Promise<{ id: number; secret: string }> {
  me = await addManager(t);
  const target = { kind: 'kafka', brokers: kafka.servers, topic, tls: false, ...destination };
  const body = { destination: target, events: ['usp.selection'], retry_steps_s: [0, 0, 1, 1, 1, 1, 1, 1], ...settings };
  const answer = await me.call('POST', '/webhook-endpoints', body);
  expect(answer.statusCode, answer.body).toBe(201);
  return answer.json().data;
}

const messageId = (deliveryId: string): string => `msg_${deliveryId.replaceAll('-', '')}`;
const stored = (deliveryId: string) =>
  kafka.records.filter(({ headers }) => headers['webhook-id'] === messageId(deliveryId));
const isDelivered = (deliveryId: string) =>
  vi.waitFor(
    async () => expect(await deliveryOf(t, deliveryId)).toMatchObject({ status: 'delivered' }),
    timeLimit(10_000),
  );

test('a delivery is written to the topic with the bytes, headers and signature of a webhook', async () => {
  const { secret } = await addKafka({}, { headers: { 'x-team': 'perks' } });
  await parts.dispatcher();
  const payload = Buffer.from('{ "body" : {"pub_user_id":"ü","session_id":"session-1"} }');
  const id = await me.enqueueDelivery({ payload });
  await isDelivered(id);
  const [record] = stored(id);
  expect(record).toMatchObject({
    key: 'session-1',
    value: payload.toString(),
    headers: { 'perkwire-event': 'usp.selection', 'x-team': 'perks', 'content-type': 'application/json' },
  });
  expect(record?.timestampMs).toBe(Number(record?.headers['webhook-timestamp']) * 1000);
  expect(new Webhook(secret).verify(payload, record?.headers ?? {})).toBeDefined();
  const [attempt] = await attemptsOf(t, id);
  expect(attempt).toMatchObject({ outcome: 'delivered', status_code: 200 });
  expect(JSON.parse(String(attempt?.response_body))).toEqual({
    topic,
    partition: record?.partition,
    offset: record?.offset,
    duplicate: false,
  });
});

test('the messages of a session have one key, or all messages of a publisher if that is chosen', async () => {
  const keysOf = async (destination: object, settings: object = {}): Promise<string[]> => {
    await addKafka(destination, settings);
    const dispatcher = await parts.dispatcher();
    const ids: string[] = [];
    for (const session of ['a', 'a', 'b'])
      ids.push(await me.enqueueDelivery({ payload: Buffer.from(`{"session_id":"${session}"}`) }));
    for (const id of ids) await isDelivered(id);
    await dispatcher.stop();
    return ids.map((id) => stored(id)[0]?.key ?? '');
  };
  expect(await keysOf({})).toEqual(['a', 'a', 'b']);
  const [first, ...others] = await keysOf({ message_key: 'publisher' });
  expect([first, ...others]).toEqual(Array(3).fill(`publisher-${me.id}`));
  const [strict, ...rest] = await keysOf({}, { strict_order: true });
  expect(strict).toMatch(/^endpoint-/);
  expect(rest).toEqual([strict, strict]);
});

test('a message is stored once, even if its leader moves or closes the connection after storing it', async () => {
  await addKafka();
  await parts.dispatcher();
  for (const reaction of ['store and close', 'close', 6, 5] as const) {
    let isFirst = true;
    kafka.react = () => {
      const current = isFirst ? reaction : null;
      isFirst = false;
      return current;
    };
    const id = await me.enqueueDelivery();
    await isDelivered(id);
    expect(stored(id), String(reaction)).toHaveLength(1);
    expect(await deliveryOf(t, id)).toMatchObject({ attempts: 1 });
  }
  kafka.leaders.reverse();
  const id = await me.enqueueDelivery();
  await isDelivered(id);
  expect(stored(id)).toHaveLength(1);
});

test(
  'a broker that is down is retried, and each message arrives after it is back',
  async () => {
    await addKafka();
    await parts.dispatcher();
    await Promise.all([kafka.stop(0), kafka.stop(1)]);
    const ids = await Promise.all(Array.from({ length: 3 }, () => me.enqueueDelivery()));
    await vi.waitFor(async () => {
      for (const id of ids) expect((await attemptsOf(t, id))[0]).toMatchObject({ error_class: 'connect' });
    }, timeLimit(10_000));
    await Promise.all([kafka.start(0), kafka.start(1)]);
    for (const id of ids) await isDelivered(id);
    for (const id of ids) expect(stored(id)).toHaveLength(1);
  },
  timeLimit(40_000),
);

test('a delivery to a broker that hangs times out, and the next attempt opens a new connection', async () => {
  await addKafka({}, { deadline_ms: 1000 });
  await parts.dispatcher();
  kafka.react = () => 'hang';
  const id = await me.enqueueDelivery();
  await vi.waitFor(
    async () => expect((await attemptsOf(t, id))[0]).toMatchObject({ error_class: 'timeout' }),
    timeLimit(10_000),
  );
  kafka.react = () => null;
  await isDelivered(id);
});

test('a connection that the broker closes while it is idle is opened again, without a failed attempt', async () => {
  await addKafka();
  await parts.dispatcher();
  await isDelivered(await me.enqueueDelivery());
  await Promise.all([kafka.stop(0), kafka.stop(1)]);
  await Promise.all([kafka.start(0), kafka.start(1)]);
  const id = await me.enqueueDelivery();
  await isDelivered(id);
  expect((await attemptsOf(t, id)).map(({ outcome }) => outcome)).toEqual(['delivered']);
});

test('a partition without a leader is reported as the reason, and attempts rarely look for a new leader', async () => {
  const { id: endpointId } = await addKafka({}, { retry_steps_s: [0, 1, 1, 1, 1, 1, 1, 1] });
  await parts.dispatcher();
  const leaders = kafka.leaders.slice();
  kafka.leaders.fill(-1);
  kafka.requests.clear();
  try {
    const id = await me.enqueueDelivery();
    await vi.waitFor(
      async () => expect((await attemptsOf(t, id))[0]).toMatchObject({ status_code: 503 }),
      timeLimit(10_000),
    );
    const { data } = (await me.call('GET', `/webhook-endpoints/${endpointId}`)).json();
    expect(data.state.last_failure.first_line).toContain('The partition has no leader at the moment.');
    const count = (await attemptsOf(t, id)).length;
    const metadataKey = 3;
    expect(kafka.requests.get(metadataKey)).toBeLessThanOrEqual(4 * (count + 1));
    kafka.leaders.splice(0, leaders.length, ...leaders);
    await isDelivered(id);
    expect(stored(id)).toHaveLength(1);
  } finally {
    kafka.leaders.splice(0, leaders.length, ...leaders);
  }
});

test('a message that is too large waits with its reason, is sent once per attempt, and delays no others', async () => {
  const { id: endpointId } = await addKafka();
  await parts.dispatcher();
  let isAllowed = false;
  let refusals = 0;
  kafka.react = ({ size }) => {
    if (isAllowed || size < 5000) return null;
    refusals += 1;
    return 10;
  };
  const large = await me.enqueueDelivery({ payload: Buffer.from(JSON.stringify({ text: 'x'.repeat(10_000) })) });
  await vi.waitFor(
    async () => expect((await attemptsOf(t, large)).length).toBeGreaterThanOrEqual(2),
    timeLimit(10_000),
  );
  const attempts = await attemptsOf(t, large);
  expect(attempts[0]).toMatchObject({ status_code: 413 });
  expect(refusals).toBeLessThanOrEqual(attempts.length + 1);
  expect(await deliveryOf(t, large)).toMatchObject({ status: 'pending' });
  const { data } = (await me.call('GET', `/webhook-endpoints/${endpointId}`)).json();
  expect(data.state.last_failure.first_line).toContain('larger than the topic allows (max.message.bytes)');
  const small = await me.enqueueDelivery();
  await isDelivered(small);
  isAllowed = true;
  await isDelivered(large);
  expect(stored(large)).toHaveLength(1);
});

test.each([
  [10, 413, 'MESSAGE_TOO_LARGE'],
  [29, 403, 'TOPIC_AUTHORIZATION_FAILED'],
  [17, 400, 'INVALID_TOPIC_EXCEPTION'],
  [19, 503, 'NOT_ENOUGH_REPLICAS'],
  [89, 429, 'THROTTLING_QUOTA_EXCEEDED'],
  [99, 503, 'error, 99'],
])('broker error %i is shown as status %i', async (code, status, name) => {
  const { id } = await addKafka();
  kafka.react = () => code;
  const answer = (await me.call('POST', `/webhook-endpoints/${id}/test`, {})).json().data;
  expect(answer).toMatchObject({ delivered: false, status });
  expect(answer.body).toContain(name);
  kafka.react = () => null;
  expect((await me.call('POST', `/webhook-endpoints/${id}/test`, {})).json().data).toMatchObject({ delivered: true });
});

test('a topic that does not exist is reported as such, and not created', async () => {
  const { id } = await addKafka({ topic: 'nobody' });
  const answer = await me.call('POST', `/webhook-endpoints/${id}/test`, {});
  const text = 'The topic does not exist. (UNKNOWN_TOPIC_OR_PARTITION, 3)';
  expect(answer.json().data).toMatchObject({ delivered: false, status: 404, body: text });
});

test('a lost permission is reported, and messages arrive once the user has it again', async () => {
  await addKafka();
  await parts.dispatcher();
  kafka.react = () => 29;
  const id = await me.enqueueDelivery();
  await vi.waitFor(
    async () => expect((await attemptsOf(t, id))[0]).toMatchObject({ status_code: 403 }),
    timeLimit(10_000),
  );
  kafka.react = () => null;
  await isDelivered(id);
  expect(stored(id)).toHaveLength(1);
});

test.each(['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'] as const)(
  'a user is authenticated with %s, and a wrong password is answered with 401 without being shown',
  async (mechanism) => {
    const own = await startKafka({ user: { mechanism, name: 'shop', password: 'right-password' } });
    const testOf = async (destination: object) => {
      const { id } = await addKafka({ brokers: own.servers, user: 'shop', mechanism, ...destination });
      return (await me.call('POST', `/webhook-endpoints/${id}/test`, {})).json().data;
    };
    expect(await testOf({ password: 'right-password' })).toMatchObject({ delivered: true, status: 200 });
    const wrong = await testOf({ password: 'wrong-password' });
    expect(wrong).toMatchObject({ delivered: false, status: 401 });
    expect(JSON.stringify(wrong)).not.toContain('wrong-password');
    const other = mechanism === 'PLAIN' ? 'SCRAM-SHA-256' : 'PLAIN';
    const unsupported = await testOf({ password: 'right-password', mechanism: other });
    expect(unsupported.body).toContain(`It offers ${mechanism}.`);
    await own.close();
  },
);

test.skipIf(!hasKcat)('librdkafka stores and reads each message with its key, headers and bytes', async () => {
  const kcat = await startKcat();
  await addKafka({ brokers: kcat.servers });
  await parts.dispatcher();
  const ids: string[] = [];
  for (let session = 0; session < 8; session++)
    ids.push(await me.enqueueDelivery({ payload: Buffer.from(`{"session_id":"ü${session}"}`) }));
  for (const id of ids) await isDelivered(id);
  await vi.waitFor(() => expect(kcat.records).toHaveLength(8), timeLimit(10_000));
  for (const [session, id] of ids.entries()) {
    const record = kcat.records.find(({ headers }) => headers.includes(messageId(id)));
    expect(record).toMatchObject({ key: `ü${session}`, payload: `{"session_id":"ü${session}"}` });
  }
  expect(new Set(kcat.records.map(({ partition }) => partition)).size).toBeGreaterThan(1);
  await kcat.close();
});
