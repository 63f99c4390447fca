import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A webhook receiver that responds immediately below `/ok`, and never below `/hang`. */
export type BenchReceiver = {
  okUrl: (index: number) => string;
  hangUrl: (index: number) => string;
  /** Returns the number of answered calls so far. */
  count: () => number;
  /**
   * Resolves once that many calls have been answered.
   * @throws after `limitMs`
   */
  reach: (count: number, limitMs: number) => Promise<void>;
  close: () => void;
};

export async function startBenchReceiver(): Promise<BenchReceiver> {
  let count = 0;
  let waiting: { count: number; resolve: () => void } | null = null;
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      if (request.url?.startsWith('/hang')) return;
      response.end('ok');
      count += 1;
      if (waiting !== null && count >= waiting.count) waiting.resolve();
    });
  }).listen(0, '127.0.0.1');
  server.keepAliveTimeout = 60_000;
  await new Promise((resolve) => server.once('listening', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    okUrl: (index) => `${origin}/ok/${index}`,
    hangUrl: (index) => `${origin}/hang/${index}`,
    count: () => count,
    reach: (target, limitMs) =>
      new Promise((resolve, reject) => {
        if (count >= target) return resolve();
        const timer = setTimeout(
          () => reject(new Error(`only ${count} of ${target} webhooks arrived in time`)),
          limitMs,
        );
        waiting = {
          count: target,
          resolve: () => {
            clearTimeout(timer);
            waiting = null;
            resolve();
          },
        };
      }),
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
