import { request as send } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { holdTable } from '../../support/locks.ts';
import { requestOver } from '../../support/request.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { browser, fetchOffers } from '../journey.ts';

let t: TestApp;
beforeEach(async () => {
  t = await createTestApp();
  await t.app.listen({ port: 0, host: '127.0.0.1' });
});
afterEach(() => t.close());

const portOf = (): number => (t.app.server.address() as AddressInfo).port;

const statusOf = (path: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const outgoing = send(
      { port: portOf(), host: '127.0.0.1', path, headers: { 'user-agent': browser }, agent: false },
      (answer) => answer.resume().once('end', () => resolve(answer.statusCode as number)),
    );
    outgoing.on('error', reject).end();
  });

const storedKinds = async (): Promise<unknown[]> =>
  (await t.pool.query<{ kind: string }>('select kind from events order by kind')).rows.map(({ kind }) => kind);

const beaconPaths = async (): Promise<[pixel: string, close: string]> => {
  const [offer] = (await fetchOffers(t)).offers;
  const pathOf = (url = ''): string => url.replace('http://perks.test', '');
  return [pathOf(offer?.pixel), pathOf(offer?.beacons.close)];
};

test('pipelined beacons on one connection all get complete responses in order', async () => {
  const [pixel, close] = await beaconPaths();
  const image = (await requestOver(t.app, { url: '/sdk/v2/impression/p.png' })).rawPayload.toString('latin1');
  const socket = connect({ port: portOf(), host: '127.0.0.1' });
  let text = '';
  socket.setEncoding('latin1').on('data', (piece) => {
    text += piece;
  });
  const requestOf = (path: string, more = ''): string =>
    `GET ${path} HTTP/1.1\r\nhost: perks.test\r\nuser-agent: ${browser}\r\n${more}\r\n`;
  socket.write(
    requestOf(pixel) + requestOf('/sdk/v2/impression/p.png?t=bad') + requestOf(close, 'connection: close\r\n'),
  );
  await new Promise((resolve) => socket.once('close', resolve));
  const answers = text.split(/(?=HTTP\/1\.1 )/);
  expect(answers.map((answer) => answer.slice(9, 12))).toEqual(['200', '400', '200']);
  for (const answer of answers) expect(answer.slice(answer.indexOf('\r\n\r\n') + 4)).toBe(image);
  expect(answers[2]).toMatch(/^connection: close\r$/im);
  expect(await storedKinds()).toEqual(['close', 'impression']);
});

test('a beacon in flight at shutdown is answered and stored, and its connection is closed', async () => {
  const [pixel] = await beaconPaths();
  const lock = await holdTable(t.pool, 'events');
  const status = statusOf(pixel);
  await lock.untilWaitedFor();
  const closed = t.app.close();
  await lock.release();
  expect(await status).toBe(200);
  await closed;
  expect(await storedKinds()).toEqual(['impression']);
});
