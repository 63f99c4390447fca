import { setTimeout as sleep } from 'node:timers/promises';
import { databaseUnavailable } from '../errors.ts';
import { findWritable, type WritableServer } from './find-writable.ts';
import { type HealthLink, isDiskFull, openHealthLink } from './health-link.ts';
import { isDatabaseUnavailable, NotReplicatedError } from './pool.ts';
import type { Servers } from './servers.ts';

/**
 * Database health: whether the database can commit. It is known at any time without a query. After a failover, the
 * process reconnects.
 */
export type DatabaseHealth = {
  isUp: () => boolean;
  /** Reports a response to any statement. It counts as much as a response to a probe. */
  sawAnswer: () => void;
  /** Reports a batch commit. */
  sawCommit: () => void;
  /** Reports a database error. It triggers an immediate commit probe. */
  sawFailure: (err: unknown) => void;
  /**
   * Registers a listener that is called when the database becomes unavailable, and again if another server becomes the
   * primary in the meantime. Listeners must discard connections that are still being opened to the former primary.
   */
  onDown: (listener: () => void) => void;
  /**
   * Returns the clock difference between this process and the database server, in milliseconds. The actual difference
   * is at least this large.
   */
  clockSkewMs: () => number;
  stop: () => Promise<void>;
};

export type HealthOptions = {
  servers: Servers;
  /**
   * Called when the database becomes available or unavailable.
   * @param reason why the database is unavailable
   */
  onChange: (up: boolean, reason?: Error) => void;
  /** Time without a commit after which the database counts as unavailable, in milliseconds. */
  commitTimeoutMs: number;
  /** Returns this process's current time in epoch milliseconds, which is compared with the database server's clock. */
  now: () => number;
  /** Called when the clock difference first exceeds `clockWarningMs`. */
  onClockSkew?: (skewMs: number) => void;
  /**
   * Called when the new primary is on an earlier timeline than a previous primary. Data that the previous primary
   * acknowledged after `since` may be lost.
   */
  onTimelineBack?: (since: Date) => void;
};

/** Clock difference above which a warning is logged and the process reports that it is not ready, in milliseconds. */
export const clockWarningMs = 2_000;
export const clockLimitMs = 60_000;

/**
 * Time without a response to any statement, including probes, after which the database counts as unavailable, in
 * milliseconds. Only time during which this process could run is counted. The probe only reads, so a slow disk, which
 * delays commits, does not delay its response.
 */
const probeTimeoutMs = 220;
/**
 * A slow server is given this multiple of its slowest recent response time to respond, but at most
 * `longestProbeTimeoutMs`.
 */
const slownessFactor = 4;
const longestProbeTimeoutMs = 1_500;
/**
 * Factor by which the recorded slowest response time is multiplied at each probe. The record fades within about ten
 * seconds.
 */
const slownessKept = 0.98;
/**
 * Maximum time without a commit by the probe while batches still commit, as a multiple of the commit timeout. A batch's
 * commit proves less than the probe's, because the batch may have had nothing to write.
 */
const longestExcuse = 3;
/** Minimum interval between two searches for the writable server, in milliseconds. */
const searchIntervalMs = 50;

/**
 * Finds the writable server, then continually probes its responses and commits. While the database is unavailable,
 * requests are rejected immediately with 503. They are served again as soon as the database commits. Slow responses are
 * tolerated (docs/operations.md#database-health). Resolves after the first response or failure.
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
    if (server.url !== servers.current()) state.moved(new Error('another server has become the primary'));
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
      // A broken connection alone does not mean that the database is unavailable. The next search for a writable server
      // decides.
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
      // The data may not have reached a replica yet. A later successful commit shows that it has.
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

/** Creates the state that tracks whether the database is available and notifies listeners. */
function createState(onChange: HealthOptions['onChange']) {
  const listeners: (() => void)[] = [];
  let up = false;
  let frozen = false;
  let becomeKnown = (): void => {};
  const firstState = new Promise<void>((resolve) => {
    becomeKnown = resolve;
  });
  const tellListeners = (): void => {
    for (const listener of listeners) listener();
  };
  const set = (next: boolean, reason?: Error): void => {
    becomeKnown();
    if (next === up || frozen) return;
    up = next;
    if (!up) tellListeners();
    onChange(up, reason);
  };
  return {
    isUp: () => up,
    set,
    /** Called when another server becomes the primary. Notifies the listeners even if the database was unavailable. */
    moved: (reason: Error): void => {
      if (up) set(false, reason);
      else tellListeners();
    },
    onDown: (listener: () => void) => void listeners.push(listener),
    /** Resolves when the state is set for the first time. */
    known: firstState,
    becomeKnown: () => becomeKnown(),
    /** Stops reporting changes. */
    freeze: () => {
      frozen = true;
    },
  };
}

/** Tracks the database's responses and commits, and detects when they are overdue. */
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
    /**
     * Called when a server was found. Unless the database is already available, restarts the commit timeouts, so that
     * there is time for a first commit.
     */
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
     * Checks the timeouts.
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

/** Runs database work. Rejects immediately with `unavailable` (503) if the database is or becomes unavailable. */
export type FailFast = <T>(work: () => Promise<T>) => Promise<T>;

type FailFastHealth = {
  isUp: () => boolean;
  onDown: (listener: () => void) => void;
  sawFailure: (err: unknown) => void;
};

/**
 * Creates a fail-fast wrapper for idempotent work. The work must be idempotent, because its outcome is unknown if the
 * database becomes unavailable while it is running.
 */
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
 * Time without a response, not counting time when this process could not have received one. However late an event loop
 * tick is, it counts as one tick interval, because messages that arrived in the meantime are read only after the tick.
 * As a result, a process that is short of CPU time waits longer.
 */
export type Silence = {
  /** Reports a response, which ends the silence. */
  end: () => void;
  tick: (nowMs: number) => void;
  /** Time during which this process could have received a response, in milliseconds. */
  availableMs: () => number;
  /** Elapsed clock time, in milliseconds. */
  elapsedMs: () => number;
};

/** Interval between two ticks, in milliseconds. */
export const tickMs = 25;

/**
 * Creates a silence timer.
 * @param clock monotonic clock, in milliseconds
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
