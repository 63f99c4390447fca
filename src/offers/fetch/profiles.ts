import { type Profile, type ProfileRow, profileSql, profilesOf, readProfiles } from '../../audiences/profile.ts';
import type { Beside } from '../../budgets/history.ts';
import { type Batcher, createBatcher } from '../../platform/db/batcher.ts';
import type { OfferDeps } from '../ports.ts';
import type { PendingFetch } from './pending-fetch.ts';

/** The fetch with the profile of its user: what the request says itself wins. */
function takeProfile(pending: PendingFetch, { attributes }: Profile): void {
  if (attributes.size === 0) return;
  const { request } = pending;
  pending.request = { ...request, custom: new Map([...attributes, ...request.custom]) };
}

const keysOf = (batch: readonly PendingFetch[]): string[] => [
  ...new Set(batch.flatMap(({ profileKeys }) => profileKeys)),
];

function takeProfiles(batch: readonly PendingFetch[], rows: readonly ProfileRow[], nowMs: number): void {
  const profileOf = profilesOf(rows);
  for (const pending of batch) takeProfile(pending, profileOf(pending.profileKeys, nowMs));
}

/** What a statement that reads the histories of users has to read beside them; null: nothing. */
export function profilesBeside(batch: readonly PendingFetch[], nowMs: number): Beside<ProfileRow> | null {
  const known = batch.filter(({ profileKeys }) => profileKeys.length > 0);
  if (known.length === 0) return null;
  return { sql: profileSql, values: [keysOf(known)], take: (rows) => takeProfiles(known, rows, nowMs) };
}

/** Reads the profiles of users whose histories are not read, those of concurrent fetches at once. */
export const createProfileReader = ({
  pool,
  dbHealth,
  now,
  batchMeters,
}: Pick<OfferDeps, 'pool' | 'dbHealth' | 'now' | 'batchMeters'>): Batcher<PendingFetch, void> =>
  createBatcher<PendingFetch, void>({
    write: async (batch) => {
      takeProfiles(batch, await readProfiles(pool, keysOf(batch)), now());
      return batch.map(() => undefined);
    },
    dbHealth,
    meter: batchMeters('profiles'),
  });
