import { PassThrough } from 'node:stream';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createOutput } from '../../../src/command-line/output.ts';
import { runCommandLine } from '../../../src/command-line/run-command-line.ts';
import { commands } from '../../../src/commands.ts';
import { transaction } from '../../../src/platform/db/pool.ts';
import { enqueue } from '../../../src/webhooks/outbox.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { addManager, type Manager } from '../endpoints/manager.ts';

type Line = { id: string; status: string };

let t: TestApp;
let url: string;
let me: Manager;
beforeAll(async () => {
  t = await createTestApp();
  url = await t.app.listen({ port: 0, host: '127.0.0.1' });
});
afterAll(() => t?.close());
beforeEach(async () => {
  me = await addManager(t);
  const answer = await me.call('POST', '/webhook-endpoints', {
    url: 'https://shop.example/hook',
    events: ['conversion'],
  });
  expect(answer.statusCode, answer.body).toBe(201);
});

const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

/**
 * Runs `perkwire deliveries tail` until the test ends.
 * @returns a function that returns the lines shown so far, such as `pending {id}`
 */
function tail(...args: string[]): () => string[] {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const stop = new AbortController();
  let out = '';
  stdout.on('data', (chunk) => (out += chunk));
  const ended = runCommandLine(['deliveries', 'tail', '--json', ...args], {
    commands,
    env: { PERKWIRE_URL: url, PERKWIRE_KEY: me.key },
    stdin,
    stderr,
    signal: stop.signal,
    outputOf: (isJson: boolean) => createOutput(isJson, { stdout, stderr }),
  });
  stops.push(() => {
    stop.abort();
    return ended;
  });
  const lines = (): Line[] =>
    out
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Line);
  return () => lines().map(({ id, status }) => `${status} ${id}`);
}

/** Creates deliveries in one transaction, like a batch of wraps. */
const create = (count: number, nowMs = Date.now()): Promise<string[]> => {
  const event = { publisherId: me.id, dev: false, event: 'conversion', sessionId: null, pubUserId: null, nowMs };
  const events = Array.from({ length: count }, () => ({ ...event, payload: () => Buffer.from('{}') }));
  return transaction(t.pool, (executor) => enqueue(executor, events));
};

const setStatus = (ids: readonly string[], status: string) =>
  t.pool.query('update deliveries set status = $2 where id = any($1::uuid[])', [ids, status]);

const of = (status: string, ids: readonly string[]): string[] => ids.map((id) => `${status} ${id}`).sort();
const waiting = { timeout: 60_000 };

test('perkwire webhooks tail shows each of a burst of 2,000 deliveries and its outcome once', async () => {
  const first = await create(3);
  const readLines = tail();
  await expect.poll(() => readLines().length, waiting).toBe(3);
  const burst = await create(2000);
  const created = of('pending', [...first, ...burst]);
  await expect.poll(() => readLines().length, waiting).toBe(created.length);
  expect(readLines().sort()).toEqual(created);
  await setStatus(burst, 'delivered');
  await expect.poll(() => readLines().length, waiting).toBe(created.length + burst.length);
  expect(readLines().sort()).toEqual([...of('delivered', burst), ...created]);
});

test('perkwire webhooks tail shows a complete burst if there was no delivery before', async () => {
  const readLines = tail('--last', '500');
  const burst = await create(500);
  await expect.poll(() => readLines().length, waiting).toBe(burst.length);
  expect(readLines().sort()).toEqual(of('pending', burst));
});

test('perkwire webhooks tail shows the requested number of earlier deliveries and their changes', async () => {
  const old = await create(250, Date.now() - 60_000);
  const readLines = tail('--last', '210');
  await expect.poll(() => readLines().length, waiting).toBe(210);
  const fresh = await create(250);
  await expect.poll(() => readLines().length, waiting).toBe(460);
  const before = readLines().filter((line) => !fresh.some((id) => line.endsWith(id)));
  const [changed = ''] = before.map((line) => line.split(' ')[1] ?? '');
  expect(old).toContain(changed);
  await setStatus([changed], 'failed');
  await expect.poll(() => readLines().slice(460), waiting).toEqual([`failed ${changed}`]);
});

test('perkwire webhooks tail shows a delivery that is committed after newer ones', async () => {
  const nowMs = Date.now();
  await create(1, nowMs);
  const readLines = tail();
  await expect.poll(() => readLines().length, waiting).toBe(1);
  await create(300, nowMs + 1000);
  await expect.poll(() => readLines().length, waiting).toBe(301);
  const late = await create(1, nowMs + 500);
  await expect.poll(() => readLines().slice(301), waiting).toEqual(of('pending', late));
});
