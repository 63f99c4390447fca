import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { sendAuditEvents } from '../../src/webhooks/audit-event.ts';
import { createWebhooksApp, type WebhooksApp } from './app.ts';
import { createParts, until } from './dispatcher/support.ts';
import { addManager, type Manager } from './endpoints/manager.ts';

let t: WebhooksApp;
const { hook, dispatcher, end } = createParts(() => t);
beforeAll(async () => {
  t = await createWebhooksApp();
  await send();
});
afterEach(end);
afterAll(() => t?.close());

const send = (): Promise<number> => sendAuditEvents(t.pool, Date.now());
const addTheme = async (me: Manager, name: string): Promise<void> =>
  expect((await me.call('POST', '/themes', { name, unit: 'mou' })).statusCode).toBe(201);
const listen = async (me: Manager, url: string): Promise<number> => {
  const response = await me.call('POST', '/webhook-endpoints', { method: 'POST', url, events: ['audit.recorded'] });
  expect(response.statusCode, response.body).toBe(201);
  return response.json().data.id;
};

test('each entry is sent once, with its number and hash, to its own publisher only', async () => {
  const [me, other] = [await addManager(t), await addManager(t)];
  const mine = await hook();
  await addTheme(me, 'Before');
  await send();
  await listen(me, mine.url);
  await dispatcher();
  for (const name of ['One', 'Two']) await addTheme(me, name);
  await addTheme(other, 'Foreign');
  // Two processes that send concurrently send nothing twice.
  await Promise.all([send(), send()]);
  await addTheme(me, 'Three');
  await send();
  await send();
  const readEntries = () =>
    mine.requests.map(({ body }) => JSON.parse(body.toString())).sort((one, another) => one.number - another.number);
  await until(async () => readEntries().length, 4);
  expect(readEntries().map(({ resource, changes }) => `${resource} ${changes.name?.new ?? ''}`)).toEqual([
    ...['webhook-endpoints ', 'themes One', 'themes Two', 'themes Three'],
  ]);
  expect(readEntries()[1]).toMatchObject({
    event: 'audit.recorded',
    action: 'create',
    actor_kind: 'key',
    actor_label: 'test',
  });
  const { rows } = await t.pool.query(
    `select number::integer, encode(hash, 'hex') as hash from audit_log
    where publisher_id = $1 and number > 1 order by number`,
    [me.id],
  );
  expect(readEntries().map(({ number, hash }) => ({ number, hash }))).toEqual(rows);
});

test('a publisher does not see the name of an operator', async () => {
  const me = await addManager(t);
  const mine = await hook();
  await listen(me, mine.url);
  await send();
  await t.pool.query(
    `insert into audit_log (publisher_id, at, actor_kind, actor_id, actor_label, action, resource, resource_id, changes)
    values ($1, now(), 'user', 7, 'boss@operator.example', 'update', 'publishers', '1', '{}')`,
    [me.id],
  );
  await send();
  await dispatcher();
  await until(async () => mine.requests.length, 2);
  const bodies = mine.requests.map(({ body }) => body.toString());
  expect(bodies.join()).not.toContain('boss@');
  expect(bodies.map((body) => JSON.parse(body))).toContainEqual(
    expect.objectContaining({ actor_label: 'Operator', actor_id: null, resource: 'publishers' }),
  );
});

test('entries recorded while there is no endpoint are not sent to a later one', async () => {
  const me = await addManager(t);
  const mine = await hook();
  const id = await listen(me, mine.url);
  await send();
  expect((await me.call('DELETE', `/webhook-endpoints/${id}`)).statusCode).toBeLessThan(300);
  await addTheme(me, 'Unseen');
  await send();
  await listen(me, mine.url);
  await send();
  const { rows } = await t.pool.query(
    "select convert_from(payload, 'UTF8')::jsonb ->> 'resource' as resource from deliveries where publisher_id = $1",
    [me.id],
  );
  expect(rows.map(({ resource }) => resource).sort()).toEqual(['webhook-endpoints', 'webhook-endpoints']);
});
