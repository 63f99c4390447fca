import { setTimeout as sleep } from 'node:timers/promises';
import { databaseUnavailable } from '../errors.ts';
import { type Found, findWritable } from './find-writable.ts';
import { type HealthLink, isDiskFull, openHealthLink } from './health-link.ts';
import { isDatabaseUnavailable, NotReplicatedError } from './pool.ts';
import type { Servers } from './servers.ts';

/** Whether the database can commit, known at any moment without a query; after a failover processes reconnect. */
export type DatabaseHealth = {
  isUp: () => boolean;
  /** Reports a response to any statement, which counts as much as one to a probe. */
  sawAnswer: () => void;
  /** Reports the commit of a batch. */
  sawCommit: () => void;
  /** Reports that the database could not do something: it is asked to commit at once. */
  sawFailure: (err: unknown) => void;
  /** Calls back when the database becomes unavailable. */
  onDown: (listener: () => void) => void;
  /** By how much this process's clock is off the database's, at least (milliseconds). */
  clockSkewMs: () => number;
  stop: () => Promise<void>;
};

export type HealthOptions = {
  servers: Servers;
  /** @param reason why it is not up */
  onChange: (up: boolean, reason?: Error) => void;
  /** A database that commits nothing for this long is unavailable (milliseconds). */
  commitTimeoutMs: number;
  /** Clock that is compared with the database's, epoch milliseconds. */
  now: () => number;
  /** Called when the two clocks begin to differ by more than `clockWarningMs`. */
  onClockSkew?: (skewMs: number) => void;
  /**
   * Called when a primary is followed whose timeline is earlier than that of one before it, followed since then: what
   * that one answered may be lost.
   */
  onTimelineBack?: (since: Date) => void;
};

/** Clocks that differ by more are reported; by more than the second, the process is not ready (milliseconds). */
export const clockWarningMs = 2_000;
export const clockLimitMs = 60_000;

/**
 * The database is unavailable when no statement, neither the probe nor another, is answered for this long, in time that
 * this process had (milliseconds). A slow disk delays commits, not the probe's read.
 */
const probeTimeoutMs = 220;
/** A server that was slow lately gets so many times as long as its slowest answer took, up to a limit (ms). */
const slownessFactor = 4;
const longestProbeTimeoutMs = 1_500;
/** Of the slowest answer counted at the next probe: it is forgotten within some ten seconds. */
const slownessKept = 0.98;
/** A batch may have had nothing to write: commits of others excuse a missing own one up to so many timeouts. */
const longestExcuse = 3;
/** Between the beginnings of two searches for the writable server, at least (milliseconds). */
const searchIntervalMs = 50;

/**
 * Finds the writable server and asks it to answer and to commit, so that requests are refused at once (503) while the
 * database is unavailable, and served again as soon as it commits. What is merely late is waited for
 * (docs/operations.md#database-health). Resolves when the first answer, or failure, is known.
 */
export async function startDatabaseHealth(options: HealthOptions): Promise<DatabaseHealth> {
  const { servers, onTimelineBack } = options;
  const signs = createSigns(options);
  const state = createState(options.onChange);
  const { isUp, set } = state;
  let stopped = false;
  let link: HealthLink | null = null;
  let commitPid: number | null = null;
  let latest = { timeline: '', sinceMs: 0 };

  const ticker = setInterval(() => {
    const problem = signs.tick();
    if (problem === null) return;
    set(false, problem);
    link?.lose(problem);
  }, tickMs).unref();

  async function follow(found: Found): Promise<void> {
    if (found.url !== servers.current()) set(false, new Error('another server has become the primary'));
    servers.use(found.url);
    if (found.timeline < latest.timeline) onTimelineBack?.(new Date(latest.sinceMs));
    if (found.timeline !== latest.timeline) latest = { timeline: found.timeline, sinceMs: options.now() };
    signs.found(isUp());
    link = openHealthLink(found, {
      ...options,
      commitIntervalMs: options.commitTimeoutMs / 2,
      previousPid: commitPid,
      onAnswer: signs.answered,
      onCommit: (databaseMs, sentMs, receivedMs) => {
        signs.committed(databaseMs, sentMs, receivedMs);
        set(true);
      },
      onDiskFull: (err) => set(false, err),
    });
    await link.lost.catch((err: Error) => {
      commitPid = link?.commitPid() ?? null;
      link = null;
      // A connection that broke says little: what is found next decides.
      if (err instanceof NotReplicatedError) set(false, err);
    });
  }

  async function run(): Promise<void> {
    while (!stopped) {
      const pause = sleep(searchIntervalMs);
      try {
        const found = await findWritable(servers, 'perkwire-health');
        if (stopped) found.connection.destroy();
        else await follow(found);
      } catch (err) {
        set(false, err as Error);
      }
      state.becomeKnown();
      await pause;
    }
  }

  void run();
  await state.known;
  return {
    isUp,
    sawAnswer: signs.answers.end,
    sawCommit: signs.commits.end,
    sawFailure: (err) => {
      // What it stored may be on no replica, and is on them once a later commit is.
      if (err instanceof NotReplicatedError) set(false, err);
      link?.askNow(isDiskFull(err));
    },
    onDown: state.onDown,
    clockSkewMs: signs.clockSkewMs,
    stop: async () => {
      stopped = true;
      state.freeze();
      clearInterval(ticker);
      link?.lose(new Error('stopped'));
    },
  };
}

/** Up or down, and who is told. */
function createState(onChange: HealthOptions['onChange']) {
  const listeners: (() => void)[] = [];
  let up = false;
  let frozen = false;
  let becomeKnown = (): void => {};
  const known = new Promise<void>((resolve) => {
    becomeKnown = resolve;
  });
  return {
    isUp: () => up,
    set: (next: boolean, reason?: Error): void => {
      becomeKnown();
      if (next === up || frozen) return;
      up = next;
      if (!up) for (const listener of listeners) listener();
      onChange(up, reason);
    },
    onDown: (listener: () => void) => void listeners.push(listener),
    /** Resolves when the state is first set. */
    known,
    becomeKnown: () => becomeKnown(),
    /** No change is reported any more. */
    freeze: () => {
      frozen = true;
    },
  };
}

/** What was heard of the database, and when that is too little. */
function createSigns({ commitTimeoutMs, onClockSkew }: HealthOptions) {
  const clock = (): number => performance.now();
  const [answers, ownCommits, commits] = [createSilence(clock), createSilence(clock), createSilence(clock)];
  let slowestMs = 0;
  let skewMs = 0;

  const isSilent = (): boolean =>
    answers.availableMs() >= probeTimeoutMs &&
    answers.elapsedMs() >= Math.min(slownessFactor * slowestMs, longestProbeTimeoutMs);

  const isCommitLate = (): boolean =>
    ownCommits.availableMs() >= commitTimeoutMs &&
    (commits.availableMs() >= commitTimeoutMs || ownCommits.availableMs() >= longestExcuse * commitTimeoutMs);

  return {
    answers,
    commits,
    /** A server was found. One that is not known to commit gets the time for its first commit. */
    found: (isUp: boolean) => {
      answers.end();
      if (isUp) return;
      ownCommits.end();
      commits.end();
    },
    answered: (tookMs: number) => {
      slowestMs = Math.max(tookMs, slownessKept * slowestMs);
      answers.end();
    },
    committed: (databaseMs: number, sentMs: number, receivedMs: number) => {
      const halfMs = (receivedMs - sentMs) / 2;
      const wasSkewed = skewMs > clockWarningMs;
      skewMs = Math.max(0, Math.abs(databaseMs - (sentMs + halfMs)) - halfMs);
      if (skewMs > clockWarningMs && !wasSkewed) onClockSkew?.(skewMs);
      ownCommits.end();
    },
    clockSkewMs: () => skewMs,
    /** @returns why the database is unavailable; null where it is not */
    tick: (): Error | null => {
      const nowMs = clock();
      for (const silence of [answers, ownCommits, commits]) silence.tick(nowMs);
      if (isSilent()) return new Error(`no answer within ${probeTimeoutMs} ms`);
      return isCommitLate() ? new Error(`no commit within ${commitTimeoutMs} ms`) : null;
    },
  };
}

/** Runs work on the database; rejects with `unavailable` (503) at once when it is or becomes unavailable. */
export type FailFast = <T>(work: () => Promise<T>) => Promise<T>;

type FailFastHealth = {
  isUp: () => boolean;
  onDown: (listener: () => void) => void;
  sawFailure: (err: unknown) => void;
};

/** For work that may be repeated: when the database becomes unavailable, whether it was done is unknown. */
export function createFailFast(dbHealth: FailFastHealth): FailFast {
  const underWay = new Set<(err: Error) => void>();
  dbHealth.onDown(() => {
    for (const reject of underWay) reject(databaseUnavailable());
  });
  return (work) => {
    if (!dbHealth.isUp()) return Promise.reject(databaseUnavailable());
    return new Promise((resolve, reject) => {
      underWay.add(reject);
      work()
        .then(resolve, (err) => {
          if (isDatabaseUnavailable(err)) dbHealth.sawFailure(err);
          reject(err);
        })
        .finally(() => underWay.delete(reject));
    });
  };
}

/**
 * Time in which nothing was heard, as this process could have heard it: a tick of the event loop that comes late counts
 * as one tick, because what arrived meanwhile is read after it. So a starved process waits longer, by itself.
 */
export type Silence = {
  /** Something was heard. */
  end: () => void;
  tick: (nowMs: number) => void;
  /** Time that this process had for hearing something (milliseconds). */
  availableMs: () => number;
  /** Time on the clock (milliseconds). */
  elapsedMs: () => number;
};

/** Pause between two ticks (milliseconds). */
export const tickMs = 25;

/** @param clock monotonic, in milliseconds */
export function createSilence(clock: () => number): Silence {
  let sinceMs = clock();
  let tickedMs = sinceMs;
  let availableMs = 0;
  return {
    end: () => {
      sinceMs = clock();
      availableMs = 0;
    },
    tick: (nowMs) => {
      availableMs += Math.min(nowMs - Math.max(tickedMs, sinceMs), tickMs);
      tickedMs = nowMs;
    },
    availableMs: () => availableMs,
    elapsedMs: () => clock() - sinceMs,
  };
}
