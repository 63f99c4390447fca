import type pg from 'pg';
import type { PageExtensions, SeenKind } from '../../../catalog/pages.ts';
import type { DecisionContext } from '../../../decision/types.ts';
import { createFailFast, type DatabaseHealth } from '../../../platform/db/health.ts';
import { dayMs, minuteMs } from '../../../platform/lib/time.ts';
import { type SessionSample, sampleSessions } from '../../decision-log/decision-sample.ts';

/** Number of days that an estimate covers. */
export const sampledDays = 7;

/**
 * Time for which a sample is cached, in milliseconds. Caching helps because users often try several rules in
 * succession.
 */
const keptMs = 5 * minuteMs;
/** Time for which an empty sample is cached. It is short, so that a publisher's first sessions appear soon. */
const emptyKeptMs = 10_000;
/** Maximum number of publishers whose session sample is cached. */
const maxKept = 4;

/** Returns a sample of a publisher's recent sessions. */
export type RecentSessions = (publisherId: number) => Promise<SessionSample>;

type SampleDeps = { pool: pg.Pool; dbHealth: DatabaseHealth; now: () => number };

export function createRecentSessions({ pool, dbHealth, now }: SampleDeps): RecentSessions {
  const failFast = createFailFast(dbHealth);
  const samples = new Map<number, { untilMs: number; sample: Promise<SessionSample> }>();
  return (publisherId) => {
    const nowMs = now();
    const cached = samples.get(publisherId);
    if (cached !== undefined && cached.untilMs > nowMs) return cached.sample;
    const sample = failFast(() => sampleSessions(pool, { publisherId, sinceMs: nowMs - sampledDays * dayMs }));
    const entry = { untilMs: nowMs + keptMs, sample };
    samples.delete(publisherId);
    samples.set(publisherId, entry);
    for (const oldest of samples.keys()) if (samples.size > maxKept) samples.delete(oldest);
    sample.then(
      ({ contexts }) => {
        if (contexts.length === 0) entry.untilMs = nowMs + emptyKeptMs;
      },
      () => samples.delete(publisherId),
    );
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
