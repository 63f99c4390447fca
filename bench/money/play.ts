import { getOrInsert } from '../../src/platform/lib/get-or-insert.ts';
import { noonMs } from '../../test/decision/support.ts';
import { notice } from './noticing.ts';
import { learnEveryMs, type Notice, type Policy, topOf, type View, valuesOf } from './policies.ts';
import { uniforms, type World } from './world.ts';

/**
 * One response of a run, with the true expected revenue of the offers shown, and of the best offers that could have
 * been shown.
 */
export type PlayedAnswer = {
  at: number;
  /** Time of the response, in milliseconds since the start of the run. */
  atMs: number;
  choices: readonly number[];
  best: readonly number[];
  earned: number;
  possible: number;
};

/**
 * Simulates a world with a policy.
 * @param note called for each recorded response
 * @param from index of the first recorded response
 */
export function play(world: World, policy: Policy, seed: number, note: (answer: PlayedAnswer) => void, from = 0): void {
  const u = uniforms(seed + 77);
  const notices = new Map<number, Notice[]>();
  let tick = 0;
  let waiting: Notice[] = [];
  for (let at = 0; at < world.answers; at++) {
    const atMs = (at * 1000) / world.perSecond;
    for (; tick < Math.floor(atMs / learnEveryMs); tick++) {
      waiting = waiting.concat(notices.get(tick + 1) ?? []);
      notices.delete(tick + 1);
      if (world.isPaused?.(atMs) === true) continue;
      policy.learn(waiting, noonMs + (tick + 1) * learnEveryMs);
      waiting = [];
    }
    const asker = world.asker(at);
    const isPresent = (offer: number): boolean => at >= world.startsAt(offer);
    const ranked = policy.choose(asker, isPresent, at, noonMs + atMs);
    if (at >= from) {
      const values = valuesOf(world, asker, at);
      const worth = (offers: readonly number[]): number =>
        offers.reduce((sum, offer, k) => sum + (values[offer] as number) * (world.examination[k] as number), 0);
      const best = topOf(values, isPresent, world.positions);
      note({ at, atMs, choices: ranked, best, earned: worth(ranked), possible: worth(best) });
    }
    for (const [k, offer] of ranked.entries()) {
      const view: View = { offer, position: k + 1, asker, atMs: noonMs + atMs };
      const later = (eventMs: number, event: Notice): void => {
        const sinceMs = eventMs - noonMs;
        const knownMs = world.knownAtMs?.(sinceMs, at) ?? sinceMs;
        getOrInsert(notices, Math.floor(knownMs / learnEveryMs) + 1, (): Notice[] => []).push(event);
      };
      notice({ world, view, at, chance: (salt) => u(salt + 10 * k + 1000 * offer, at), later });
    }
  }
}

/** Returns the revenue in the second half of a run, as a share of the best possible revenue. */
export function lastHalfOf(world: World, policy: Policy, seed: number): number {
  let [earned, possible] = [0, 0];
  const note = (answer: PlayedAnswer): void => {
    earned += answer.earned;
    possible += answer.possible;
  };
  play(world, policy, seed, note, world.answers / 2);
  return earned / possible;
}
