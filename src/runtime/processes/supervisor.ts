import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../platform/logger.ts';
import { StartupError } from '../../platform/startup-error.ts';
import type { Child } from './child.ts';
import type { Assignment } from './messages.ts';

/**
 * Minimum uptime of a healthy process, in milliseconds. A process that exits earlier, or before it is ready, counts as
 * an early death.
 */
const earlyDeathMs = 10_000;
/**
 * Maximum number of consecutive early deaths of one process. After that, all processes are stopped, because the service
 * manager then reports a failure, which a restart loop would hide.
 */
const maxEarlyDeaths = 4;
/**
 * Delay before a process is restarted after its first early death, in milliseconds. It doubles with each further early
 * death.
 */
const firstPauseMs = 250;
/** Extra time after `SHUTDOWN_TIMEOUT_S` has passed, before a process is killed, in milliseconds. */
const killMarginMs = 1000;

type Place = { assignment: Assignment; child: Child | null; earlyDeaths: number };

type SupervisorDeps = {
  assignments: readonly Assignment[];
  start: (assignment: Assignment) => Child;
  shutdownTimeoutMs: number;
  logger: Logger;
};

export type Supervisor = {
  /**
   * Starts the first process and, once it is ready, the others.
   * @throws StartupError if the first process exits before it is ready
   */
  start: () => Promise<'ready' | 'stopped'>;
  /** Replaces the processes one by one. Each old process stops only after its replacement is ready. */
  replaceAll: () => Promise<void>;
  /** Stops all processes. */
  stop: () => Promise<void>;
  /** Rejects with `StartupError` if a process repeatedly exits right after its start. */
  gaveUp: Promise<never>;
};

/**
 * Creates a supervisor that keeps one process running per assignment
 * (docs/operations.md#several-processes-on-one-port).
 */
export function createSupervisor({ assignments, start, shutdownTimeoutMs, logger }: SupervisorDeps): Supervisor {
  const places: Place[] = assignments.map((assignment) => ({ assignment, child: null, earlyDeaths: 0 }));
  const running = new Set<Child>();
  let stopping = false;
  let allStarted = (): void => {};
  const started = new Promise<void>((resolve) => {
    allStarted = resolve;
  });
  let giveUp: (err: StartupError) => void = () => {};
  const gaveUp = new Promise<never>((_resolve, reject) => {
    giveUp = reject;
  });
  // Prevents an unhandled rejection if the promise rejects before it is awaited.
  gaveUp.catch(() => {});

  function launch(assignment: Assignment): Child {
    const child = start(assignment);
    running.add(child);
    void child.ended.then(() => running.delete(child));
    return child;
  }

  function occupy(place: Place, child: Child): void {
    place.child = child;
    void child.ended.then(async (end) => {
      if (stopping || place.child !== child) return;
      place.child = null;
      logger.error({ pid: child.pid, roles: child.assignment.roles, ...end }, 'process exited; starting replacement');
      place.earlyDeaths = !end.served || end.livedMs < earlyDeathMs ? place.earlyDeaths + 1 : 0;
      if (place.earlyDeaths >= maxEarlyDeaths) return giveUp(diesAtOnce(place));
      if (place.earlyDeaths > 0) await sleep(firstPauseMs * 2 ** (place.earlyDeaths - 1));
      if (!stopping && place.child === null) occupy(place, launch(later(place.assignment)));
    });
  }

  /**
   * Replaces a process.
   * @returns false if the new process did not become ready, in which case the old process keeps running
   */
  async function replace(place: Place): Promise<boolean> {
    const next = launch(later(place.assignment));
    if (!(await next.ready)) return false;
    const previous = place.child;
    place.earlyDeaths = 0;
    occupy(place, next);
    if (previous !== null) await stopChild(previous, shutdownTimeoutMs + killMarginMs);
    return true;
  }

  async function replaceEach(): Promise<void> {
    await started;
    logger.info({}, 'replacing all processes');
    for (const place of places) {
      if (stopping) return;
      if (!(await replace(place))) {
        if (!stopping) logger.error({}, 'new process failed to start; keeping the old processes');
        return;
      }
    }
    logger.info({ processes: places.length }, 'all processes replaced');
  }

  return {
    start: async () => {
      const [first, ...others] = places as [Place, ...Place[]];
      const child = launch(first.assignment);
      const served = await child.ready;
      if (stopping) return 'stopped';
      if (!served) throw neverServed(first, await child.ended);
      occupy(first, child);
      for (const place of others) occupy(place, launch(place.assignment));
      await Promise.all(others.map(({ child: other }) => other?.ready));
      allStarted();
      return 'ready';
    },
    replaceAll: oneAtATime(replaceEach),
    stop: async () => {
      stopping = true;
      await Promise.all([...running].map((child) => stopChild(child, shutdownTimeoutMs + killMarginMs)));
    },
    gaveUp,
  };
}

async function stopChild(child: Child, killAfterMs: number): Promise<void> {
  child.send({ type: 'stop' });
  const killing = setTimeout(child.kill, killAfterMs);
  await child.ended;
  clearTimeout(killing);
}

/** Returns a function that runs one round at a time and queues at most one more. */
function oneAtATime(round: () => Promise<void>): () => Promise<void> {
  let rounds: Promise<void> = Promise.resolve();
  let waits = false;
  return () => {
    if (waits) return rounds;
    waits = true;
    rounds = rounds.then(() => {
      waits = false;
      return round();
    });
    return rounds;
  };
}

const later = (assignment: Assignment): Assignment => ({ ...assignment, first: false });

/**
 * Returns the error for a first process that ended before it was ready. For a signal, the message explains possible
 * causes. A process that exits by itself has already logged its reason.
 */
function neverServed({ assignment }: Place, { code, signal }: Awaited<Child['ended']>): StartupError {
  const how =
    signal === null ? `with code ${code}. What it wrote above says why.` : `by ${signal}. ${killedBy(signal)}`;
  return new StartupError(`The first process (${assignment.roles.join(', ')}) ended before it served, ${how}`);
}

const killedBy = (signal: string): string =>
  signal === 'SIGKILL'
    ? 'A person or the system did that: the log of the system says whether memory ran out.'
    : 'What it wrote above, or the log of the system, says why.';

const diesAtOnce = ({ assignment }: Place): StartupError =>
  new StartupError(
    `A process (${assignment.roles.join(', ')}) ended ${maxEarlyDeaths} times in a row before it served, or within ` +
      `${earlyDeathMs / 1000} s of its start. What it wrote above says why.`,
  );
