import type { IncomingMessage } from 'node:http';
import { leaveUnread, serveFirst } from '../../platform/http/short-way.ts';
import type { App, PlatformDeps } from '../../platform/ports.ts';
import { tokenLength } from '../../platform/security/tracking-token.ts';
import type { Admit } from '../verify-token.ts';
import type { Beacon } from './kinds.ts';
import { createImageAnswer } from './pixel-answer.ts';
import type { Recorder } from './recorder.ts';

const cacheBuster = '&cbuster=';

/**
 * Whether a URL ends after its token, or says nothing more than what keeps caches away; anything else needs a parser.
 */
const endsPlainly = (url: string, end: number): boolean =>
  url.length === end || (url.startsWith(cacheBuster, end) && !url.includes('&', end + cacheBuster.length));

type ShortWayDeps = Pick<PlatformDeps, 'metrics'> & { admit: Admit; recorder: Recorder };

/**
 * Serves beacons past the framework, whose routing, hooks and reply take as long as all the rest of a beacon. It takes
 * what
 * nearly all of them are: a GET as we wrote its URL, with a good token. Everything else, and what could not be stored,
 * goes
 * the long way through the routes, which say what happens then.
 */
export function openShortWay(app: App, beacons: readonly Beacon[], { admit, recorder, metrics }: ShortWayDeps): void {
  const known = beacons.map((beacon) => ({ beacon, start: `${beacon.url}?t=` }));
  const endWithImage = createImageAnswer();
  const way = serveFirst(app, (request, response, goOn) => {
    const url = request.url as string;
    const found = known.find(({ start }) => url.startsWith(start));
    if (found === undefined || request.method !== 'GET' || hasBody(request)) return goOn();
    const { beacon, start } = found;
    const end = start.length + tokenLength;
    if (!endsPlainly(url, end)) return goOn();
    const visit = admit(request, url.slice(start.length, end), beacon.kind);
    if (visit === null || !visit.recorded) return goOn();
    leaveUnread(request);
    const startMs = metrics === null ? 0 : performance.now();
    beacon.store(recorder, visit).then(() => {
      if (way.closing) response.shouldKeepAlive = false;
      endWithImage(response);
      metrics?.requestEnded(beacon.url, 200, performance.now() - startMs);
    }, goOn);
  });
}

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
