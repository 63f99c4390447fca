import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { hashKey } from '../../src/platform/http/auth.ts';
import { signInAs } from '../dashboard/support.ts';
import { createTwins, type TestApp } from '../support/test-app.ts';
import { addManager } from '../webhooks/endpoints/manager.ts';

/**
 * A stream outlives the request that opened it, but not its authorisation. These tests open one stream in each of two
 * processes.
 */

let nowMs = Date.now();
let twins: Awaited<ReturnType<typeof createTwins>>;
let t: TestApp;
let both: { app: TestApp; base: string }[];

beforeAll(async () => {
  twins = await createTwins(() => nowMs);
  t = twins.first;
  both = await Promise.all(
    [twins.first, twins.second].map(async (app) => {
      await app.app.listen({ port: 0, host: '127.0.0.1' });
      return { app, base: `http://127.0.0.1:${(app.app.server.address() as AddressInfo).port}` };
    }),
  );
});
afterAll(() => twins?.close());
beforeEach(() => {
  nowMs = Date.now();
});

type Stream = { text: () => string; isOpen: () => boolean };

/** Opens a stream and waits for its first bytes. */
async function open(url: string, headers: Record<string, string>): Promise<Stream> {
  const answer = await fetch(url, { headers });
  expect(answer.status).toBe(200);
  let [text, isOpen] = ['', true];
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const part of answer.body as AsyncIterable<Uint8Array>) text += decoder.decode(part, { stream: true });
  };
  void read()
    .catch(() => {})
    .finally(() => {
      isOpen = false;
    });
  await expect.poll(() => text).toContain(': keep-alive');
  return { text: () => text, isOpen: () => isOpen };
}

const untilEnded = (streams: Stream[]): Promise<void> =>
  expect.poll(() => streams.map(({ isOpen }) => isOpen())).toEqual([false, false]);

describe('the event stream of a listener', () => {
  const listen = async () => {
    const me = await addManager(t);
    const key = randomBytes(8).toString('hex');
    const { rows } = await t.pool.query<{ id: number }>(
      `insert into api_keys (publisher_id, name, key_hash, permissions, expires_at)
      values ($1, 'laptop', decode($2, 'hex'), '{configurations,reports}', $3) returning id`,
      [me.id, hashKey(key), new Date(nowMs + 3_600_000)],
    );
    for (const { app } of both) await app.deps.catalog.refresh();
    const listener = await me.call('POST', '/webhook-listeners', { forward_url: 'http://127.0.0.1:9/' });
    const headers = { authorization: `Bearer ${key}` };
    const path = `/manage/v1/webhook-listeners/${listener.json().data.id}/stream`;
    const streams = await Promise.all(both.map(({ base }) => open(base + path, headers)));
    const status = async ({ app }: TestApp) =>
      (await app.inject({ url: '/manage/v1/webhook-endpoints', headers })).statusCode;
    return { me, keyId: rows[0]?.id as number, streams, status };
  };

  test.each<[string, number, (keyId: number) => Promise<unknown>]>([
    ['is revoked', 401, (keyId) => t.pool.query('update api_keys set revoked_at = now() where id = $1', [keyId])],
    ['expires', 401, async () => (nowMs += 3_600_000)],
    [
      'loses the permission',
      403,
      (keyId) => t.pool.query("update api_keys set permissions = '{reports}' where id = $1", [keyId]),
    ],
  ])('ends when its key %s, and receives no later deliveries', async (_what, refusal, change) => {
    const { me, keyId, streams, status } = await listen();
    await me.enqueueDelivery();
    await expect.poll(() => streams.some(({ text }) => text().includes('event: delivery'))).toBe(true);
    const before = streams.map(({ text }) => text().split('event: delivery').length);
    await change(keyId);
    for (const { app } of both) await expect.poll(() => status(app)).toBe(refusal);
    await me.enqueueDelivery();
    await untilEnded(streams);
    expect(streams.map(({ text }) => text().split('event: delivery').length)).toEqual(before);
  });
});

describe('the event stream of the live page', () => {
  test.each<[string, (userId: number) => Promise<unknown>]>([
    ['user is disabled', (id) => t.pool.query('update users set disabled = true where id = $1', [id])],
    ['user is removed', (id) => t.pool.query('delete from memberships where user_id = $1', [id])],
    ['session is ended', (id) => t.pool.query('delete from user_sessions where user_id = $1', [id])],
    ['session expires', async () => (nowMs += 8 * 86_400_000)],
    ['user gets another role', (id) => t.pool.query("update users set role = 'manager' where id = $1", [id])],
    [
      'user moves to another publisher',
      async (id) => {
        const { id: publisherId } = await addManager(t);
        await t.pool.query('update users set publisher_id = $2 where id = $1', [id, publisherId]);
      },
    ],
  ])("ends when its %s, while other users' streams stay open", async (_what, change) => {
    const [user, other] = [await signInAs(t, 'analyst'), await signInAs(t, 'analyst')];
    const path = `/dashboard/p/${t.publisher.id}/live/stream`;
    const openAll = ({ cookie }: { cookie: string }) =>
      Promise.all(both.map(({ base }) => open(base + path, { cookie })));
    const [streams, others] = [await openAll(user), await openAll(other)];
    const openedMs = nowMs;
    await change(user.userId);
    await untilEnded(streams);
    if (nowMs === openedMs) expect(others.map(({ isOpen }) => isOpen())).toEqual([true, true]);
  });
});
