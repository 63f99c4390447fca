import { setMaxListeners } from 'node:events';
import type pg from 'pg';
import { listen } from '../../db/listen.ts';
import type { Logger } from '../../logger.ts';
import { type AttemptTools, attempt } from './attempt.ts';
import { type Claimed, claim, freeUnknown } from './claim.ts';
import { holdDisabled } from './hold.ts';
import { type Liveness, startLiveness } from './liveness.ts';
import { type Settlement, settle } from './settle.ts';
import { createSettler, type Fate } from './settler.ts';
import { createSlots } from './slots.ts';

/** NOTIFY on this channel, sent with the commit that queues deliveries, wakes the workers. */
export const outboxChannel = 'perkwire_outbox';

/** Safety net for lost wakes, and what finds retries that became due (milliseconds). */
const pollMs = 1000;
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
};

export type Dispatcher = {
  /** Claims nothing more, lets calls in flight end, then cancels them; what did not finish is due at once for others. */
  stop: () => Promise<void>;
};

/**
 * Sends what is in the outbox: claim, send, settle. At least once: a delivery is sent twice only where a worker died or
 * lost its database between the call and the commit of its outcome.
 */
export async function startDispatcher(options: DispatcherOptions): Promise<Dispatcher> {
  const { pool, databaseUrl, concurrency, drainLimitMs, now } = options;
  const logger = options.logger.child({ part: 'dispatcher' });
  const slots = createSlots(concurrency);
  const cancel = new AbortController();
  setMaxListeners(0, cancel.signal); // one for each call in flight
  const settler = createSettler({ write: (settlements) => settle(pool, settlements), onDone, logger, now });
  const calls = new Set<Promise<void>>();
  /** In flight, or not settled yet. */
  const held = new Set<Claimed>();
  let liveness: Liveness | null = null;
  let claiming: Promise<void> | null = null;
  let wanted = false;
  let mayHaveMore = false;
  /** A claim failed: it may have been committed all the same. */
  let uncertain = false;
  let stopped = false;

  /** Who may claim now. */
  const claimant = (): number | null => (stopped || slots.free() === 0 ? null : (liveness?.workerId() ?? null));

  function wake(): void {
    wanted = true;
    if (claimant() !== null) claiming ??= claimAll();
  }

  async function claimAll(): Promise<void> {
    for (let workerId = claimant(); wanted && workerId !== null; workerId = claimant()) {
      wanted = false;
      await claimSome(workerId).catch((err) => {
        uncertain = true;
        logger.debug({ err }, 'nothing could be claimed'); // the next poll tries again
      });
    }
    claiming = null;
  }

  async function claimSome(workerId: number): Promise<void> {
    if (uncertain) await freeUnknown(pool, workerId, [...held]);
    uncertain = false;
    const allowance = slots.allowance();
    const claimed = await claim(pool, workerId, allowance);
    mayHaveMore = claimed.length > 0 || allowance.rooms.includes(0);
    wanted ||= claimed.length === allowance.limit;
    for (const delivery of claimed) start(delivery);
  }

  function start(claimed: Claimed): void {
    slots.take(claimed.endpointId);
    held.add(claimed);
    const call = attempt(claimed, options, cancel.signal).then((settlement) => {
      calls.delete(call);
      slots.give(claimed.endpointId);
      settler.add(settlement);
      if (mayHaveMore) wake();
    });
    calls.add(call);
  }

  function onDone(settlement: Settlement, fate: Fate): void {
    held.delete(settlement.claimed);
    logSettlement(logger, settlement, fate);
    if (fate === 'written' && settlement.outcome === 'endpoint_disabled') hold();
  }

  function hold(): void {
    holdDisabled(pool).catch((err) => logger.debug({ err }, 'deliveries of disabled endpoints could not be held yet'));
  }

  liveness = await startLiveness({ databaseUrl, logger, onWork: wake });
  wake();
  const unlisten = listen(databaseUrl, outboxChannel, wake);
  const poll = setInterval(() => {
    if (claimant() !== null) hold();
    wake();
  }, pollMs);

  return {
    stop: async () => {
      stopped = true;
      clearInterval(poll);
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

function logSettlement(logger: Logger, { claimed, outcome, tries, status, errorClass }: Settlement, fate: Fate): void {
  const { deliveryId, generation, endpointId, publisherId } = claimed;
  const facts = { deliveryId, generation, endpointId, publisherId, outcome, tries, status, errorClass };
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
