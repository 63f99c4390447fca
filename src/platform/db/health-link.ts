import { setTimeout as sleep } from 'node:timers/promises';
import { endCommitProbe, openCommitProbe } from './commit-probe.ts';
import type { Found } from './find-writable.ts';

/** Pause between two reads (milliseconds). */
const probeIntervalMs = 50;
/** Pause before a full disk is asked again (milliseconds). */
const diskIntervalMs = 500;

const diskFull = '53100';
export const isDiskFull = (err: unknown): boolean => (err as { code?: unknown }).code === diskFull;

/** What a server said. */
type LinkEvents = {
  /** @param tookMs from the question to the answer */
  onAnswer: (tookMs: number) => void;
  /** @param databaseMs the server's clock, between the two moments of ours (epoch milliseconds) */
  onCommit: (databaseMs: number, sentMs: number, receivedMs: number) => void;
  onDiskFull: (err: Error) => void;
};

/** The two connections over which one server is asked. */
export type HealthLink = {
  /** Rejects with what ended the link; never resolves. */
  lost: Promise<never>;
  lose: (reason: Error) => void;
  /** The server process of its commits. */
  commitPid: () => number | null;
  /** Asks for a commit now. @param withSpace one that needs disk space */
  askNow: (withSpace: boolean) => void;
};

type LinkOptions = LinkEvents & {
  /** Pause between two commits (milliseconds). */
  commitIntervalMs: number;
  now: () => number;
  /** The server process of the last link's commits: while a replica is silent it waits on after the link has ended. */
  previousPid: number | null;
};

/** Reads every 50 ms over the connection that found the server, and commits over another. */
export function openHealthLink({ url, connection }: Found, options: LinkOptions): HealthLink {
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
    for (const loop of loops) loop.catch(() => {}); // the first that ends is awaited, the other ends with the link
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
