import type { Executor } from '../../db/pool.ts';
import { type Claimed, claim, type Lane } from './claim.ts';
import { createPace } from './pace.ts';
import { createSlots } from './slots.ts';

/** The share of the slots that replays may hold. */
const replayShare = 0.1;

export type Rounds = {
  /** Claims what may be called now, live deliveries before replays. Each takes a slot, which `end` gives back. */
  next: (workerId: number, options: { takeOver: boolean; replays: boolean }) => Promise<Round>;
  /** @returns whether a replay has ended, so that the next may go */
  end: (claimed: Claimed) => boolean;
  /** Calls in flight (count). */
  inFlight: () => number;
  /** Milliseconds until an endpoint with a rate limit may go on; null when none waits. */
  nextMs: () => number | null;
};

export type Round = {
  claimed: Claimed[];
  /** There is surely more that could be claimed at once. */
  more: boolean;
  /** Replays were among them, or were not asked for because of live ones: there may be more. */
  replays: boolean;
};

/** Decides round by round what this worker may claim: it shares its slots among endpoints, paces them and goes around them in turn. */
export function createRounds(executor: Executor, concurrency: number, now: () => number): Rounds {
  const slots = createSlots(concurrency, now);
  const pace = createPace(now);
  const releases = new Map<Claimed, () => void>();
  const replaying = new Set<Claimed>();
  const replayLimit = Math.max(1, Math.floor(concurrency * replayShare));
  const afterIds: Record<Lane, number> = { live: 0, replay: 0 };

  async function claimIn(lane: Lane, workerId: number, takeOver: boolean, limit: number): Promise<{ claimed: Claimed[]; full: boolean }> {
    const allowance = slots.allowance();
    const trusted = Math.min(allowance.trusted, limit);
    const untrusted = Math.min(allowance.untrusted, limit);
    if (trusted + untrusted === 0) return { claimed: [], full: false };
    const afterId = afterIds[lane];
    const claimed = await claim(executor, { workerId, lane, afterId, takeOver, ...allowance, trusted, untrusted, ...pace.allowance() });
    for (const one of claimed) {
      releases.set(one, slots.take(one.endpointId, one.trusted));
      pace.spend(one.endpointId, one.perS);
    }
    const good = claimed.filter((one) => one.trusted);
    const full = good.length > 0 && good.length === trusted;
    afterIds[lane] = lastInTurn(full ? good : claimed, afterId);
    return { claimed, full };
  }

  return {
    next: async (workerId, { takeOver, replays }) => {
      const live = await claimIn('live', workerId, takeOver, concurrency);
      const replayRoom = live.full || !replays ? 0 : replayLimit - replaying.size;
      if (replayRoom <= 0) return { claimed: live.claimed, more: live.full, replays: live.full && replays };
      const again = await claimIn('replay', workerId, takeOver, replayRoom);
      for (const one of again.claimed) replaying.add(one);
      return { claimed: [...live.claimed, ...again.claimed], more: false, replays: again.claimed.length > 0 };
    },
    end: (claimed) => {
      releases.get(claimed)?.();
      releases.delete(claimed);
      return replaying.delete(claimed);
    },
    inFlight: slots.count,
    nextMs: pace.nextMs,
  };
}

/** The endpoint that comes last, going up from `afterId` and around. */
function lastInTurn(claimed: readonly Claimed[], afterId: number): number {
  const ids = claimed.map((one) => one.endpointId);
  const around = ids.filter((id) => id <= afterId);
  return Math.max(...(around.length > 0 ? around : [...ids, afterId]));
}
