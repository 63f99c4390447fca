import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createFixedAnswer } from '../../../src/platform/http/fixed-answer.ts';

const headers = { 'content-type': 'image/png', 'cache-control': 'no-store' };
const body = '\u0089PNG\r\n\u0000\u00ff';

let server: Server;
beforeEach(async () => {
  const answer = createFixedAnswer(headers, body);
  server = createServer({ keepAliveTimeout: 72_000 }, (request, response) => {
    if (request.url === '/last') response.shouldKeepAlive = false;
    if (request.url !== '/plain') return answer(response);
    response.writeHead(200, { ...headers, 'content-length': body.length }).end(body, 'latin1');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(() => new Promise((resolve) => server.close(resolve)));

/** What comes for requests that are sent at once; the last of them ends the connection. */
const answersTo = (requests: readonly string[]): Promise<string[]> =>
  new Promise((resolve, reject) => {
    const socket = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' });
    let text = '';
    socket.setEncoding('latin1').on('data', (piece) => {
      text += piece;
    });
    socket.on('error', reject).on('close', () => resolve(text.split(/(?=HTTP\/1\.1 )/)));
    socket.write(requests.join(''));
  });

const get = (path: string, more = '', version = '1.1'): string =>
  `GET ${path} HTTP/${version}\r\nhost: perks.test\r\n${more}\r\n`;
const close = 'connection: close\r\n';

const dateOf = (answer = ''): string => /^Date: (.*)\r$/m.exec(answer)?.[1] ?? '';
const dateless = (answer: string): string => answer.replace(/^Date: .*$/m, 'Date:');

test('an answer is to the byte the one that Node writes, however often it is given', async () => {
  const keep = 'connection: keep-alive\r\n';
  const all = (path: string): string[] => [get(path), get(path), get(path, keep, '1.0'), get(path), get(path, close)];
  const answers = await answersTo(all('/'));
  expect(answers).toHaveLength(5);
  expect(answers.map(dateless)).toEqual((await answersTo(all('/plain'))).map(dateless));
  expect((await answersTo([get('/', '', '1.0')])).map(dateless)).toEqual(
    (await answersTo([get('/plain', '', '1.0')])).map(dateless),
  );
});

test('a connection that is to end is told so, also between answers on connections that go on', async () => {
  const [first = '', last = '', ...none] = await answersTo([get('/'), get('/last'), get('/')]);
  expect(first).toMatch(/^connection: keep-alive\r$/im);
  expect(last).toMatch(/^connection: close\r$/im);
  expect(none).toEqual([]);
});

test('an answer says when it was given', async () => {
  const [first] = await answersTo([get('/', close)]);
  await expect
    .poll(async () => dateOf((await answersTo([get('/'), get('/', close)]))[0]), { timeout: 5000 })
    .not.toBe(dateOf(first));
});
