import type { IncomingMessage, ServerResponse } from 'node:http';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import type { Publisher } from '../../catalog/snapshot/types.ts';
import { createJsonReader, dropNulls, maxBodyBytes } from '../../platform/http/body.ts';
import { createClientAddress } from '../../platform/http/client-address.ts';
import { leaveUnread, plainBodyLength, serveFirst, takeBody } from '../../platform/http/short-way.ts';
import type { App, Deps } from '../../platform/ports.ts';
import {
  clientOf,
  type FetchOffersBody,
  type FetchOffersQuery,
  type FetchOffersRequest,
  fetchOffersBody,
  fetchOffersQuery,
  readFetchOffers,
} from './request.ts';
import type { OfferService } from './service.ts';

/** Why requests failed that were well-formed; the framework answers them. */
export type Failures = WeakMap<IncomingMessage, Error>;

type ShortWayDeps = Pick<Deps, 'auth' | 'config' | 'metrics'> & { offers: OfferService; failures: Failures };

/** Who asks for what. */
type Wanted = { publisher: Publisher; request: FetchOffersRequest };

const isQuery = TypeCompiler.Compile(fetchOffersQuery);
const isBody = TypeCompiler.Compile(fetchOffersBody);

/**
 * Serves fetch-offers past the framework, whose streams, routing, hooks and reply take a third of its time. It takes
 * what
 * nearly all of them are: a POST of plain JSON with a good key, in which nothing is wrong. Everything else goes the
 * long way
 * through the route, as if nobody had looked at it, and is judged there: this way refuses nothing.
 */
export function openShortWay(
  app: App,
  paths: readonly string[],
  { auth, config, metrics, offers, failures }: ShortWayDeps,
): void {
  const urls = new Set(paths);
  const readJson = createJsonReader(app);
  const addressOf = createClientAddress(config.trustProxy);

  function read(incoming: IncomingMessage, query: FetchOffersQuery, text: string): Wanted | null {
    const { headers } = incoming;
    let body: unknown;
    readJson(text, (_err, found) => {
      body = found;
    });
    dropNulls(body);
    if (!isBody.Check(body)) return null;
    try {
      const ip = addressOf(incoming) ?? '';
      const request = readFetchOffers(query, body as FetchOffersBody, clientOf({ ip, headers }));
      if (request.ip === '') return null;
      return { publisher: auth.identify({ query, body, headers }, 'ads/offers').publisher, request };
    } catch {
      return null; // the route finds the same
    }
  }

  const way = serveFirst(app, (incoming, response, goOn) => {
    const [url, queryText = '', more] = (incoming.url as string).split('?');
    if (!urls.has(url as string) || incoming.method !== 'POST' || more !== undefined || !isPlainJson(incoming))
      return goOn();
    const query = plainQuery(queryText);
    if (query === null) return goOn();
    const startMs = metrics === null ? 0 : performance.now();
    takeBody(incoming, ({ bytes, giveBack }) => {
      const wanted = read(incoming, query, bytes.toString('utf8'));
      if (wanted === null) {
        giveBack();
        return goOn();
      }
      offers.fetch(wanted.publisher, wanted.request).then(
        (answer) => {
          leaveUnread(incoming);
          if (way.closing) response.setHeader('connection', 'close');
          send(response, answer, offers.release);
          metrics?.requestEnded(url as string, 200, performance.now() - startMs);
        },
        (err) => {
          failures.set(incoming, err);
          giveBack();
          goOn();
        },
      );
    });
  });
}

const jsonTypes = new Set(['application/json', 'application/json; charset=utf-8', 'application/json;charset=utf-8']);

function isPlainJson(incoming: IncomingMessage): boolean {
  const type = incoming.headers['content-type'];
  const length = plainBodyLength(incoming);
  return type !== undefined && jsonTypes.has(type.toLowerCase()) && length !== null && length <= maxBodyBytes;
}

const knownParameters = new Set(Object.keys(fetchOffersQuery.properties));
const plainValue = /^[A-Za-z0-9_.~-]*$/;

/** A query of known parameters, each at most once, with values that need no decoding; null: it is any other. */
function plainQuery(text: string): FetchOffersQuery | null {
  const query: Record<string, string> = {};
  for (const part of text === '' ? [] : text.split('&')) {
    const mark = part.indexOf('=');
    const name = part.slice(0, Math.max(0, mark));
    const value = part.slice(mark + 1);
    if (!knownParameters.has(name) || query[name] !== undefined || !plainValue.test(value)) return null;
    query[name] = value;
  }
  return isQuery.Check(query) ? query : null;
}

/** Sends an answer, and gives its memory back as soon as it is with the system. */
function send(response: ServerResponse, answer: Buffer, release: (answer: Buffer) => void): void {
  response
    .writeHead(200, {
      'access-control-allow-origin': '*',
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      'content-length': answer.length,
    })
    .end(answer);
  if (response.socket?.writableLength === 0) release(answer);
  else response.once('finish', () => release(answer));
}
