import { request as send } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { holdTable } from '../../support/locks.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { browser, fetchOffers, googlebot, withoutStore } from '../journey.ts';

/*
 * Over a socket, where most beacons never see the framework. What is answered, and kept, must be what the routes do.
 */

let t: TestApp;
beforeEach(async () => {
  t = await createTestApp();
  await t.app.listen({ port: 0, host: '127.0.0.1' });
});
afterEach(() => t.close());

type Answer = { status: number; headers: Record<string, unknown>; body: string };
type Asked = { method?: string; headers?: Record<string, string>; body?: string };

/** The answer to a path over a socket. */
const over = (path: string, { method = 'GET', headers = {}, body = '' }: Asked = {}, app = t.app): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const { port } = app.server.address() as AddressInfo;
    const outgoing = send(
      { port, host: '127.0.0.1', path, method, headers: { 'user-agent': browser, ...headers }, agent: false },
      (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('end', () =>
          resolve({
            status: answer.statusCode as number,
            headers: answer.headers,
            body: Buffer.concat(chunks).toString('latin1'),
          }),
        );
      },
    );
    outgoing.on('error', reject).end(body);
  });

/** The same past the socket, through the framework. */
const through = async (path: string, { method = 'GET', headers = {} }: Asked = {}): Promise<Answer> => {
  const answer = await t.app.inject({
    method: method as 'GET',
    url: path,
    headers: { 'user-agent': browser, ...headers },
  });
  return { status: answer.statusCode, headers: answer.headers, body: answer.rawPayload.toString('latin1') };
};

/** Without what differs from one answer to the next, and what belongs to the connection. */
const comparable = ({ headers, ...rest }: Answer): unknown => {
  const { date, connection, 'keep-alive': keepAlive, ...kept } = headers;
  return { ...rest, headers: kept };
};

const kept = async (): Promise<unknown[]> =>
  (await t.pool.query('select offer_id, kind, suspicious from events order by at, offer_id, kind')).rows;

const beaconsOf = async (): Promise<string[]> => {
  const [offer] = (await fetchOffers(t)).offers;
  return [offer?.pixel, offer?.beacons.close, offer?.beacons.no_thanks_click].map((url) =>
    (url as string).replace('http://perks.test', ''),
  );
};

test('each beacon is answered the same with and without the framework, and kept the same', async () => {
  const paths = await beaconsOf();
  const answers = [];
  for (const path of paths) answers.push(comparable(await over(path)));
  const first = await kept();
  await t.pool.query('truncate events');
  const expected = [];
  for (const path of paths) expected.push(comparable(await through(path)));
  expect(answers).toEqual(expected);
  expect(first).toEqual(await kept());
  expect(first).toHaveLength(3);
});

test('odd requests are answered and kept as the routes do it', async () => {
  const [pixel = ''] = await beaconsOf();
  const token = /t=([\w-]{64})/.exec(pixel)?.[1] as string;
  const path = '/sdk/v2/impression/p.png';
  const tampered = token.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'));
  const odd: readonly (readonly [string, Asked])[] = [
    [path, {}],
    [`${path}?t=`, {}],
    [`${path}?t=${tampered}`, {}],
    [`${path}?t=${token.slice(1)}`, {}],
    [`${path}?t=${token}x`, {}],
    [`${path}?t=${token}&t=${token}`, {}],
    [`${path}?cbuster=1&t=${tampered}`, {}],
    [`${path}?t=${token}`, { method: 'HEAD' }],
    [`${path}?t=${token}`, { method: 'POST' }],
    [`${path}?t=${token}`, { headers: { 'sec-purpose': 'prefetch' } }],
    [`/sdk/v2/impression/q.png?t=${token}`, {}],
    [`/event/record/close?t=${token}x&cbuster=1`, {}],
  ];
  for (const [url, asked] of odd) {
    const [here, there] = [await over(url, asked), await through(url, asked)];
    expect([url, here.status]).toEqual([url, there.status]);
    if (here.status < 300) expect(comparable(here)).toEqual(comparable(there));
  }
  expect(await kept()).toEqual([]);
  // A parameter of one's own, another order, and a body: nothing a browser does to our URL, but the token is good.
  for (const url of [`${path}?cbuster=1&t=${token}`, `${path}?t=${token}&cbuster=1&x=2`])
    expect((await over(url)).status).toBe(200);
  expect((await over(`${path}?t=${token}`, { body: 'what', headers: { 'content-length': '4' } })).status).toBe(200);
  expect(await kept()).toHaveLength(1);
});

test('beacons sent at once over one connection are answered each in full, in their order', async () => {
  const [pixel, close] = await beaconsOf();
  const image = (await through('/sdk/v2/impression/p.png')).body;
  const { port } = t.app.server.address() as AddressInfo;
  const socket = connect({ port, host: '127.0.0.1' });
  let text = '';
  socket.setEncoding('latin1').on('data', (piece) => {
    text += piece;
  });
  const ask = (path: string, more = ''): string =>
    `GET ${path} HTTP/1.1\r\nhost: perks.test\r\nuser-agent: ${browser}\r\n${more}\r\n`;
  socket.write(ask(`${pixel}`) + ask('/sdk/v2/impression/p.png?t=bad') + ask(`${close}`, 'connection: close\r\n'));
  await new Promise((resolve) => socket.once('close', resolve));
  const answers = text.split(/(?=HTTP\/1\.1 )/);
  expect(answers.map((answer) => answer.slice(9, 12))).toEqual(['200', '400', '200']);
  for (const answer of answers) expect(answer.slice(answer.indexOf('\r\n\r\n') + 4)).toBe(image);
  expect(answers[2]).toMatch(/^connection: close\r$/im);
  expect(await kept()).toHaveLength(2);
});

test('a bot is told apart, and a repeat is one event', async () => {
  const [pixel = '', close = ''] = await beaconsOf();
  await over(pixel, { headers: { 'user-agent': googlebot } });
  for (const path of [close, close, close]) expect((await over(path)).status).toBe(200);
  expect(await kept()).toMatchObject([
    { kind: 'impression', suspicious: 'bot' },
    { kind: 'close', suspicious: null },
  ]);
});

test('while the store is away beacons are refused with 503, and none of them is kept', async () => {
  const paths = await beaconsOf();
  await withoutStore(t.databaseUrl, async (cut) => {
    const answers = await Promise.all(paths.map((path) => over(path, {}, cut.app)));
    expect(answers.map(({ status }) => status)).toEqual([503, 503, 503]);
    expect(JSON.parse(answers[0]?.body as string)).toMatchObject({ error: { code: 'unavailable' } });
    expect(await kept()).toEqual([]);
  });
});

test('what is under way when the process stops is answered, and its connection ends', async () => {
  const [pixel = ''] = await beaconsOf();
  const held = await holdTable(t.pool, 'events');
  const answer = over(pixel);
  await held.untilWaitedFor();
  const closed = t.app.close();
  await held.release();
  expect((await answer).status).toBe(200);
  await closed;
  expect(await kept()).toHaveLength(1);
});
