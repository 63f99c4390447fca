import type pg from 'pg';
import { listen } from '../../platform/db/listen.ts';
import type { ServerUrl } from '../../platform/db/servers.ts';
import type { Logger } from '../../platform/logger.ts';
import { type LocalWorker, outboxChannel } from '../outbox.ts';
import { prepareClaims } from './claim/claim.ts';
import type { Claimed } from './claim/claimed.ts';
import { parkDisabled } from './claim/park.ts';
import { createRetryTimers } from './claim/ready-queue.ts';
import { type ClaimLoop, createClaimLoop, createScheduler } from './claim/scheduler.ts';
import { type Leases, type Liveness, leaseGraceMs, renewLeases, startLiveness } from './leases.ts';
import { type Meter, noMeter } from './meter.ts';
import { type AttemptTools, createCalls } from './send/attempt.ts';
import { createHealthWatch } from './settle/health.ts';
import { createSettlementWriter, recordSettlements, reportSettlement, type SettlementResult } from './settle/record.ts';
import { holdsBack, type Settlement } from './settle/settle.ts';

/** Maximum time for which `stop` waits for settlements after all calls have ended, in milliseconds. */
const settleLimitMs = 3000;

export type DispatcherOptions = AttemptTools & {
  pool: pg.Pool;
  /** Pool for claims. A separate one keeps the plans of the claims on one connection. Defaults to `pool`. */
  claimPool?: pg.Pool;
  databaseUrl: ServerUrl;
  logger: Logger;
  /** Maximum number of concurrent webhook calls. */
  concurrency: number;
  /** Time for which `stop` lets calls in flight continue, in milliseconds. */
  drainLimitMs: number;
  /**
   * Poll interval, in milliseconds. A poll finds deliveries that arrived without a notification, and retries that this
   * worker did not schedule.
   */
  pollMs?: number;
  meter?: Meter;
  /** Called with the settlements that were stored. */
  onWritten?: (settlements: readonly Settlement[]) => void;
};

export type Dispatcher = {
  /** Returns the number of calls in flight. */
  inFlight: () => number;
  /** Worker to which processes can hand over deliveries without a notification. */
  localWorker: LocalWorker;
  /**
   * Stops claiming deliveries and waits for calls in flight. Cancels the calls that have not ended in time. Unfinished
   * deliveries are due again immediately.
   */
  stop: () => Promise<void>;
};

/**
 * Starts the dispatcher, which scans the outbox and claims, attempts and settles deliveries. Delivery is at least once:
 * a receiver gets a delivery twice only if a worker died, or lost its database connection, between the call and the
 * commit of its outcome (docs/reference/webhooks.md#webhook-events).
 */
export async function startDispatcher(options: DispatcherOptions): Promise<Dispatcher> {
  const { pool, claimPool = pool, databaseUrl, concurrency, now, pollMs = 1000, meter = noMeter } = options;
  const { onWritten = () => {} } = options;
  const logger = options.logger.child({ part: 'dispatcher' });
  const clock = (): number => performance.now();
  const scheduler = createScheduler(claimPool, concurrency, clock);
  const leases = createLeases(clock);
  const watch = createHealthWatch(clock);
  const calls = createCalls(options, onCallEnd);
  const writer = createSettlementWriter({
    write: (settlements) => recordSettlements({ pool, watch, meter, logger, onWritten }, settlements),
    onDone: onSettled,
    logger,
    now,
    clock,
    isAwaited: () => scheduler.hasPeers() === true,
  });
  const retryTimers = createRetryTimers((endpointIds) => {
    scheduler.retriesDue(endpointIds);
    loop.wake();
  }, clock);
  const proof: { liveness: Liveness | null } = { liveness: null };
  let isStopping = false;
  const loop = createClaimLoop({
    pool: claimPool,
    scheduler,
    leases,
    claimant: () => claimantOf(proof.liveness),
    start: (claimed) => {
      meter.started(claimed.lagMs);
      leases.add(claimed);
      calls.start(claimed);
    },
    logger,
    clock,
  });

  function onCallEnd(settlement: Settlement): void {
    // After a failure, or with strict order, the next call to the endpoint must wait until this outcome is stored.
    if (!holdsBack(settlement)) scheduler.release(settlement.claimed);
    writer.add(settlement);
    loop.wake();
  }

  function onSettled(settlement: Settlement, result: SettlementResult): void {
    const { claimed, outcome, disables } = settlement;
    leases.remove(claimed);
    scheduler.release(claimed);
    loop.wake();
    reportSettlement({ meter, logger }, settlement, result);
    if (result !== 'written') return;
    if (disables !== null)
      parkDisabled(pool).catch((err) => logger.debug({ err }, 'holding deliveries of disabled endpoint failed'));
    if (outcome === 'retry') retryTimers.set(claimed.endpointId, settlement.delayMs);
  }

  prepareClaims(claimPool).catch((err) => logger.debug({ err }, 'preparing claims failed'));
  proof.liveness = await startLiveness({ databaseUrl, logger, onWork: loop.scan });
  loop.wake();
  const unlisten = listen(databaseUrl, outboxChannel, loop.notified);
  const polling = setInterval(() => {
    const claimant = claimantOf(proof.liveness);
    if (claimant !== null) poll(claimant.workerId, { pool, logger, leases, loop });
  }, pollMs);

  return {
    inFlight: scheduler.inFlight,
    localWorker: {
      isAlone: () => !isStopping && claimantOf(proof.liveness) !== null && scheduler.hasPeers() === false,
      arrived: loop.arrived,
    },
    stop: async () => {
      isStopping = true;
      const claimsEnded = loop.stop();
      clearInterval(polling);
      retryTimers.stop();
      await proof.liveness?.retire();
      await unlisten();
      await claimsEnded;
      await calls.drain(options.drainLimitMs);
      await withinMs(settleLimitMs, writer.drain());
      await proof.liveness?.stop();
    },
  };
}

/**
 * Creates a worker's table of leases.
 * @param now monotonic clock, in milliseconds
 */
function createLeases(now: () => number): Leases {
  const endsMs = new Map<Claimed, number>();
  return {
    add: (claimed) => void endsMs.set(claimed, now() + claimed.deadlineMs + leaseGraceMs),
    remove: (claimed) => void endsMs.delete(claimed),
    all: () => [...endsMs.keys()],
    extendExpiring: () => {
      const ending = [...endsMs].filter(([, endMs]) => endMs - now() < leaseGraceMs / 2).map(([claimed]) => claimed);
      for (const claimed of ending) endsMs.set(claimed, now() + leaseGraceMs);
      return ending;
    },
  };
}

const claimantOf = (liveness: Liveness | null) => {
  const workerId = liveness?.workerId() ?? null;
  return liveness === null || workerId === null ? null : { workerId, takeOver: liveness.mayTakeOver() };
};

type PollTools = {
  pool: pg.Pool;
  logger: Logger;
  leases: Leases;
  loop: ClaimLoop;
};

function poll(workerId: number, { pool, logger, leases, loop }: PollTools): void {
  const ending = leases.extendExpiring();
  if (ending.length > 0)
    renewLeases(pool, workerId, ending).catch((err) => logger.debug({ err }, 'renewing leases failed'));
  loop.scan();
}

async function withinMs(limitMs: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  await Promise.race([work, new Promise((resolve) => (timer = setTimeout(resolve, limitMs)))]);
  clearTimeout(timer);
}
