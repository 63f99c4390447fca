import { setTimeout as sleep } from 'node:timers/promises';
import { endCommitProbe, openCommitProbe } from './commit-probe.ts';
import type { WritableServer } from './find-writable.ts';

/** Interval between two read probes, in milliseconds. */
const probeIntervalMs = 50;
/** Interval between two probes while the disk is full, in milliseconds. */
const diskIntervalMs = 500;

const diskFull = '53100';
export const isDiskFull = (err: unknown): boolean => (err as { code?: unknown }).code === diskFull;

/** Callbacks for the server's responses. */
type LinkEvents = {
  /**
   * Called for each response from the server.
   * @param tookMs response time, in milliseconds
   */
  onAnswer: (tookMs: number) => void;
  /**
   * Called for each successful commit.
   * @param databaseMs database server's time, in epoch milliseconds; it was read between `sentMs` and `receivedMs` on
   * this process's clock
   */
  onCommit: (databaseMs: number, sentMs: number, receivedMs: number) => void;
  onDiskFull: (err: Error) => void;
};

/** Pair of connections that probe a database server. */
export type HealthLink = {
  /** Rejects with the error that ended the link. Never resolves. */
  lost: Promise<never>;
  lose: (reason: Error) => void;
  /** Returns the process ID of the PostgreSQL backend that runs the commits. */
  commitPid: () => number | null;
  /**
   * Requests a commit now, without waiting for the next interval.
   * @param withSpace whether the commit must allocate disk space
   */
  askNow: (withSpace: boolean) => void;
};

type LinkOptions = LinkEvents & {
  /** Interval between two commits, in milliseconds. */
  commitIntervalMs: number;
  now: () => number;
  /**
   * Process ID of the previous link's commit backend, or null. While a replica does not respond, this backend keeps
   * waiting even after the link has ended.
   */
  previousPid: number | null;
};

/** Opens the link. It reads every 50 ms on the connection that found the server, and commits on another connection. */
export function openHealthLink({ url, connection }: WritableServer, options: LinkOptions): HealthLink {
  const { commitIntervalMs, previousPid, now, onAnswer, onCommit, onDiskFull } = options;
  const closers = [() => connection.destroy()];
  let open = true;
  let commitPid = previousPid;
  let needsSpace = false;
  let wake = (): void => {};
  let lose = (_reason: Error): void => {};
  const ended = new Promise<never>((_, reject) => {
    lose = reject;
  });

  async function keepReading(): Promise<never> {
    for (;;) {
      const sentMs = performance.now();
      await connection.query('select 1');
      onAnswer(performance.now() - sentMs);
      await sleep(probeIntervalMs);
    }
  }

  async function keepCommitting(): Promise<never> {
    const probe = await openCommitProbe(url);
    if (!open) probe.destroy();
    closers.push(probe.destroy);
    commitPid = probe.backendPid;
    for (;;) {
      const sentMs = now();
      try {
        const databaseMs = await probe.commit(needsSpace);
        needsSpace = false;
        onCommit(databaseMs, sentMs, now());
      } catch (err) {
        if (!isDiskFull(err)) throw err;
        needsSpace = true;
        onDiskFull(err as Error);
      }
      await wakeableSleep(needsSpace ? diskIntervalMs : commitIntervalMs);
    }
  }

  const wakeableSleep = (ms: number): Promise<unknown> => {
    const woken = new Promise<void>((resolve) => {
      wake = resolve;
    });
    return Promise.race([sleep(ms), woken]);
  };

  async function run(): Promise<never> {
    if (previousPid !== null) await endCommitProbe(connection, previousPid);
    const loops = [keepReading(), keepCommitting()];
    // Only the loop that ends first is awaited, because the other one ends when the link does. Handle its rejection
    // here.
    for (const loop of loops) loop.catch(() => {});
    return Promise.race(loops);
  }

  const running = run();
  running.catch(() => {});
  const lost = Promise.race([running, ended]).finally(() => {
    open = false;
    wake();
    for (const close of closers) close();
  });
  lost.catch(() => {});
  return {
    lost,
    lose,
    commitPid: () => commitPid,
    askNow: (withSpace) => {
      needsSpace ||= withSpace;
      wake();
    },
  };
}
