import type pg from 'pg';
import type { Executor } from '../../../platform/db/pool.ts';
import type { Logger } from '../../../platform/logger.ts';
import { endpointIdsOf } from '../../outbox.ts';
import { freeUnknownLeases, type Leases } from '../leases.ts';
import { createThrottle } from '../throttle.ts';
import { claimPlainFirst } from './claim.ts';
import type { Claimed, Lane } from './claimed.ts';
import { type Allowance, createConcurrency, createRateLimiter } from './limits.ts';
import { createReadyQueue } from './ready-queue.ts';
import { scanQueue } from './scan.ts';

/**
 * Number of deliveries by which the claim size grows for each millisecond that the last claim took. Small claims are
 * fast: each delivery takes 25 µs, and 1% of the claims for 50 deliveries took 7 ms or more. If commits are slow,
 * larger claims take no longer than small ones.
 */
const claimedPerMs = 8;
const claimSize = { least: 16, most: 64 };
/**
 * Minimum interval between claims that return few deliveries, in milliseconds. A claim takes about 300 µs of CPU time
 * in PostgreSQL even if it returns a single delivery, so one claim after several calls have ended is much cheaper than
 * one claim after each.
 */
const claimIntervalMs = 2;
/** Maximum share of untrusted endpoints in a claim. */
const untrustedShare = 0.5;
/** Maximum share of the concurrency for redeliveries. */
const redeliveryShare = 0.1;
const lanes: readonly Lane[] = ['live', 'redelivery'];

export type Scheduler = {
  /**
   * Scans the next page of the queue.
   * @returns whether this was the last page; the next scan then starts at the first page
   */
  scan: () => Promise<boolean>;
  /** Records that live deliveries arrived for these endpoints. */
  arrived: (endpointIds: readonly number[]) => void;
  /** Records that retries to these endpoints are due. */
  retriesDue: (endpointIds: readonly number[]) => void;
  /**
   * Claims deliveries that may be sent now, with live deliveries before redeliveries. Call `release` for each delivery
   * when its call has ended.
   */
  claim: (workerId: number, options: { takeOver: boolean }) => Promise<ClaimResult>;
  /** Records that the call for a claimed delivery has ended. */
  release: (claimed: Claimed) => void;
  /** Returns the number of webhook calls in flight. */
  inFlight: () => number;
  /**
   * Whether the last claim found other workers, which count this worker's leases. Undefined before the first claim.
   */
  hasPeers: () => boolean | undefined;
  /**
   * Returns the time in milliseconds until more deliveries may be claimed, if nothing else happens in the meantime.
   * Returns null if there is no such time.
   */
  nextMs: () => number | null;
};

type ClaimResult = {
  claimed: Claimed[];
  /** Whether another claim may immediately return more deliveries. */
  more: boolean;
};

/**
 * Creates a scheduler that decides what this worker claims next, based on the ready queue, concurrency shares and rate
 * limits.
 */
export function createScheduler(executor: Executor, concurrency: number, now: () => number): Scheduler {
  const concurrencyShares = createConcurrency(concurrency, now);
  const rateLimiter = createRateLimiter(now);
  const readyQueues = { live: createReadyQueue(), redelivery: createReadyQueue() };
  const releases = new Map<Claimed, () => void>();
  const redelivering = new Set<Claimed>();
  /** Endpoints with strict order or a rate limit, and those whose leases may have expired since the last scan. */
  const special = new Set<number>();
  let lastClaimMs = 0;
  let hasPeers: boolean | undefined;
  let position: { lane: Lane; after: number } = { lane: 'live', after: 0 };
  const redeliveryLimit = Math.max(1, Math.floor(concurrency * redeliveryShare));

  function freed(endpointId: number): void {
    for (const lane of lanes) readyQueues[lane].freed(endpointId);
  }

  const isPlain = (endpointId: number, { slowIds }: Allowance): boolean =>
    readyQueues.live.isTrusted(endpointId) && !special.has(endpointId) && !slowIds.includes(endpointId);

  async function claimIn(
    lane: Lane,
    { workerId, takeOver }: Claimant,
    allowance: Allowance,
    limit: number,
  ): Promise<ClaimResult> {
    const limits = limitsOf(allowance, Math.min(limit, sizeOf(lastClaimMs)));
    const endpointIds = readyQueues[lane].peek(limits);
    if (endpointIds.length === 0) return { claimed: [], more: false };
    const startMs = now();
    const plainIds = lane === 'live' ? endpointIds.filter((id) => isPlain(id, allowance)) : [];
    const request = { workerId, lane, endpointIds, takeOver, ...allowance, ...limits, ...rateLimiter.allowance() };
    const { claimed, candidates, ...found } = await claimPlainFirst(executor, request, plainIds);
    lastClaimMs = now() - startMs;
    hasPeers = found.hasPeers ?? hasPeers;
    for (const delivery of claimed) {
      releases.set(delivery, concurrencyShares.take(delivery.endpointId, delivery.standing));
      rateLimiter.spend(delivery.endpointId, delivery.perS);
    }
    if (lane === 'live') for (const id of endpointIds) special.delete(id);
    for (const { endpointId, strictOrder, perS } of claimed) if (strictOrder || perS !== null) special.add(endpointId);
    for (const { endpointId, room } of candidates) rateLimiter.observe(endpointId, room);
    readyQueues[lane].update(endpointIds, candidates, countByEndpoint(claimed), limits);
    return { claimed, more: true };
  }

  return {
    scan: async () => {
      const { lane, after } = position;
      const { endpoints, next } = await scanQueue(executor, lane, after);
      readyQueues[lane].scanned(endpoints, next === null);
      for (const { endpointId } of endpoints) special.add(endpointId);
      if (next !== null) position = { lane, after: next };
      else position = { lane: lane === 'live' ? 'redelivery' : 'live', after: 0 };
      return next === null && lane === 'redelivery';
    },
    arrived: (endpointIds) => readyQueues.live.arrived(endpointIds),
    retriesDue: (endpointIds) => {
      for (const endpointId of endpointIds) freed(endpointId);
      readyQueues.live.arrived(endpointIds);
    },
    claim: async (workerId, { takeOver }) => {
      for (const endpointId of rateLimiter.ready()) freed(endpointId);
      const allowance = concurrencyShares.allowance();
      const live = await claimIn('live', { workerId, takeOver }, allowance, concurrency);
      if (live.more || redelivering.size >= redeliveryLimit) return live;
      const redeliveries = redeliveryLimit - redelivering.size;
      const again = await claimIn('redelivery', { workerId, takeOver }, allowance, redeliveries);
      for (const delivery of again.claimed) redelivering.add(delivery);
      return again;
    },
    release: (claimed) => {
      const release = releases.get(claimed);
      if (release === undefined) return;
      release();
      releases.delete(claimed);
      redelivering.delete(claimed);
      freed(claimed.endpointId);
    },
    inFlight: concurrencyShares.count,
    hasPeers: () => hasPeers,
    nextMs: () => earlier(rateLimiter.nextMs(), concurrencyShares.nextMs()),
  };
}

const sizeOf = (lastClaimMs: number): number =>
  Math.max(claimSize.least, Math.min(Math.floor(lastClaimMs * claimedPerMs), claimSize.most));

const earlier = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? (a ?? b) : Math.min(a, b);

/** Returns the limits for a single claim, derived from the allowance. */
function limitsOf({ trusted, untrusted, tried }: Allowance, size: number) {
  const ofOthers = Math.ceil(size * untrustedShare);
  return {
    trusted: Math.min(trusted, size),
    untrusted: Math.min(untrusted, ofOthers),
    tried: Math.min(tried, ofOthers),
  };
}

function countByEndpoint(claimed: readonly Claimed[]): Map<number, number> {
  const counts = new Map<number, number>();
  for (const { endpointId } of claimed) counts.set(endpointId, (counts.get(endpointId) ?? 0) + 1);
  return counts;
}

/** Worker that makes a claim, and whether it may take over expired leases. */
type Claimant = { workerId: number; takeOver: boolean };

export type ClaimLoopOptions = {
  pool: pg.Pool;
  scheduler: Scheduler;
  leases: Leases;
  /**
   * Returns the worker that claims, or null while it must not claim because it is stopping or cannot prove that it is
   * alive.
   */
  claimant: () => Claimant | null;
  /** Starts the call for a claimed delivery. */
  start: (claimed: Claimed) => void;
  logger: Logger;
  /** Monotonic clock, in milliseconds. */
  clock: () => number;
};

export type ClaimLoop = {
  /** Requests a claim soon, because there may be deliveries to claim. */
  wake: () => void;
  /** Scans the queue for endpoints that are missing in the ready queue, then claims. */
  scan: () => void;
  /** Claims deliveries that arrived for these endpoints. */
  arrived: (endpointIds: readonly number[]) => void;
  /** Handles a notification on the outbox channel. */
  notified: (payload: string) => void;
  /** Stops the loop. Resolves when no claim is running. */
  stop: () => Promise<void>;
};

type State = {
  isWanted: boolean;
  scanRequested: boolean;
  /** Whether a scan is running. It reads one page before each claim, so that it does not delay any claim for long. */
  isScanning: boolean;
  /** Whether a claim has failed that may nevertheless have been committed. */
  isUncertain: boolean;
  isStopped: boolean;
  running: Promise<void> | null;
  claimTimer: NodeJS.Timeout | undefined;
  /** Number of calls in flight after the last claim. */
  startedCalls: number;
};

/** Creates a loop that runs one claim statement at a time, as long as there may be deliveries to claim. */
export function createClaimLoop(options: ClaimLoopOptions): ClaimLoop {
  const { pool, scheduler, leases, claimant, start, logger, clock } = options;
  const state: State = {
    isWanted: false,
    scanRequested: true,
    isScanning: false,
    isUncertain: false,
    isStopped: false,
    running: null,
    claimTimer: undefined,
    startedCalls: 0,
  };
  const throttle = createThrottle(() => claimIntervalMs, clock);
  const permitted = (): Claimant | null => (state.isStopped ? null : claimant());

  function wake(): void {
    state.isWanted = true;
    const callsLeft = scheduler.inFlight();
    if (state.startedCalls - callsLeft >= claimSize.least) throttle.skip();
    if (permitted() !== null) state.running ??= run();
  }

  function arrived(endpointIds: readonly number[]): void {
    scheduler.arrived(endpointIds);
    wake();
  }

  async function run(): Promise<void> {
    while (state.isWanted) {
      await throttle.wait();
      const by = permitted();
      if (by === null) break;
      state.isWanted = false;
      await claimOnce(by).catch((err) => {
        state.isUncertain = state.scanRequested = true;
        logger.debug({ err }, 'claiming deliveries failed'); // the next poll claims again
      });
    }
    state.running = null;
  }

  async function claimOnce({ workerId, takeOver }: Claimant): Promise<void> {
    if (state.isUncertain) await freeUnknownLeases(pool, workerId, leases.all());
    state.isUncertain = false;
    await scanPage();
    const { claimed, more } = await scheduler.claim(workerId, { takeOver });
    state.isWanted ||= more || state.isScanning || state.scanRequested;
    for (const delivery of claimed) start(delivery);
    state.startedCalls = scheduler.inFlight();
    // More deliveries may be waiting than this claim was allowed to return.
    if (claimed.length === 0 || claimed.length >= claimSize.least) throttle.skip();
    clearTimeout(state.claimTimer);
    const nextMs = scheduler.nextMs();
    if (nextMs !== null && !state.isStopped) state.claimTimer = setTimeout(wake, nextMs);
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
    arrived,
    notified: (payload) => {
      if (payload === '') state.scanRequested = true;
      arrived(endpointIdsOf(payload));
    },
    stop: async () => {
      state.isStopped = true;
      clearTimeout(state.claimTimer);
      throttle.skip();
      await state.running;
    },
  };
}
