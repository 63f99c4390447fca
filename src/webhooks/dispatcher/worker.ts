import { setMaxListeners } from 'node:events';
import type pg from 'pg';
import { listen } from '../../platform/db/listen.ts';
import type { Logger } from '../../platform/logger.ts';
import { mergeCounts } from '../deliveries/counts.ts';
import { type Claimed, freeUnknown, renew } from './claim/claim.ts';
import { runHousekeeping } from './claim/housekeeping.ts';
import { leaseGraceMs } from './claim/lease.ts';
import { parkDisabled } from './claim/park.ts';
import { createRetryTimers } from './claim/retry-timers.ts';
import { createScheduler } from './claim/scheduler.ts';
import { type Liveness, startLiveness } from './liveness.ts';
import { type Meter, noMeter } from './meter.ts';
import { type AttemptTools, attempt } from './send/attempt.ts';
import { createHealthWatch } from './settle/health.ts';
import { recordHealth } from './settle/health-store.ts';
import { type Settlement, settle } from './settle/settle.ts';
import { createSettlementWriter, type SettlementResult } from './settle/settle-batches.ts';

/**
 * NOTIFY on this channel, sent with the commit that queues deliveries, wakes the workers. It says for which endpoints,
 * by their
 * ids; without any, they look around.
 */
export const outboxChannel = 'perkwire_outbox';

/** Safety net for lost wakes, and what finds retries that became due and were not scheduled here (milliseconds). */
const pollMs = 1000;
/** Polls between two looks after endpoints that have failed for long (count). */
const tendEvery = 30;
/** How long `stop` waits for settlements once all calls have ended (milliseconds). */
const settleLimitMs = 3000;

export type DispatcherOptions = AttemptTools & {
  pool: pg.Pool;
  databaseUrl: string;
  logger: Logger;
  /** Calls in flight at once (count). */
  concurrency: number;
  /** How long `stop` lets calls in flight go on (milliseconds). */
  drainLimitMs: number;
  meter?: Meter;
};

export type Dispatcher = {
  /** Calls in flight (count). */
  inFlight: () => number;
  /**
   * Claims nothing more, lets calls in flight end, then cancels them; what did not finish is due at once for others.
   */
  stop: () => Promise<void>;
};

/**
 * Sends what is in the outbox: claim, send, settle. At least once: a delivery is sent twice only where a worker died or
 * lost its database between the call and the commit of its outcome.
 */
export async function startDispatcher(options: DispatcherOptions): Promise<Dispatcher> {
  const { pool, databaseUrl, concurrency, drainLimitMs, now, meter = noMeter } = options;
  const logger = options.logger.child({ part: 'dispatcher' });
  const monotonic = (): number => performance.now();
  const rounds = createScheduler(pool, concurrency, monotonic);
  const watch = createHealthWatch(monotonic);
  const cancel = new AbortController();
  setMaxListeners(0, cancel.signal); // one for each call in flight
  const settler = createSettlementWriter({ write, onDone, logger, now });
  const alarms = createRetryTimers(ring, monotonic);
  const calls = new Set<Promise<void>>();
  /** In flight, or not settled yet; with the end of the lease (milliseconds of the monotonic clock). */
  const held = new Map<Claimed, number>();
  let liveness: Liveness | null = null;
  let claiming: Promise<void> | null = null;
  let pacing: NodeJS.Timeout | undefined;
  let polls = 0;
  let wanted = false;
  let lookWanted = true;
  /** A look is under way: a part of it goes before each claim, so that it keeps none waiting for long. */
  let looking = false;
  /** A claim failed: it may have been committed all the same. */
  let uncertain = false;
  let stopped = false;

  /** Who may claim now. */
  const claimant = (): number | null => (stopped ? null : (liveness?.workerId() ?? null));

  function wake(): void {
    wanted = true;
    if (claimant() !== null) claiming ??= claimAll();
  }

  function look(): void {
    lookWanted = true;
    wake();
  }

  function notified(payload: string): void {
    if (payload === '') lookWanted = true;
    rounds.arrived(payload.split(' ').map(Number).filter(isEndpointId));
    wake();
  }

  function ring(endpointIds: readonly number[]): void {
    rounds.due(endpointIds);
    wake();
  }

  async function claimAll(): Promise<void> {
    for (let workerId = claimant(); wanted && workerId !== null; workerId = claimant()) {
      wanted = false;
      await claimSome(workerId).catch((err) => {
        uncertain = lookWanted = true;
        logger.debug({ err }, 'nothing could be claimed'); // the next poll attempts again
      });
    }
    claiming = null;
  }

  async function claimSome(workerId: number): Promise<void> {
    if (uncertain) await freeUnknown(pool, workerId, [...held.keys()]);
    uncertain = false;
    if (lookWanted && !looking) {
      lookWanted = false;
      looking = true;
    }
    if (looking) looking = !(await rounds.look());
    const round = await rounds.next(workerId, { takeOver: liveness?.mayTakeOver() ?? false });
    wanted ||= round.more || looking || lookWanted;
    for (const delivery of round.claimed) start(delivery);
    clearTimeout(pacing);
    const nextMs = rounds.nextMs();
    if (nextMs !== null) pacing = setTimeout(wake, nextMs);
  }

  function start(claimed: Claimed): void {
    meter.started(claimed.lagMs);
    held.set(claimed, monotonic() + claimed.deadlineMs + leaseGraceMs);
    const call = attempt(claimed, options, cancel.signal).then((settlement) => {
      calls.delete(call);
      // A failure may cost the endpoint calls in flight, and order wants the next behind it: the slot is free when it
      // is written.
      if (settlement.outcome === 'delivered' && settlement.disables === null && !claimed.strictOrder)
        rounds.end(claimed);
      settler.add(settlement);
      wake();
    });
    calls.add(call);
  }

  async function write(settlements: readonly Settlement[]): Promise<Settlement[]> {
    const written = await settle(pool, settlements);
    const opened = await recordHealth(pool, watch.observe(written)).catch((err) => {
      logger.warn({ err }, 'the health of endpoints could not be written');
      return [];
    });
    for (const { endpointId, openUntil } of opened) {
      meter.breakerOpened();
      logger.warn({ endpointId, openUntil }, 'an endpoint fails: its deliveries wait');
    }
    return written;
  }

  function onDone(settlement: Settlement, fate: SettlementResult): void {
    const { claimed, outcome, errorClass, disables } = settlement;
    held.delete(claimed);
    rounds.end(claimed);
    wake();
    meter.attempted(outcome === 'delivered' || outcome === 'endpoint_disabled' ? outcome : (errorClass ?? 'other'));
    if (fate === 'lost') meter.leaseLost();
    logSettlement(logger, settlement, fate);
    if (fate === 'written' && disables !== null) hold();
    if (fate === 'written' && outcome === 'retry' && !stopped) alarms.set(claimed.endpointId, settlement.delayMs);
  }

  function hold(): void {
    parkDisabled(pool).catch((err) => logger.debug({ err }, 'deliveries of disabled endpoints could not be held yet'));
  }

  function poll(): void {
    const workerId = claimant();
    if (workerId === null) return;
    hold();
    mergeCounts(pool).catch((err) => logger.debug({ err }, 'deliveries could not be counted together yet'));
    if (polls++ % tendEvery === 0) tend();
    const ending = [...held].filter(([, endMs]) => endMs - monotonic() < leaseGraceMs / 2).map(([claimed]) => claimed);
    if (ending.length > 0) renewLeases(workerId, ending);
    look();
  }

  function renewLeases(workerId: number, ending: readonly Claimed[]): void {
    for (const claimed of ending) held.set(claimed, monotonic() + leaseGraceMs);
    renew(pool, workerId, ending).catch((err) => logger.debug({ err }, 'leases could not be renewed'));
  }

  function tend(): void {
    runHousekeeping(pool).then(
      ({ disabled, warned }) => {
        if (disabled.length > 0)
          logger.warn({ endpointIds: disabled }, 'endpoints were disabled: nothing but failures for days');
        if (warned.length > 0) logger.warn({ endpointIds: warned }, 'endpoints have failed for a day');
      },
      (err) => logger.debug({ err }, 'endpoints could not be looked after'),
    );
  }

  liveness = await startLiveness({ databaseUrl, logger, onWork: look });
  wake();
  const unlisten = listen(databaseUrl, outboxChannel, notified);
  const polling = setInterval(poll, pollMs);

  return {
    inFlight: rounds.inFlight,
    stop: async () => {
      stopped = true;
      clearInterval(polling);
      clearTimeout(pacing);
      alarms.stop();
      await liveness?.retire();
      await unlisten();
      await claiming;
      const limit = setTimeout(() => cancel.abort(), drainLimitMs);
      await Promise.all(calls);
      clearTimeout(limit);
      await withinMs(settleLimitMs, settler.drain());
      await liveness?.stop();
    },
  };
}

/** Anybody who may use the database can send a NOTIFY. */
const isEndpointId = (value: number): boolean => Number.isInteger(value) && value > 0 && value < 2 ** 31;

function logSettlement(
  logger: Logger,
  { claimed, outcome, attempts, status, errorClass }: Settlement,
  fate: SettlementResult,
): void {
  const { deliveryId, generation, endpointId, publisherId } = claimed;
  const facts = { deliveryId, generation, endpointId, publisherId, outcome, attempts, status, errorClass };
  if (fate === 'lost') logger.warn(facts, 'a lease was lost before its call ended');
  else if (fate === 'late') logger.error(facts, 'an outcome could not be written in time');
  else if (outcome === 'delivered' || outcome === 'retry') logger.debug(facts, 'a delivery was tried');
  else logger.warn(facts, 'a delivery failed');
}

async function withinMs(limitMs: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  await Promise.race([work, new Promise((resolve) => (timer = setTimeout(resolve, limitMs)))]);
  clearTimeout(timer);
}
