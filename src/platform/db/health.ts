import { setTimeout as sleep } from 'node:timers/promises';
import { databaseUnavailable } from '../errors.ts';
import { findWritable, type WritableServer } from './find-writable.ts';
import { type HealthLink, isDiskFull, openHealthLink } from './health-link.ts';
import { isDatabaseUnavailable, NotReplicatedError } from './pool.ts';
import type { Servers } from './servers.ts';

/** Whether the database can commit, known at any time without a query. After a failover, processes reconnect. */
export type DatabaseHealth = {
  isUp: () => boolean;
  /** Reports a response to any statement. It counts as much as a response to a probe. */
  sawAnswer: () => void;
  /** Reports the commit of a batch. */
  sawCommit: () => void;
  /** Reports an error of the database. The next probe commits at once. */
  sawFailure: (err: unknown) => void;
  /** Registers a listener that is called when the database becomes unavailable. */
  onDown: (listener: () => void) => void;
  /** Minimum difference between this process's clock and the database's (milliseconds). */
  clockSkewMs: () => number;
  stop: () => Promise<void>;
};

export type HealthOptions = {
  servers: Servers;
  /**
   * Called on each change.
   * @param reason why the database is unavailable
   */
  onChange: (up: boolean, reason?: Error) => void;
  /** Time without a commit after which the database is unavailable (milliseconds). */
  commitTimeoutMs: number;
  /** Clock to compare with the database's (epoch milliseconds). */
  now: () => number;
  /** Called when the clocks start to differ by more than `clockWarningMs`. */
  onClockSkew?: (skewMs: number) => void;
  /**
   * Called when the new primary has an earlier timeline than a primary before it. Data acknowledged by that one since
   * `since` may be lost.
   */
  onTimelineBack?: (since: Date) => void;
};

/** Differences of the clocks from which on a warning is logged, and the process is not ready (milliseconds). */
export const clockWarningMs = 2_000;
export const clockLimitMs = 60_000;

/**
 * Time without any answer, to a probe or another statement, after which the database is unavailable (milliseconds). It
 * counts only time in which this process could run. A slow disk delays commits, but not the read of the probe.
 */
const probeTimeoutMs = 220;
/** A server that was slow recently gets this multiple of its slowest answer time, up to a limit (ms). */
const slownessFactor = 4;
const longestProbeTimeoutMs = 1_500;
/** Share of the slowest answer time that remains at the next probe. It decays within about ten seconds. */
const slownessKept = 0.98;
/** A batch may have had nothing to write, so commits of others excuse missing own commits for this many timeouts. */
const longestExcuse = 3;
/** Minimum interval between two searches for the writable server (milliseconds). */
const searchIntervalMs = 50;

/**
 * Finds the writable server and probes its answers and commits. Requests are rejected at once (503) while the database
 * is unavailable, and served again as soon as it commits. Slow answers are waited for
 * (docs/operations.md#database-health). Resolves when the first answer or failure is known.
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

  async function follow(server: WritableServer): Promise<void> {
    if (server.url !== servers.current()) set(false, new Error('another server has become the primary'));
    servers.use(server.url);
    if (server.timeline < latest.timeline) onTimelineBack?.(new Date(latest.sinceMs));
    if (server.timeline !== latest.timeline) latest = { timeline: server.timeline, sinceMs: options.now() };
    signs.found(isUp());
    link = openHealthLink(server, {
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
      // A broken connection tells little. The next search decides.
      if (err instanceof NotReplicatedError) set(false, err);
    });
  }

  async function run(): Promise<void> {
    while (!stopped) {
      const pause = sleep(searchIntervalMs);
      try {
        const server = await findWritable(servers, 'perkwire-health');
        if (stopped) server.connection.destroy();
        else await follow(server);
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
      // The data may be on no replica; it is on all of them once a later commit succeeds.
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

/** State of the database, and its listeners. */
function createState(onChange: HealthOptions['onChange']) {
  const listeners: (() => void)[] = [];
  let up = false;
  let frozen = false;
  let becomeKnown = (): void => {};
  const firstState = new Promise<void>((resolve) => {
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
    known: firstState,
    becomeKnown: () => becomeKnown(),
    /** Stops reporting changes. */
    freeze: () => {
      frozen = true;
    },
  };
}

/** Answers and commits of the database, and when they are overdue. */
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
    /** Called when a server was found. Unless it is known to commit, it gets time for its first commit. */
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
    /**
     * Checks the deadlines.
     * @returns why the database is unavailable, or null
     */
    tick: (): Error | null => {
      const nowMs = clock();
      for (const silence of [answers, ownCommits, commits]) silence.tick(nowMs);
      if (isSilent()) return new Error(`no answer within ${probeTimeoutMs} ms`);
      return isCommitLate() ? new Error(`no commit within ${commitTimeoutMs} ms`) : null;
    },
  };
}

/** Runs work on the database. Rejects with `unavailable` (503) at once if it is or becomes unavailable. */
export type FailFast = <T>(work: () => Promise<T>) => Promise<T>;

type FailFastHealth = {
  isUp: () => boolean;
  onDown: (listener: () => void) => void;
  sawFailure: (err: unknown) => void;
};

/** Creates a fail-fast for work that may be repeated: if the database becomes unavailable, its outcome is unknown. */
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
 * Time without an answer that this process could have noticed. A late tick of the event loop counts as one tick,
 * because messages that arrived meanwhile are read after it. So a starved process waits longer.
 */
export type Silence = {
  /** Reports an answer. */
  end: () => void;
  tick: (nowMs: number) => void;
  /** Time in which this process could have received an answer (milliseconds). */
  availableMs: () => number;
  /** Elapsed time of the clock (milliseconds). */
  elapsedMs: () => number;
};

/** Interval between two ticks (milliseconds). */
export const tickMs = 25;

/**
 * Creates a silence.
 * @param clock monotonic clock (milliseconds)
 */
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
