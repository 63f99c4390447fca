import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ServerProcess } from '../test/support/server-process.ts';
import { signAhead } from './beacons.ts';
import { makeClicks } from './conversions.ts';
import { cappedCases, fetchBody, nextOf } from './fetch.ts';
import { getRequest, postRequest } from './load.ts';
import type { Stage } from './stage.ts';
import { openSessions, wrapRequest } from './wrap.ts';

/** One of the servers that are measured alternately. `isBare` marks the baseline server, which stores nothing. */
export type Side = {
  name: string;
  folder: string;
  port: number;
  pid: number;
  inspectPort: number;
  stage: Stage;
  isBare: boolean;
  /** Worker process that sends webhooks, while a path needs one. */
  worker: ServerProcess | null;
};
/**
 * A measured request path. `next` prepares a number of requests; `bare` returns the equivalent request for the bare
 * Fastify server.
 */
export type Path = {
  name: string;
  /** Performance goals by number of connections. */
  goals?: Readonly<Record<number, string>>;
  bare: (() => string) | null;
  next: (side: Side, requests: number) => Promise<() => string | Buffer>;
  /** Whether the measurement ends only when all webhooks have been sent. */
  delivers?: true;
  /** Whether to compare this path with the path named `uncappedName`. */
  isCapped?: true;
};

let users = 0;
export const demoFetch = '/native/v4/offers.json?api_key=demo-key';
export const largeFetch = '/native/v4/offers.json?api_key=bench-100';
const fetchRequest = (url: string) => (): string => postRequest(url, fetchBody(`user-${users++}`));
const bareBeacon = (): string => getRequest('/beacon?t=x');

/** Returns a function that returns the requests one after another. */
function eachOf<Request>(requests: readonly Request[]): () => Request {
  let sent = 0;
  return () => requests[sent++] as Request;
}

export const uncappedName = 'fetch, 100 candidates, 5 returned';
const both = (goal: string): Readonly<Record<number, string>> => ({ 16: goal, 64: goal });

export const paths: readonly Path[] = [
  {
    name: 'fetch, demo catalogue',
    goals: { 16: '2.4× bare', 64: '1.75× bare, PostgreSQL 25 µs' },
    bare: fetchRequest('/offers'),
    next: async () => fetchRequest(demoFetch),
  },
  {
    name: uncappedName,
    goals: { 64: '2.3× bare' },
    bare: fetchRequest('/more-offers'),
    next: async () => fetchRequest(largeFetch),
  },
  ...cappedCases.map(
    (fetchCase): Path => ({
      name: `fetch, ${fetchCase.what}`,
      goals: both('1.3× uncapped'),
      isCapped: true,
      bare: fetchRequest('/more-offers'),
      next: async () => nextOf(fetchCase),
    }),
  ),
  {
    name: 'beacon',
    goals: { 64: '1.7× bare, PostgreSQL 12 µs' },
    bare: bareBeacon,
    next: async ({ stage }, requests) => {
      const signed = await signAhead(stage.pool, requests);
      let sent = 0;
      return () => signed(sent++);
    },
  },
  {
    name: 'conversion',
    goals: { 64: '8,000 per second' },
    bare: bareBeacon,
    next: async ({ stage }, requests) => eachOf(await makeClicks(stage.pool, requests)),
  },
  {
    name: 'wrap, webhook delivered',
    goals: both('350 µs + PostgreSQL 450 µs'),
    bare: null,
    next: nextWrap,
    delivers: true,
  },
  { name: 'wrap, webhook not delivered', bare: null, next: nextWrap },
];

async function nextWrap({ stage, port }: Side, requests: number): Promise<() => string> {
  return eachOf((await openSessions(stage.pool, port, requests)).map((session) => wrapRequest(session)));
}

const receiver = createServer((request, response) => {
  request.resume().on('end', () => response.end('ok'));
}).listen(0, '127.0.0.1');
await new Promise((resolve) => receiver.once('listening', resolve));
/** URL of the webhook receiver. */
export const receiverUrl = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
