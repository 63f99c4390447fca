import type pg from 'pg';
import { type ProfileQuery, type ProfileRow, profilesOf, readProfiles } from '../../audiences/profile.ts';
import type { Publisher } from '../../catalog/types.ts';
import { indexOf } from '../../decision/decide.ts';
import type { BatchMeters } from '../../platform/db/batch.ts';
import { type Batcher, createBatcher } from '../../platform/db/batcher.ts';
import type { DatabaseHealth } from '../../platform/db/health.ts';
import type { PendingFetch, UserProfile } from './pending-fetch.ts';

/** Dependencies for running statements in batches. */
export type BatchDeps = { pool: pg.Pool; dbHealth: DatabaseHealth; now: () => number; batchMeters: BatchMeters };

const audiencesByPublisher = new WeakMap<Publisher, ReadonlyMap<number, string>>();

/**
 * Returns the audiences that a publisher's campaigns refer to: their keys by ID. The result is computed once per
 * snapshot.
 */
function namedAudiences(publisher: Publisher): ReadonlyMap<number, string> {
  let audiences = audiencesByPublisher.get(publisher);
  if (audiences === undefined) {
    const keys = [...(indexOf(publisher).audiences?.byKey.keys() ?? [])].sort();
    audiences = new Map(
      keys.flatMap((key) => {
        const id = publisher.audiences.get(key);
        return id === undefined ? [] : [[id, key] as const];
      }),
    );
    audiencesByPublisher.set(publisher, audiences);
  }
  return audiences;
}

function queryOf(batch: readonly PendingFetch[], nowMs: number): ProfileQuery {
  const publishers = new Set(batch.map(({ publisher }) => publisher));
  return {
    userKeys: [...new Set(batch.flatMap(({ profileKeys }) => profileKeys.all))],
    audienceIds: [...new Set([...publishers].flatMap((publisher) => [...namedAudiences(publisher).keys()]))],
    nowMs,
  };
}

/** Builds the query for a batch's user profiles, or returns null if none of the users can have a profile. */
export function profilesOfBatch(batch: readonly PendingFetch[], nowMs: number): ProfileQuery | null {
  const withProfile = batch.filter(({ profileKeys }) => profileKeys.all.length > 0);
  return withProfile.length === 0 ? null : queryOf(withProfile, nowMs);
}

/**
 * Returns a function that finds the profile for a fetch in the query result, or null if the user cannot have a profile.
 */
export function createFindProfile(rows: readonly ProfileRow[], nowMs: number) {
  const profileOf = profilesOf(rows);
  return ({ publisher, profileKeys }: PendingFetch): UserProfile | null => {
    if (profileKeys.all.length === 0) return null;
    const { attributes, audiences } = profileOf(profileKeys.all, nowMs);
    const keys: string[] = [];
    for (const [id, key] of namedAudiences(publisher)) if (audiences.has(id)) keys.push(key);
    return { attributes, audiences: keys };
  };
}

/**
 * Creates a batcher that reads the profiles of users whose histories are not read. Concurrent fetches share one query.
 */
export const createProfileReader = ({
  pool,
  dbHealth,
  now,
  batchMeters,
}: BatchDeps): Batcher<PendingFetch, UserProfile | null> =>
  createBatcher<PendingFetch, UserProfile | null>({
    write: async (batch) => {
      const nowMs = now();
      return batch.map(createFindProfile(await readProfiles(pool, queryOf(batch, nowMs)), nowMs));
    },
    dbHealth,
    meter: batchMeters('profiles'),
  });
