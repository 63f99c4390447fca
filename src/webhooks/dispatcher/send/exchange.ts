import type { Dispatcher } from 'undici';
import { type Connection, maxHeadBytes } from './connections.ts';
import type { Clock } from './deadline.ts';
import { failureOf } from './error-class.ts';
import { type Answer, type Failure, fail } from './result.ts';

/** Interim responses (1xx) before the final one (count). */
const maxInterim = 16;

type Call = { url: URL; method: 'POST' | 'GET'; headers: Record<string, string>; body: Buffer | null };

/**
 * One request and its response, as far as it is kept. Resolves once; later data of the connection is ignored.
 */
export function exchange(
  connection: Connection,
  call: Call,
  maxBytes: number,
  clock: Clock,
): Promise<Answer | Failure> {
  return new Promise((resolve) => {
    const kept: Buffer[] = [];
    let room = maxBytes;
    let interim = 0;
    let head: Pick<Answer, 'status' | 'headers'> = { status: 0, headers: {} };
    const answer = (truncated: boolean): void =>
      resolve({ kind: 'response', ...head, body: Buffer.concat(kept), truncated });
    const { url, method, headers, body } = call;
    const request = { path: url.pathname + url.search, method, headers, body, headersTimeout: 0, bodyTimeout: 0 };
    connection.client.dispatch(request, {
      onRequestStart: () => {},
      // Also called for interim answers (1xx), which the final one replaces.
      onResponseStart: (controller, status, received) => {
        clock.timing.firstByteMs ??= clock.elapsedMs();
        if (status < 200 && ++interim > maxInterim) {
          resolve(fail('protocol', 'too many interim responses'));
          return stopReading(controller);
        }
        head = { status, headers: boundedHeaders(received) };
      },
      onResponseData: (controller, chunk) => {
        if (chunk.length > room) {
          kept.push(Buffer.from(chunk.subarray(0, room)));
          answer(true);
          return stopReading(controller);
        }
        kept.push(Buffer.from(chunk));
        room -= chunk.length;
      },
      onResponseEnd: () => answer(false),
      onResponseError: (_controller, error) => resolve(failureOf(error, connection.phase)),
    });
  });
}

/** Leaves what else has come unparsed: a chunk may hold thousands of interim answers. */
const stopReading = (controller: Dispatcher.DispatchController): void => controller.abort(new Error('enough was read'));

/** Repeats are joined, which can make the head longer than it came; what passes the limit is left out. */
function boundedHeaders(received: Record<string, string | string[] | undefined>): Record<string, string> {
  let room = maxHeadBytes;
  const entries = Object.entries(received).map(
    ([name, value = '']) => [name, Array.isArray(value) ? value.join(', ') : value] as const,
  );
  return Object.fromEntries(
    entries.filter(([name, value]) => {
      room -= name.length + value.length;
      return room >= 0;
    }),
  );
}
