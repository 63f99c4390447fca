import { connect } from 'node:net';
import Fastify from 'fastify';
import { expect, test } from 'vitest';
import { sendError, toAppError } from '../../../src/platform/http/error-handler.ts';
import { createEventStreams } from '../../../src/platform/http/event-streams.ts';
import { createLogger } from '../../../src/platform/logger.ts';

test('stops requesting events for a client that does not read until it reads again', async () => {
  const app = Fastify();
  const streams = createEventStreams(createLogger('silent'));
  app.addHook('preClose', async () => streams.close());
  const callCounts: Record<string, number> = { still: 0, quick: 0 };
  app.get<{ Params: { reader: string } }>('/:reader', async (request, reply) => {
    const { reader } = request.params;
    const data = 'x'.repeat(reader === 'still' ? 1024 * 1024 : 1);
    streams.open(reply, {
      owner: reader,
      publisherId: 1,
      pauseMs: 1,
      isAllowed: () => true,
      next: async () => {
        callCounts[reader] = (callCounts[reader] ?? 0) + 1;
        return [{ name: 'event', data }];
      },
    });
    return reply;
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address() as { port: number };
  const open = (reader: string) => {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    socket.write(`GET /${reader} HTTP/1.1\r\nhost: test\r\n\r\n`);
    return socket;
  };
  const still = open('still').pause();
  const quick = open('quick').resume();
  // Waits until the other reader's stream has received more calls, which shows that time has passed.
  const untilMore = async (): Promise<void> => {
    const goal = (callCounts.quick ?? 0) + 100;
    await expect.poll(() => callCounts.quick).toBeGreaterThan(goal);
  };
  await untilMore();
  const before = callCounts.still ?? 0;
  await untilMore();
  expect(callCounts.still).toBe(before);
  expect(before).toBeGreaterThan(0);
  still.resume();
  await expect.poll(() => callCounts.still).toBeGreaterThan(before);
  for (const socket of [still, quick]) socket.destroy();
  await app.close();
});

test('sends no event that was read without the permission or while the permission is unknown', async () => {
  const app = Fastify();
  const streams = createEventStreams(createLogger('silent'));
  app.addHook('preClose', async () => streams.close());
  const calls: string[] = [];
  let [isAllowed, isKnown] = [true, false];
  app.get('/', async (_request, reply) => {
    streams.open(reply, {
      owner: 'user',
      publisherId: 1,
      pauseMs: 1,
      isAllowed: () => {
        calls.push('isAllowed');
        if (!isKnown) throw new Error('no answer');
        return isAllowed;
      },
      next: async () => {
        calls.push('next');
        isAllowed = false;
        return [{ name: 'event', data: 'secret' }];
      },
    });
    return reply;
  });
  const answer = app.inject('/');
  await expect.poll(() => calls.length).toBeGreaterThan(2);
  expect(calls).not.toContain('next');
  isKnown = true;
  const { body } = await answer;
  expect(calls.filter((name) => name === 'next')).toHaveLength(1);
  expect(body).toBe('retry: 2000\n\n');
  await app.close();
});

test('503: gives later publishers an even share of the streams, even if one has taken all of them', async () => {
  const app = Fastify();
  const streams = createEventStreams(createLogger('silent'));
  app.addHook('preClose', async () => streams.close());
  app.setErrorHandler((err, request, reply) => sendError(request, reply, toAppError(err)));
  app.get<{ Params: { publisher: string; user: string } }>('/:publisher/:user', async (request, reply) => {
    const { publisher, user } = request.params;
    streams.open(reply, {
      owner: `${publisher}/${user}`,
      publisherId: Number(publisher),
      isAllowed: () => true,
      next: async () => [],
    });
    return reply;
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address() as { port: number };
  const leaving = new AbortController();
  /** Number of open streams per publisher. */
  const open = new Map<number, number>();
  const count = (publisher: number, more: number) => open.set(publisher, (open.get(publisher) ?? 0) + more);
  const ask = async (publisher: number, user: number) => {
    const answer = await fetch(`http://127.0.0.1:${port}/${publisher}/${user}`, { signal: leaving.signal });
    if (answer.status !== 200) return answer;
    count(publisher, 1);
    const ended = answer.text().then(
      () => count(publisher, -1),
      () => {},
    );
    void ended;
    return answer;
  };
  // Open streams for different users of one publisher, up to the limit.
  for (let index = 0; index < 200; index += 1) expect((await ask(1, index)).status).toBe(200);
  const refused = await ask(1, 200);
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '10']);

  const publishers = Array.from({ length: 40 }, (_, index) => index + 2);
  for (const publisher of publishers) for (let index = 0; index < 6; index += 1) await ask(publisher, index);
  const total = () => [...open.values()].reduce((sum, streamCount) => sum + streamCount, 0);
  await expect.poll(total).toBe(200);
  const shares = [1, ...publishers].map((publisher) => open.get(publisher) ?? 0);
  expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1);
  leaving.abort();
  await app.close();
});

test('answers HEAD requests for a stream immediately without using a stream slot', async () => {
  const app = Fastify();
  const streams = createEventStreams(createLogger('silent'));
  app.addHook('preClose', async () => streams.close());
  app.get('/', async (_request, reply) => {
    streams.open(reply, { owner: 'user', publisherId: 1, isAllowed: () => true, next: async () => [] });
    return reply;
  });
  for (let attempt = 0; attempt < 8; attempt += 1) {
    const { statusCode, headers, body } = await app.inject({ method: 'HEAD', url: '/' });
    expect([statusCode, headers['content-type'], body]).toEqual([200, 'text/event-stream; charset=utf-8', '']);
  }
  await app.close();
});
