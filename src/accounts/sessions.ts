import { setTimeout } from 'node:timers/promises';
import type { Executor } from '../platform/db/pool.ts';
import { dayMs, minuteMs } from '../platform/lib/time.ts';
import { createToken, hashToken } from '../platform/security/random-token.ts';
import { sealedColumn } from '../platform/security/sealed-column.ts';
import type { User } from '../shell/context.ts';
import { storedRole } from './roles.ts';
import type { SessionClient } from './sign-in/session-client.ts';
import { joinMembership, type UserRow, userColumns, userOf } from './users.ts';

/** Lifetime of a dashboard session after sign-in, in milliseconds. */
export const sessionLifetimeMs = 7 * dayMs;
/** Idle timeout of a session, in milliseconds. */
export const sessionIdleTimeoutMs = dayMs;
/** Time for which sensitive actions are allowed after the user confirmed their identity, in minutes. */
export const confirmedMinutes = 15;
/** Timeout for entering the second-factor code, in milliseconds. */
const codeTimeoutMs = 10 * minuteMs;
/** Minimum interval between `last_seen_at` updates, in milliseconds. */
const lastSeenStepMs = minuteMs;

/** Encryption context of the sealed ID tokens in sessions. */
export const idTokenContext = 'oidc-id-token';

export const sealedIdTokens = sealedColumn({
  table: 'user_sessions',
  column: 'id_token_sealed',
  key: ['id'],
  context: () => idTokenContext,
});

export type NewSession = {
  userId: number;
  client: SessionClient;
  /** Cookie of the browser's previous session, which ends when the new one starts. Null if none exists. */
  previous: string | null;
  /**
   * Whether the session is waiting for the second factor. Such a session gives no access, and is replaced by a new
   * session once the code is entered.
   */
  awaitsCode?: boolean;
  /** Sealed ID token from a sign-in at the OpenID provider. Null for a sign-in with a password. */
  idTokenSealed?: Buffer | null;
  /** Time of the user's last confirmation, in epoch milliseconds. Null means now. */
  confirmedMs?: number | null;
  nowMs: number;
};

/**
 * Starts a session.
 * @returns the session cookie value
 */
export async function startSession(
  executor: Executor,
  { userId, client, previous, awaitsCode = false, idTokenSealed = null, confirmedMs = null, nowMs }: NewSession,
): Promise<string> {
  const token = createToken();
  await executor.query('delete from user_sessions where expires_at < $1 or last_seen_at < $2', [
    new Date(nowMs),
    new Date(nowMs - sessionIdleTimeoutMs),
  ]);
  if (previous !== null) await endSession(executor, previous);
  await executor.query(
    `insert into user_sessions
      (token_hash, user_id, created_at, last_seen_at, expires_at, device, network, country, awaits_code,
        id_token_sealed, confirmed_at)
    values ($1, $2, $3, $3, $4, $5, $6, $7, $8, $9, $10)`,
    [
      hashToken(token),
      userId,
      new Date(nowMs),
      new Date(nowMs + (awaitsCode ? codeTimeoutMs : sessionLifetimeMs)),
      client.device,
      client.network,
      client.country,
      awaitsCode,
      idTokenSealed,
      confirmedMs === null ? null : new Date(confirmedMs),
    ],
  );
  return token;
}

/**
 * SQL condition for an active session. `$1` is the current time, and `$2` is the earliest `last_seen_at` that has not
 * timed out.
 */
const isLive = 'not s.awaits_code and s.expires_at > $1 and s.last_seen_at > $2';
const liveAt = (nowMs: number): Date[] => [new Date(nowMs), new Date(nowMs - sessionIdleTimeoutMs)];

/**
 * Session with its user. `byProvider` is true if the user signed in at the OpenID provider rather than with a password.
 */
type Session = {
  id: string;
  user: User;
  publisherIds: readonly number[];
  advertiserIds: readonly number[];
  byProvider: boolean;
  confirmedMs: number;
};

type SessionRow = UserRow & {
  session_id: string;
  by_provider: boolean;
  last_seen_at: Date;
  confirmed_at: Date;
  publisher_ids: number[];
  advertiser_ids: number[];
};

/**
 * Returns a session with its user. Returns null if the session is unknown or has ended, or if the user has no access.
 */
export async function findSession(executor: Executor, token: string, nowMs: number): Promise<Session | null> {
  const { rows } = await executor.query<SessionRow>(
    `select ${userColumns}, s.id as session_id, s.id_token_sealed is not null as by_provider, s.last_seen_at,
      coalesce(s.confirmed_at, s.created_at) as confirmed_at, array(
      select o.publisher_id from memberships o
      where o.user_id = u.id and o.publisher_id is not null and o.joined_at is not null and not o.disabled
    ) as publisher_ids, array(
      select o.advertiser_id from memberships o
      where o.user_id = u.id and o.advertiser_id is not null and o.joined_at is not null and not o.disabled
    ) as advertiser_ids
    from user_sessions s join users u on u.id = s.user_id ${joinMembership('s.membership_id')}
    where ${isLive} and s.token_hash = $3 and m.joined_at is not null and not m.disabled`,
    [...liveAt(nowMs), hashToken(token)],
  );
  const [row] = rows;
  if (row === undefined) return null;
  if (nowMs - row.last_seen_at.getTime() > lastSeenStepMs)
    await executor.query('update user_sessions set last_seen_at = $2 where token_hash = $1', [
      hashToken(token),
      new Date(nowMs),
    ]);
  return {
    id: row.session_id,
    byProvider: row.by_provider,
    confirmedMs: row.confirmed_at.getTime(),
    publisherIds: row.publisher_ids,
    advertiserIds: row.advertiser_ids,
    user: userOf(row),
  };
}

/** Time window in which session checks are combined into one query, in milliseconds. */
const checkTogetherMs = 100;

/** Checks that a session is still active and that its user still has the membership with which the page was opened. */
export type SessionCheck = (viewer: SessionViewer) => Promise<boolean>;

/**
 * Creates a session check for streams, which stay open long after their request was authenticated. All streams in a
 * process share one query.
 */
export function createSessionCheck(executor: Executor, now: () => number): SessionCheck {
  let next: { viewers: Map<string, SessionViewer>; openKeys: Promise<Set<string>> } | null = null;
  const collect = async (viewers: Map<string, SessionViewer>): Promise<Set<string>> => {
    await setTimeout(checkTogetherMs);
    next = null;
    return findOpen(executor, viewers, now());
  };
  return async (viewer) => {
    if (next === null) {
      const viewers = new Map<string, SessionViewer>();
      next = { viewers, openKeys: collect(viewers) };
    }
    const key = `${viewer.sessionId} ${viewer.user.membershipId}`;
    next.viewers.set(key, viewer);
    return (await next.openKeys).has(key);
  };
}

type SessionViewer = { sessionId: string; user: User };

/** Returns the keys of the sessions that are still active and whose memberships are unchanged. */
async function findOpen(
  executor: Executor,
  viewersByKey: ReadonlyMap<string, SessionViewer>,
  nowMs: number,
): Promise<Set<string>> {
  const viewers = [...viewersByKey.values()];
  const { rows } = await executor.query<{ key: string }>(
    `select a.key from unnest($3::text[], $4::bigint[], $5::integer[], $6::text[], $7::integer[],
        $8::integer[], $9::text[])
      as a (key, session_id, membership_id, role, publisher_id, custom_role_id, permissions)
    join user_sessions s on s.id = a.session_id
    join memberships m on m.id = a.membership_id and m.user_id = s.user_id and m.role = a.role
      and m.publisher_id is not distinct from a.publisher_id
      and m.custom_role_id is not distinct from a.custom_role_id
    left join member_roles c on c.id = m.custom_role_id
    where ${isLive} and m.joined_at is not null and not m.disabled
      and array_to_string(c.permissions, ' ') is not distinct from a.permissions`,
    [
      ...liveAt(nowMs),
      [...viewersByKey.keys()],
      viewers.map(({ sessionId }) => sessionId),
      viewers.map(({ user }) => user.membershipId),
      viewers.map(({ user }) => storedRole(user.role)[0]),
      viewers.map(({ user }) => user.publisherId),
      viewers.map(({ user }) => storedRole(user.role)[1]),
      viewers.map(({ user: { role } }) => (typeof role === 'string' ? null : role.permissions.join(' '))),
    ],
  );
  return new Set(rows.map(({ key }) => key));
}

/**
 * Returns a session that is waiting for a second-factor code. Returns null if it is not waiting or has ended, or if the
 * user has no access.
 */
export async function findAwaitingSession(
  executor: Executor,
  token: string,
  nowMs: number,
): Promise<{ user: User; idTokenSealed: Buffer | null } | null> {
  const { rows } = await executor.query<UserRow & { id_token_sealed: Buffer | null }>(
    `select ${userColumns}, s.id_token_sealed from user_sessions s join users u on u.id = s.user_id ${joinMembership()}
    where s.awaits_code and s.expires_at > $1 and s.token_hash = $2 and m.joined_at is not null and not m.disabled`,
    [new Date(nowMs), hashToken(token)],
  );
  return rows[0] === undefined ? null : { user: userOf(rows[0]), idTokenSealed: rows[0].id_token_sealed };
}

export type ListedSession = SessionClient & { id: string; createdAt: Date; lastSeenAt: Date };

/** Lists a user's active sessions, most recently used first. */
export async function listSessions(executor: Executor, userId: number, nowMs: number): Promise<ListedSession[]> {
  const { rows } = await executor.query<ListedSession>(
    `select id, device, network, country, created_at as "createdAt", last_seen_at as "lastSeenAt"
    from user_sessions s where ${isLive} and s.user_id = $3 order by last_seen_at desc, id desc`,
    [...liveAt(nowMs), userId],
  );
  return rows;
}

/** Ends one of a user's sessions. Returns null if the user has no session with this ID. */
export async function endSessionOf(executor: Executor, userId: number, id: string): Promise<SessionClient | null> {
  const { rows } = await executor.query<SessionClient>(
    'delete from user_sessions where user_id = $1 and id = $2 returning device, network, country',
    [userId, id],
  );
  return rows[0] ?? null;
}

/**
 * Ends a session.
 * @returns the sealed ID token if the user signed in at the OpenID provider, otherwise null
 */
export async function endSession(executor: Executor, token: string): Promise<Buffer | null> {
  const { rows } = await executor.query<{ id_token_sealed: Buffer | null }>(
    'delete from user_sessions where token_hash = $1 returning id_token_sealed',
    [hashToken(token)],
  );
  return rows[0]?.id_token_sealed ?? null;
}

/** Ends all sessions of a user except the given one. */
export async function endOtherSessions(executor: Executor, userId: number, keptId: string): Promise<void> {
  await executor.query('delete from user_sessions where user_id = $1 and id <> $2', [userId, keptId]);
}

/** Records that the user confirmed their identity in a session. */
export async function confirmSession(executor: Executor, id: string, nowMs: number): Promise<void> {
  await executor.query('update user_sessions set confirmed_at = $2 where id = $1', [id, new Date(nowMs)]);
}

/**
 * Lists the sessions that a subject started at the OpenID provider, or those of all subjects if the subject is null.
 */
export async function listProviderSessions(
  executor: Executor,
  { issuer, subject }: { issuer: string; subject: string | null },
): Promise<{ id: string; idTokenSealed: Buffer; createdAt: Date }[]> {
  const { rows } = await executor.query<{ id: string; idTokenSealed: Buffer; createdAt: Date }>(
    `select s.id, s.id_token_sealed as "idTokenSealed", s.created_at as "createdAt"
    from user_sessions s join users u on u.id = s.user_id
    where s.id_token_sealed is not null and u.oidc_issuer = $1 and ($2::text is null or u.oidc_subject = $2)`,
    [issuer, subject],
  );
  return rows;
}

export async function endSessions(executor: Executor, ids: readonly string[]): Promise<void> {
  await executor.query('delete from user_sessions where id = any($1::bigint[])', [ids]);
}

/**
 * Ends all sessions of a user.
 * @returns the number of ended sessions
 */
export async function endSessionsOf(executor: Executor, userId: number): Promise<number> {
  const { rowCount } = await executor.query('delete from user_sessions where user_id = $1', [userId]);
  return rowCount ?? 0;
}
