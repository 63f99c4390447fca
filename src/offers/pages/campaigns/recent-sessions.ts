import type { PageExtensions, SeenKind } from '../../../catalog/page-extensions.ts';
import type { DecisionContext } from '../../../decision/types.ts';
import { createFailFast } from '../../../platform/db/health.ts';
import { dayMs, minuteMs } from '../../../platform/lib/time.ts';
import { type SessionSample, sampleSessions } from '../../decision-log/decision-sample.ts';
import type { OfferDeps } from '../../ports.ts';

/** How far back an estimate looks (days). */
export const sampledDays = 7;

/** A sample serves this long: people try several rules one after another. */
const keptMs = 5 * minuteMs;
/** Publishers whose samples are kept (count). */
const maxKept = 4;

/** A sample of a publisher's sessions of the last days. */
export type RecentSessions = (publisherId: number) => Promise<SessionSample>;

export function createRecentSessions(deps: Pick<OfferDeps, 'pool' | 'dbHealth' | 'now'>): RecentSessions {
  const failFast = createFailFast(deps.dbHealth);
  const kept = new Map<number, { untilMs: number; sample: Promise<SessionSample> }>();
  return (publisherId) => {
    const nowMs = deps.now();
    const known = kept.get(publisherId);
    if (known !== undefined && known.untilMs > nowMs) return known.sample;
    const sample = failFast(() => sampleSessions(deps.pool, { publisherId, sinceMs: nowMs - sampledDays * dayMs }));
    kept.delete(publisherId);
    kept.set(publisherId, { untilMs: nowMs + keptMs, sample });
    for (const oldest of kept.keys()) if (kept.size > maxKept) kept.delete(oldest);
    sample.catch(() => kept.delete(publisherId));
    return sample;
  };
}

const valuesIn: Record<SeenKind, (context: DecisionContext) => Iterable<string | null>> = {
  regions: ({ geo }) => [geo.region],
  cities: ({ geo }) => [geo.city],
  postal_codes: ({ geo }) => [geo.postalCode?.replaceAll(' ', '') ?? null],
  os: ({ os }) => [os],
  browsers: ({ browser }) => [browser],
  attributes: ({ custom }) => custom.keys(),
};

export const createSeenValues =
  (recent: RecentSessions): NonNullable<PageExtensions['seenValues']> =>
  async (publisherId, kind) => {
    const { contexts } = await recent(publisherId);
    const values = new Set(contexts.flatMap((context) => [...valuesIn[kind](context)]));
    return [...values].filter((value) => value !== null);
  };
