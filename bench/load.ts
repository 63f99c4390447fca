import { connect } from 'node:net';
import type { Costs } from './costs.ts';

/** Result of a load run. Latencies are in milliseconds. */
export type LoadResult = {
  requests: number;
  ok: number;
  failed: number;
  perS: number;
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
  /** Costs per request, if measured. */
  costs?: Costs;
};

export type LoadOptions = {
  port: number;
  connections: number;
  /**
   * Maximum duration, in milliseconds. The run ends at this time or after `requests` requests, whichever comes first.
   */
  durationMs?: number;
  requests?: number;
  /** Returns the next request in wire format. Each request is sent once. */
  next: () => string | Buffer;
};

/** Read buffer size in bytes, larger than most responses. */
const readBytes = 128 * 1024;

/**
 * Runs keep-alive connections that each send one request after another. Plain sockets with one read buffer each are
 * cheap enough to leave the machine to the measured server. Every connection finishes its last request, so that the
 * responses can be compared with the stored rows.
 */
export async function runLoad({
  port,
  connections,
  durationMs = Number.POSITIVE_INFINITY,
  requests = Number.POSITIVE_INFINITY,
  next,
}: LoadOptions): Promise<LoadResult> {
  const latencies: number[] = [];
  let ok = 0;
  let sent = 0;
  const startMs = performance.now();
  const endMs = startMs + durationMs;
  const drive = (): Promise<void> =>
    new Promise((resolve, reject) => {
      let sentMs = 0;
      /** Part of an incomplete response that has been received so far. */
      let begun: Buffer | null = null;
      const socket = connect({
        port,
        host: '127.0.0.1',
        noDelay: true,
        onread: { buffer: Buffer.alloc(readBytes), callback: take },
      });
      function send(): void {
        sentMs = performance.now();
        sent += 1;
        if (sentMs < endMs && sent <= requests) socket.write(next());
        else socket.end(resolve);
      }
      function take(count: number, read: Uint8Array): boolean {
        const bytes = read.subarray(0, count);
        const answer: Buffer =
          begun === null ? Buffer.from(bytes.buffer, bytes.byteOffset, count) : Buffer.concat([begun, bytes]);
        if (!isComplete(answer)) {
          begun = Buffer.from(answer); // the next read overwrites it
          return true;
        }
        if (answer[9] === 0x32) ok += 1; // HTTP/1.1 2xx
        latencies.push(performance.now() - sentMs);
        begun = null;
        send();
        return true;
      }
      socket.on('connect', send);
      socket.on('error', reject);
      socket.on('close', () => resolve());
    });
  await Promise.all(Array.from({ length: connections }, drive));
  const elapsedS = (performance.now() - startMs) / 1000;
  const sorted = Float64Array.from(latencies).sort();
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return {
    requests: sorted.length,
    ok,
    failed: sorted.length - ok,
    perS: sorted.length / elapsedS,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    maxMs: at(1),
  };
}

/** Returns whether a response is complete: its head, and the announced number of body bytes. */
function isComplete(answer: Buffer): boolean {
  const headEnd = answer.indexOf('\r\n\r\n');
  if (headEnd === -1) return false;
  const announced = /content-length: *(\d+)/i.exec(answer.toString('latin1', 0, headEnd))?.[1];
  return answer.length >= headEnd + 4 + Number(announced ?? 0);
}

/** Returns a GET request in wire format. */
export const getRequest = (path: string, headers = ''): string =>
  `GET ${path} HTTP/1.1\r\nhost: bench\r\nuser-agent: Mozilla/5.0 (X11; Linux x86_64) bench\r\n${headers}\r\n`;

/** Returns a JSON POST request in wire format. */
export const postRequest = (path: string, body: string): string =>
  [
    `POST ${path} HTTP/1.1`,
    'host: bench',
    'user-agent: Mozilla/5.0 (X11; Linux x86_64) bench',
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n');
