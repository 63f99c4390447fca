import type { FrequencyCap } from '../../catalog/rules.ts';
import { dayMs, hourMs, minuteMs } from '../../platform/lib/time.ts';
import type { Random } from './random.ts';
import { type Replay, type ReplayedSession, simulatedUsers } from './replay.ts';
import type { OpenShare } from './simulate.ts';
import { type ForecastInput, horizonDays } from './types.ts';

/** Number of times that each user's visits are simulated. */
const repetitions = 4;

export type Reach = {
  /** Share of impressions that remain after frequency caps and opt-outs, by day. */
  remainingShare: Float64Array;
  /** Expected number of users per session of the campaign's schedule hours in the forecast period. */
  usersPerSession: number;
  /** Relative standard deviation of `usersPerSession`. */
  relativeSd: number;
};

type UserState = { impressionsMs: number[]; clicksMs: number[]; optedOutUntilMs: number };

/**
 * Simulates the visits of sampled users, who are assumed to return as in the past. The sample is drawn from sessions,
 * so frequent visitors are overrepresented. Each user is therefore weighted by the inverse of the number of visits.
 * @param delivered share of the possible impressions that total caps and dates leave, by day
 * @param openShare share of an hour in which the campaign's schedule is open
 */
export function* simulateUsers(
  input: ForecastInput,
  { sessions, grid, open, matching, declineRate }: Replay,
  { delivered, openShare, random }: { delivered: readonly number[]; openShare: OpenShare; random: Random },
): Generator<void, Reach> {
  const { campaign, visits, visitDays, nowMs } = input;
  const center = grid.indexOf(0);
  const users = sessions.slice(0, simulatedUsers);
  const meanChance = users.reduce((sum, { impressions }) => sum + (impressions[center] as number), 0) / users.length;
  const similarity = similarityOf(sessions, center);
  const days = { possible: new Float64Array(horizonDays), remaining: new Float64Array(horizonDays) };
  const reached: number[] = [];
  const middleMs = nowMs - (visitDays * dayMs) / 2;
  const sinceMs = nowMs - (visitDays * dayMs) / 4;
  const identified = users.filter(({ userKey, atMs }) => userKey !== null && atMs >= sinceMs);
  const returned = identified.filter((session) => timesOf(session, visits).some((atMs) => atMs < middleMs)).length;
  const returns = identified.length === 0 ? 0 : returned / identified.length;
  const hasLimits = campaign.liveSinceMs === null && (campaign.frequencyCaps.length > 0 || declineRate > 0);
  for (const [at, session] of users.entries()) {
    if (at % 10 === 0) yield;
    const chance = session.impressions[center] as number;
    const impression = Math.max(0, Math.min(1, meanChance + similarity * (chance - meanChance)));
    const click = Math.min(1, (session.clicks[center] as number) / Math.max(chance, 1e-9));
    // Visits outside the schedule hours are no opportunity to see the campaign.
    const times = timesOf(session, visits).filter(
      (atMs) => atMs === session.atMs || openShare(Math.floor(atMs / hourMs) * hourMs) > 0,
    );
    let [reachedShare, runs] = [0, 0];
    for (let run = 0; run < repetitions; run++) {
      const future = repeated(times, { visitDays, nowMs, random, returns });
      const state: UserState = { impressionsMs: [], clicksMs: [], optedOutUntilMs: Number.NEGATIVE_INFINITY };
      for (const atMs of future) {
        const day = Math.floor((atMs - nowMs) / dayMs);
        const share = impression * (delivered[day] as number);
        if (share === 0 && impression === 0) continue;
        const isOpen = !hasLimits || isAllowed(campaign.frequencyCaps, state, atMs);
        days.possible[day] = (days.possible[day] as number) + share / times.length;
        if (!isOpen) continue;
        days.remaining[day] = (days.remaining[day] as number) + share / times.length;
        if (random.uniform() >= share) continue;
        state.impressionsMs.push(atMs);
        if (random.uniform() < click) state.clicksMs.push(atMs);
        if (random.uniform() < declineRate)
          state.optedOutUntilMs =
            campaign.optOutDays === null ? Number.POSITIVE_INFINITY : atMs + campaign.optOutDays * dayMs;
      }
      if (future.length > 0) runs += 1;
      if (state.impressionsMs.length > 0) reachedShare += 1 / future.length;
    }
    reached.push(session.userKey === null || runs === 0 ? 0 : reachedShare / runs);
  }
  const mean = reached.reduce((sum, value) => sum + value, 0) / Math.max(1, reached.length);
  const variance = reached.reduce((sum, value) => sum + (value - mean) ** 2, 0) / Math.max(1, reached.length);
  return {
    remainingShare: smoothed(days.remaining, days.possible),
    usersPerSession: open === 0 ? 0 : (mean * matching) / open,
    relativeSd: mean === 0 ? 0 : Math.sqrt(variance / reached.length) / mean,
  };
}

/** Similarity that is assumed without data, and its weight as a number of session pairs. */
const assumedSimilarity = { value: 0.7, pairs: 20 };

/**
 * Returns how similar the chances of two sessions of the same user are: the correlation, from 0 to 1. It is low if the
 * chance depends less on the user than on the time, for example because budgets of competitors are used up by noon.
 */
function similarityOf(sessions: readonly ReplayedSession[], center: number): number {
  const chances = sessions.map(({ impressions }) => impressions[center] as number);
  const mean = chances.reduce((sum, chance) => sum + chance, 0) / Math.max(1, chances.length);
  const variance = chances.reduce((sum, chance) => sum + (chance - mean) ** 2, 0) / Math.max(1, chances.length);
  const lastOf = new Map<string, number>();
  const { value, pairs: assumedPairs } = assumedSimilarity;
  let [pairs, product] = [assumedPairs, value * assumedPairs * variance];
  for (const [at, { userKey }] of sessions.entries()) {
    if (userKey === null) continue;
    const last = lastOf.get(userKey);
    const deviation = (chances[at] as number) - mean;
    lastOf.set(userKey, deviation);
    if (last === undefined) continue;
    pairs += 1;
    product += last * deviation;
  }
  return variance === 0 ? 1 : Math.max(0, Math.min(1, product / pairs / variance));
}

const timesOf = ({ userKey, atMs }: ReplayedSession, visits: ForecastInput['visits']): readonly number[] => {
  const times = userKey === null ? undefined : visits.get(userKey);
  return times === undefined || times.length === 0 ? [atMs] : times;
};

/**
 * Repeats past visits in the forecast period, oldest first. Moves them by a random number of weeks, because the sampled
 * sessions are all from the last week, but visits must be spread over the whole forecast period.
 * @param returns probability that a user still returns after the period that the visits cover
 */
function repeated(
  times: readonly number[],
  { visitDays, nowMs, random, returns }: { visitDays: number; nowMs: number; random: Random; returns: number },
): number[] {
  const periodMs = Math.max(1, visitDays) * dayMs;
  const weeks = Math.floor(visitDays / 7);
  const shiftMs = weeks < 2 ? random.uniform() * periodMs : Math.floor(random.uniform() * weeks) * 7 * dayMs;
  const horizonMs = horizonDays * dayMs;
  const offsets = times.map((atMs) => (((atMs - nowMs + shiftMs) % periodMs) + periodMs) % periodMs);
  // Place the user in a random period, and in the adjacent ones as long as the user keeps returning.
  const own = Math.floor((random.uniform() * horizonMs) / periodMs);
  let [first, last] = [own, own];
  while (first > 0 && random.uniform() < returns) first -= 1;
  while ((last + 1) * periodMs < horizonMs && random.uniform() < returns) last += 1;
  const future: number[] = [];
  for (let period = first; period <= last; period++)
    for (const offset of offsets) {
      const sinceMs = period * periodMs + offset;
      if (sinceMs < horizonMs) future.push(nowMs + sinceMs);
    }
  return future.sort((a, b) => a - b);
}

function isAllowed(caps: readonly FrequencyCap[], state: UserState, atMs: number): boolean {
  if (atMs < state.optedOutUntilMs) return false;
  return caps.every(({ event, limit, window_minutes: minutes }) => {
    const times = event === 'impression' ? state.impressionsMs : event === 'click' ? state.clicksMs : [];
    const afterMs = minutes === null ? Number.NEGATIVE_INFINITY : atMs - minutes * minuteMs;
    return times.filter((earlierMs) => earlierMs > afterMs).length < limit;
  });
}

/** Returns the ratio of two daily totals, smoothed over neighbouring days. Later days differ less from each other. */
function smoothed(remaining: Float64Array, possible: Float64Array): Float64Array {
  return remaining.map((_, day) => {
    const reach = Math.floor(day / 3);
    let [above, below] = [0, 0];
    for (let other = Math.max(0, day - reach); other <= Math.min(horizonDays - 1, day + reach); other++) {
      above += remaining[other] as number;
      below += possible[other] as number;
    }
    return below === 0 ? 1 : above / below;
  });
}
