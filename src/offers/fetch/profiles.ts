import {
  type Profile,
  type ProfileQuery,
  type ProfileRow,
  profileSql,
  profilesOf,
  profileValues,
  readProfiles,
} from '../../audiences/profile.ts';
import type { Beside } from '../../budgets/history.ts';
import type { Publisher } from '../../catalog/types.ts';
import { indexOf } from '../../decision/decide.ts';
import { type Batcher, createBatcher } from '../../platform/db/batcher.ts';
import type { BatchDeps } from './fetch-path.ts';
import type { PendingFetch } from './pending-fetch.ts';

const audiencesByPublisher = new WeakMap<Publisher, ReadonlyMap<number, string>>();

/** Keys, by id, of the audiences that campaigns of a publisher refer to. Computed once for each snapshot. */
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

/** Adds the user's profile to a fetch. Values of the request take precedence. */
function takeProfile(pending: PendingFetch, { attributes, audiences }: Profile): void {
  const keys: string[] = [];
  for (const [id, key] of namedAudiences(pending.publisher)) if (audiences.has(id)) keys.push(key);
  pending.audiences = keys;
  if (attributes.size === 0) return;
  const { request } = pending;
  pending.request = { ...request, custom: new Map([...attributes, ...request.custom]) };
}

function queryOf(batch: readonly PendingFetch[], nowMs: number): ProfileQuery {
  const publishers = new Set(batch.map(({ publisher }) => publisher));
  return {
    userKeys: [...new Set(batch.flatMap(({ profileKeys }) => profileKeys.all))],
    audienceIds: [...new Set([...publishers].flatMap((publisher) => [...namedAudiences(publisher).keys()]))],
    nowMs,
  };
}

function takeProfiles(batch: readonly PendingFetch[], rows: readonly ProfileRow[], nowMs: number): void {
  const profileOf = profilesOf(rows);
  for (const pending of batch) takeProfile(pending, profileOf(pending.profileKeys.all, nowMs));
}

/** Query for profiles to add to a statement that reads histories, or null. */
export function profilesBeside(batch: readonly PendingFetch[], nowMs: number): Beside<ProfileRow> | null {
  const withProfile = batch.filter(({ profileKeys }) => profileKeys.all.length > 0);
  if (withProfile.length === 0) return null;
  const values = profileValues(queryOf(withProfile, nowMs));
  return { sql: profileSql, values, take: (rows) => takeProfiles(withProfile, rows, nowMs) };
}

/** Reads the profiles of users whose histories are not read, with one query for concurrent fetches. */
export const createProfileReader = ({ pool, dbHealth, now, batchMeters }: BatchDeps): Batcher<PendingFetch, void> =>
  createBatcher<PendingFetch, void>({
    write: async (batch) => {
      const nowMs = now();
      takeProfiles(batch, await readProfiles(pool, queryOf(batch, nowMs)), nowMs);
      return batch.map(() => undefined);
    },
    dbHealth,
    meter: batchMeters('profiles'),
  });
