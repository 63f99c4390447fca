import { v7 } from 'uuid';
import type { Executor } from '../platform/db/pool.ts';
import type { ReaderLanguage } from '../platform/i18n/languages.ts';
import { dayMs, hourMs } from '../platform/lib/time.ts';
import { createToken, hashToken } from '../platform/security/random-token.ts';
import type { Portal, PortalPermission, PortalTheme } from '../shell/context.ts';

/** Maximum lifetime of a link and of the session that it starts, in milliseconds. */
export const maxLifetimeMs = hourMs;

/** Time for which expired links are listed, in milliseconds. */
const retentionMs = 30 * dayMs;

export type NewLink = Omit<Portal, 'id'> & { createdBy: string; expiresMs: number; nowMs: number };

/** Stored link. `sessionHash` is null until it is opened. */
export type PortalLink = { portal: Portal; sessionHash: Buffer | null; expiresMs: number; isRevoked: boolean };

type LinkRow = {
  id: string;
  publisher_id: number;
  key_id: number;
  permissions: PortalPermission[];
  theme: PortalTheme;
  language: ReaderLanguage | null;
  frame_origin: string;
  user_label: string;
  session_hash: Buffer | null;
  expires_at: Date;
  revoked_at: Date | null;
};

const columns = `id, publisher_id, key_id, permissions, theme, language, frame_origin, user_label, session_hash,
  expires_at, revoked_at`;

const linkOf = (row: LinkRow): PortalLink => ({
  portal: {
    id: row.id,
    publisherId: row.publisher_id,
    keyId: row.key_id,
    permissions: row.permissions,
    theme: row.theme,
    language: row.language,
    frameOrigin: row.frame_origin,
    userLabel: row.user_label,
  },
  sessionHash: row.session_hash,
  expiresMs: row.expires_at.getTime(),
  isRevoked: row.revoked_at !== null,
});

/**
 * Creates a link.
 * @returns its ID and its token, which is not stored
 */
export async function createLink(executor: Executor, link: NewLink): Promise<{ id: string; token: string }> {
  const token = createToken();
  const id = v7({ msecs: link.nowMs });
  await executor.query(
    `insert into portal_links (id, publisher_id, key_id, token_hash, permissions, theme, language, frame_origin,
      user_label, created_at, expires_at, created_by)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
    [
      id,
      link.publisherId,
      link.keyId,
      hashToken(token),
      link.permissions,
      JSON.stringify(link.theme),
      link.language,
      link.frameOrigin,
      link.userLabel,
      new Date(link.nowMs),
      new Date(link.expiresMs),
      link.createdBy,
    ],
  );
  return { id, token };
}

/** Returns the link with this ID, even if it has expired or was revoked. */
export async function findLink(executor: Executor, id: string): Promise<PortalLink | null> {
  const { rows } = await executor.query<LinkRow>(`select ${columns} from portal_links where id = $1`, [id]);
  return rows[0] === undefined ? null : linkOf(rows[0]);
}

/** Returns the link with this token, even if it has expired, was opened or was revoked. */
export async function findLinkByToken(executor: Executor, token: string): Promise<PortalLink | null> {
  const { rows } = await executor.query<LinkRow>(`select ${columns} from portal_links where token_hash = $1`, [
    hashToken(token),
  ]);
  return rows[0] === undefined ? null : linkOf(rows[0]);
}

/**
 * Starts the session of a link that was not opened before. Only one of several concurrent calls succeeds.
 * @returns the session token, or null if the link was opened or revoked, or has expired
 */
export async function startSession(executor: Executor, id: string, nowMs: number): Promise<string | null> {
  const token = createToken();
  const { rowCount } = await executor.query(
    `update portal_links set session_hash = $2, opened_at = $3
    where id = $1 and session_hash is null and revoked_at is null and expires_at > $3`,
    [id, hashToken(token), new Date(nowMs)],
  );
  return rowCount === 0 ? null : token;
}

/**
 * Revokes a link of a publisher, which ends its session.
 * @returns the link, or null if the publisher has no such link or it was already revoked
 */
export async function revokeLink(
  executor: Executor,
  { publisherId, id, nowMs }: { publisherId: number | null; id: string; nowMs: number },
): Promise<PortalLink | null> {
  const { rows } = await executor.query<LinkRow>(
    `update portal_links set revoked_at = $3
    where id = $1 and ($2::integer is null or publisher_id = $2) and revoked_at is null returning ${columns}`,
    [id, publisherId, new Date(nowMs)],
  );
  return rows[0] === undefined ? null : linkOf(rows[0]);
}

/** Link in the list of a publisher's links. */
export type ListedLink = {
  id: string;
  user_label: string;
  permissions: PortalPermission[];
  frame_origin: string;
  created_by: string;
  created_at: Date;
  expires_at: Date;
  is_opened: boolean;
  opened_at: Date | null;
  revoked_at: Date | null;
};

/**
 * Returns links of a publisher, newest first.
 * @param before ID of the last link on the previous page, or null for the first page
 */
export async function listLinks(
  executor: Executor,
  { publisherId, before, limit }: { publisherId: number; before: string | null; limit: number },
): Promise<ListedLink[]> {
  const { rows } = await executor.query<ListedLink>(
    `select id, user_label, permissions, frame_origin, created_by, created_at, expires_at,
      session_hash is not null as is_opened, opened_at, revoked_at
    from portal_links where publisher_id = $1 and ($2::uuid is null or id < $2)
    order by id desc limit $3`,
    [publisherId, before, limit],
  );
  return rows;
}

/** States of a link: not opened yet, opened and in use, expired, and revoked. */
export const linkStates = ['waiting', 'open', 'expired', 'revoked'] as const;

export function stateOf({ revoked_at, expires_at, is_opened }: ListedLink, nowMs: number): (typeof linkStates)[number] {
  if (revoked_at !== null) return 'revoked';
  if (expires_at.getTime() <= nowMs) return 'expired';
  return is_opened ? 'open' : 'waiting';
}

/** Deletes links that expired more than 30 days ago. */
export async function deleteOldLinks(executor: Executor, nowMs: number): Promise<number> {
  const { rowCount } = await executor.query('delete from portal_links where expires_at < $1', [
    new Date(nowMs - retentionMs),
  ]);
  return rowCount ?? 0;
}
