import { startNats } from '../../support/nats.ts';
import { freePort, type ServerProcess, startServerProcess } from '../../support/server-process.ts';

/** A way to run Perkwire. Clients must not notice a difference between set-ups. */
export type SetUp = {
  name: string;
  /** Number of separate servers that share one database. */
  servers: number;
  env: Record<string, string>;
  /** Whether events go through an event log (`nats-server`) before PostgreSQL. */
  eventLog: boolean;
};

export const setUps: readonly SetUp[] = [
  { name: 'one process', servers: 1, env: {}, eventLog: false },
  { name: 'two servers that lease slices of totals', servers: 2, env: {}, eventLog: false },
  { name: 'PROCESSES=2 behind one port', servers: 1, env: { PROCESSES: '2' }, eventLog: false },
  { name: 'an event log on NATS JetStream', servers: 1, env: {}, eventLog: true },
];

export type Running = { urls: readonly string[]; stop: () => Promise<void> };

/** Starts the built server in a set-up. If one part fails to start, the parts that were started are stopped. */
export async function startSetUp({ servers, env, eventLog }: SetUp, databaseUrl: string): Promise<Running> {
  const nats = eventLog ? await startNats() : null;
  const log: Record<string, string> = nats === null ? {} : { EVENT_LOG_URL: nats.url };
  const ports = await Promise.all(Array.from({ length: servers }, () => freePort()));
  const starts = await Promise.allSettled(
    ports.map((port) => startServerProcess({ databaseUrl, port, env: { LOG_LEVEL: 'fatal', ...env, ...log } })),
  );
  const running = starts.flatMap((start): ServerProcess[] => (start.status === 'fulfilled' ? [start.value] : []));
  const stop = async (): Promise<void> => {
    await Promise.all(running.map((server) => server.stop()));
    await nats?.close();
  };
  const failed = starts.find((start) => start.status === 'rejected');
  if (failed === undefined) return { urls: running.map(({ url }) => url), stop };
  await stop();
  throw failed.reason;
}
