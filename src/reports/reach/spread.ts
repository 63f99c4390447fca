import type { Executor } from '../../platform/db/pool.ts';
import type { UserCount } from '../metrics.ts';
import type { ActivityQuery } from '../query/types.ts';
import { readRawUsers, readUsers, type UserSource, userCountOf } from './read.ts';
import { type Sketch, shareOf, usersOf } from './sketch.ts';

/** Estimated number of users. The true number is within `margin` with a probability of 95%. */
type Estimate = { users: number; margin: number };

/** Users by their number of impressions. The last entry also counts users with more impressions. */
export type Frequency = UserCount & { distribution: readonly (Estimate & { impressions: number })[] };

/** Number of impressions from which users are counted together. */
export const manyImpressions = 10;

/** Users of a campaign, and users of two campaigns. */
export type Overlap = {
  campaigns: readonly { campaign: number; users: number; isExact: boolean }[];
  pairs: readonly (Estimate & { campaigns: readonly [number, number] })[];
};

/** Width of the 95% interval, in standard errors. */
const z = 1.96;

/** Estimates a number of users from the `count` in a sample that contains a share of all users, from 0 to 1. */
const estimateOf = (count: number, share: number): Estimate => ({
  users: Math.round(count / share),
  margin: Math.ceil((z * Math.sqrt(count * (1 - share))) / share),
});

/** Source from which users can be counted. */
export type KnownSource = NonNullable<UserSource>;

const readersOf = { sketches: readUsers, raw: readRawUsers } as const;

/**
 * Counts users by their number of impressions.
 * @param source source that can answer the query (`userSourceOf`)
 * @throws AppError report_too_large
 */
export async function countFrequency(
  executor: Executor,
  query: ActivityQuery,
  source: KnownSource,
): Promise<Frequency> {
  const byDay: ActivityQuery = { ...query, groupBy: [], aggregatedBy: 'day' };
  const { total } = await readersOf[source](executor, byDay, { grouping: 'range' });
  const counts = Array.from({ length: manyImpressions }, () => 0);
  for (const [, impressions] of usersOf(total.sketch)) {
    const index = Math.min(impressions, manyImpressions) - 1;
    if (index >= 0) counts[index] = (counts[index] ?? 0) + 1;
  }
  const share = shareOf(total.sketch);
  return {
    ...userCountOf(total),
    distribution: counts.map((count, index) => ({ impressions: index + 1, ...estimateOf(count, share) })),
  };
}

type OverlapOptions = {
  /** Source that can answer the query (`userSourceOf`). */
  source: KnownSource;
  /** Maximum number of campaigns to compare, the ones with the most users. */
  limit: number;
  /** Campaign to compare with all others, or null to compare each pair. */
  of?: number | null;
};

/**
 * Counts the users of campaigns, and of each pair of campaigns. Pairs are sorted by their number of users.
 * @throws AppError report_too_large
 */
export async function countOverlap(
  executor: Executor,
  query: ActivityQuery,
  { source, limit, of = null }: OverlapOptions,
): Promise<Overlap> {
  const byCampaign: ActivityQuery = { ...query, groupBy: ['campaign'], aggregatedBy: 'day' };
  const { groups } = await readersOf[source](executor, byCampaign, { grouping: 'range' });
  const all = [...groups]
    .map(([key, users]) => ({ campaign: campaignOf(key), sketch: users.sketch, count: userCountOf(users) }))
    .filter(({ count }) => count.users > 0)
    .sort((a, b) => b.count.users - a.count.users || a.campaign - b.campaign);
  const own = all.filter(({ campaign }) => campaign === of);
  const compared = of === null ? all.slice(0, limit) : [...own, ...all.filter(({ campaign }) => campaign !== of)];
  const pairs = compared.flatMap((first, index) =>
    (of === null || first.campaign === of ? compared.slice(index + 1) : []).map((second) => ({
      campaigns: [first.campaign, second.campaign] as const,
      ...usersOfBoth(first.sketch, second.sketch),
    })),
  );
  const sorted = pairs.filter(({ users }) => users > 0 || of === null).sort((a, b) => b.users - a.users);
  const closest = of === null ? sorted : sorted.slice(0, limit);
  const listedIds = new Set([...closest.flatMap(({ campaigns }) => campaigns), ...(of === null ? [] : [of])]);
  return {
    campaigns: compared
      .filter(({ campaign }) => of === null || listedIds.has(campaign))
      .map(({ campaign, count: { users, isExact } }) => ({ campaign, users, isExact })),
    pairs: closest,
  };
}

const campaignOf = (key: string): number => (JSON.parse(key) as [null, number])[1];

/** Estimates the number of users in both sketches. Below the lower limit, each sample contains all of its users. */
function usersOfBoth(a: Sketch, b: Sketch): Estimate {
  const [few, many] = a.impressionsOf.size < b.impressionsOf.size ? [a, b] : [b, a];
  const limit = Math.min(a.limit, b.limit);
  let count = 0;
  for (const hash of few.impressionsOf.keys()) if (hash < limit && many.impressionsOf.has(hash)) count += 1;
  return estimateOf(count, Math.min(shareOf(a), shareOf(b)));
}
