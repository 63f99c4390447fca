import { connect, type Socket } from 'node:net';

/** What a load run saw. Latencies in milliseconds. */
export type LoadResult = {
  requests: number;
  ok: number;
  failed: number;
  perS: number;
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
};

export type LoadOptions = {
  port: number;
  connections: number;
  durationMs: number;
  /** The next request as it goes over the wire; each is sent once. */
  next: () => string;
};

/**
 * Keep-alive connections that each send one request after the other, over plain sockets: cheap enough to leave the
 * machine to the server that is measured. Every connection finishes its last request, so that answers can be counted
 * against rows.
 */
export async function runLoad({ port, connections, durationMs, next }: LoadOptions): Promise<LoadResult> {
  const latencies: number[] = [];
  let ok = 0;
  const startMs = performance.now();
  const endMs = startMs + durationMs;
  const drive = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const socket: Socket = connect({ port, host: '127.0.0.1', noDelay: true });
      let sentMs = 0;
      let buffered: Buffer = Buffer.alloc(0);
      let wanted = -1;
      const send = (): void => {
        sentMs = performance.now();
        if (sentMs >= endMs) {
          socket.end();
          resolve();
          return;
        }
        socket.write(next());
      };
      socket.on('connect', send);
      socket.on('error', reject);
      socket.on('close', () => resolve());
      socket.on('data', (chunk: Buffer) => {
        buffered = buffered.length === 0 ? chunk : Buffer.concat([buffered, chunk]);
        if (wanted === -1) {
          const headEnd = buffered.indexOf('\r\n\r\n');
          if (headEnd === -1) return;
          wanted = headEnd + 4 + contentLength(buffered.toString('latin1', 0, headEnd));
        }
        if (buffered.length < wanted) return;
        if (buffered[9] === 0x32) ok += 1; // HTTP/1.1 2xx
        latencies.push(performance.now() - sentMs);
        buffered = Buffer.alloc(0);
        wanted = -1;
        send();
      });
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

function contentLength(head: string): number {
  return Number(/content-length: *(\d+)/i.exec(head)?.[1] ?? 0);
}

/** A GET as it goes over the wire. */
export const getRequest = (path: string, headers = ''): string =>
  `GET ${path} HTTP/1.1\r\nhost: bench\r\nuser-agent: Mozilla/5.0 (X11; Linux x86_64) bench\r\n${headers}\r\n`;

/** A JSON POST as it goes over the wire. */
export const postRequest = (path: string, body: string): string =>
  `POST ${path} HTTP/1.1\r\nhost: bench\r\nuser-agent: Mozilla/5.0 (X11; Linux x86_64) bench\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
