import type pg from 'pg';
import type { Logger } from '../../../platform/logger.ts';
import { endpointIdsOf } from '../../outbox-channel.ts';
import type { Claimed } from './claim.ts';
import { freeUnknownLeases, type Leases } from './leases.ts';
import type { Scheduler } from './scheduler.ts';

/** Who claims: the id of this worker, and whether it may take over leases that have ended. */
type Claimant = { workerId: number; takeOver: boolean };

export type ClaimLoopOptions = {
  pool: pg.Pool;
  scheduler: Scheduler;
  leases: Leases;
  /** null while nothing may be claimed: the worker stops, or cannot prove that it lives. */
  claimant: () => Claimant | null;
  /** Starts the call of a claimed delivery. */
  start: (claimed: Claimed) => void;
  logger: Logger;
};

export type ClaimLoop = {
  /** There may be something to claim. */
  wake: () => void;
  /** Scans the queue for endpoints that the ready queue does not know of, then claims. */
  scan: () => void;
  /** A notification of the outbox channel. */
  notified: (payload: string) => void;
  /** Resolves once no claim is under way. */
  stop: () => Promise<void>;
};

type State = {
  wanted: boolean;
  scanRequested: boolean;
  /** A scan is under way: a page of it goes before each claim, so that it delays none for long. */
  isScanning: boolean;
  /** A claim failed, yet it may have been committed. */
  isUncertain: boolean;
  isStopped: boolean;
  running: Promise<void> | null;
  rateTimer: NodeJS.Timeout | undefined;
};

/** Claims, one statement at a time, for as long as there may be something to claim. */
export function createClaimLoop({ pool, scheduler, leases, claimant, start, logger }: ClaimLoopOptions): ClaimLoop {
  const state: State = {
    wanted: false,
    scanRequested: true,
    isScanning: false,
    isUncertain: false,
    isStopped: false,
    running: null,
    rateTimer: undefined,
  };
  const permitted = (): Claimant | null => (state.isStopped ? null : claimant());

  function wake(): void {
    state.wanted = true;
    if (permitted() !== null) state.running ??= run();
  }

  async function run(): Promise<void> {
    for (let by = permitted(); state.wanted && by !== null; by = permitted()) {
      state.wanted = false;
      await claimOnce(by).catch((err) => {
        state.isUncertain = state.scanRequested = true;
        logger.debug({ err }, 'a claim failed'); // the next poll claims again
      });
    }
    state.running = null;
  }

  async function claimOnce({ workerId, takeOver }: Claimant): Promise<void> {
    if (state.isUncertain) await freeUnknownLeases(pool, workerId, leases.all());
    state.isUncertain = false;
    await scanPage();
    const { claimed, more } = await scheduler.claim(workerId, { takeOver });
    state.wanted ||= more || state.isScanning || state.scanRequested;
    for (const delivery of claimed) start(delivery);
    clearTimeout(state.rateTimer);
    const nextMs = scheduler.nextRateLimitedMs();
    if (nextMs !== null && !state.isStopped) state.rateTimer = setTimeout(wake, nextMs);
  }

  async function scanPage(): Promise<void> {
    if (state.scanRequested && !state.isScanning) {
      state.scanRequested = false;
      state.isScanning = true;
    }
    if (state.isScanning) state.isScanning = !(await scheduler.scan());
  }

  return {
    wake,
    scan: () => {
      state.scanRequested = true;
      wake();
    },
    notified: (payload) => {
      if (payload === '') state.scanRequested = true;
      scheduler.arrived(endpointIdsOf(payload));
      wake();
    },
    stop: async () => {
      state.isStopped = true;
      clearTimeout(state.rateTimer);
      await state.running;
    },
  };
}
