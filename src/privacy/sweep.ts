import type pg from 'pg';
import { type Executor, transaction } from '../platform/db/pool.ts';
import type { UserKeys } from '../platform/security/user-key.ts';
import type {
  ErasedCounts,
  ErasedSession,
  ErasureSweep,
  OnErased,
  UserSession,
  UserSubject,
} from '../platform/user-data.ts';
import { findErasedSessions, insertErasedSessions } from './erased-sessions.ts';
import type { UserDataSteps } from './steps.ts';

export type Sweep = ErasureSweep & { erasureId: string };

type SweepDeps = { pool: pg.Pool; userKeys: UserKeys; userData: UserDataSteps };

/** Maximum number of sessions per transaction. */
const maxSessions = 200;

/**
 * Erases a user's data (GDPR). Removes identifying data from sessions and from rows derived from them, and deletes rows
 * that are only about the user. Counts and amounts remain. The erasure can be interrupted and repeated at any point,
 * because references to the user's rows are removed last.
 */
export async function sweepUser(deps: SweepDeps, sweep: Sweep, onErased: OnErased): Promise<void> {
  const { pool, userData } = deps;
  for (;;) {
    const find = userData.findSessions(sweep.subject, sweep.until, maxSessions);
    const { rows: sessions } = await pool.query<UserSession>(find);
    if (sessions.length === 0) break;
    await eraseSessions(deps, sessions, sweep, onErased);
  }
  if (sweep.isSecond) await eraseLateRows(deps, sweep, onErased);
  for (const erase of userData.eraseOfUser) await erase(pool, sweep, onErased);
}

async function eraseSessions(
  { pool, userKeys, userData }: SweepDeps,
  userSessions: readonly UserSession[],
  sweep: Sweep,
  onErased: OnErased,
): Promise<void> {
  const sessions = userSessions.map((session) => toErased(userKeys, sweep.subject, session));
  for (const erase of userData.eraseBeforeSessions) await erase(pool, sessions, sweep, onErased);
  const counts = await transaction(pool, async (executor) => {
    const erased = await userData.eraseSessions(executor, sessions, sweep);
    const derived = await eraseDerived(executor, userData, sessions, sweep);
    if (!sweep.isSecond) await insertErasedSessions(executor, sweep, sessions);
    return addCounts(erased, derived);
  });
  await onErased(counts);
}

/** Erases rows that concurrent requests wrote for sessions after the first sweep had cleared them. */
async function eraseLateRows({ pool, userData }: SweepDeps, sweep: Sweep, onErased: OnErased): Promise<void> {
  for (let after: string | null = null; ; ) {
    const sessions = await findErasedSessions(pool, sweep, after, maxSessions);
    if (sessions.length === 0) return;
    for (const erase of userData.eraseBeforeSessions) await erase(pool, sessions, sweep, onErased);
    await onErased(await transaction(pool, (executor) => eraseDerived(executor, userData, sessions, sweep)));
    after = sessions.at(-1)?.id ?? null;
  }
}

async function eraseDerived(
  executor: Executor,
  { eraseWithSessions }: UserDataSteps,
  sessions: readonly ErasedSession[],
  sweep: Sweep,
): Promise<Partial<ErasedCounts>> {
  let counts: Partial<ErasedCounts> = {};
  for (const erase of eraseWithSessions) counts = addCounts(counts, await erase(executor, sessions, sweep));
  return counts;
}

const toErased = (
  userKeys: UserKeys,
  { publisherId }: UserSubject,
  { day, id, userKey, pubUserId }: UserSession,
): ErasedSession => ({
  day,
  id,
  userKey,
  pubUserKeys: pubUserId === null ? [] : userKeys.allOf(publisherId, pubUserId),
});

export function addCounts(a: Partial<ErasedCounts>, b: Partial<ErasedCounts>): Partial<ErasedCounts> {
  const sum = { ...a };
  for (const [name, count] of Object.entries(b) as [keyof ErasedCounts, number][]) sum[name] = (sum[name] ?? 0) + count;
  return sum;
}
