import { audit } from '../management/audit.ts';
import { isOperator, type Work } from '../management/unit-of-work.ts';
import { AppError, type ErrorDetail, notFound } from '../platform/errors.ts';
import { parseUrl } from '../platform/lib/url.ts';
import { problem } from '../platform/problem.ts';
import type { Portal } from '../shell/context.ts';
import { createLink, revokeLink } from './links.ts';

/** Path of a link, followed by its token. */
export const openPath = '/portal/open/';

export const portalPermissions = [
  'deliveries',
  'deliveries/resend',
  'endpoints',
  'endpoints/edit',
  'live',
] as const satisfies readonly Portal['permissions'][number][];

export const portalResource = { name: 'portal-links', key: 'id' } as const;

/** Returns a link as shown in the audit log. */
export const loggedLink = ({ id, permissions, frameOrigin, userLabel }: Portal) => ({
  id,
  permissions,
  frame_origin: frameOrigin,
  user: userLabel,
});

/**
 * Creates a portal link for the publisher of the work. The API key `keyId` must exist as long as the link is used.
 * @returns the link with its URL, which is not stored
 * @throws AppError `invalid_request`
 */
export async function makeLink(
  work: Work,
  { publicUrl }: { publicUrl: string },
  { expiresMs, ...fields }: Omit<Portal, 'id' | 'publisherId'> & { expiresMs: number },
): Promise<{ id: string; url: string; expires_at: string }> {
  const portal = { ...fields, publisherId: work.publisherId, permissions: withPages(fields.permissions) };
  requireUsable(portal);
  const { nowMs, actor, publisherId } = work;
  // Publishers must not see which operator created a link.
  const createdBy = isOperator(actor) && actor.publisherId !== publisherId ? 'Operator' : actor.label;
  const { id, token } = await createLink(work.executor, { ...portal, createdBy, expiresMs, nowMs });
  const after = loggedLink({ ...portal, id });
  await audit(work, { resource: portalResource, action: 'create', before: null, after });
  return { id, url: `${publicUrl}${openPath}${token}`, expires_at: new Date(expiresMs).toISOString() };
}

/**
 * Revokes a portal link, which ends its session.
 * @param ownerId publisher that the link must belong to, or null for any
 * @throws AppError `resource_not_found`
 */
export async function endLink(work: Work, ownerId: number | null, id: string): Promise<void> {
  const revoked = await revokeLink(work.executor, { publisherId: ownerId, id, nowMs: work.nowMs });
  if (revoked === null) throw notFound('portal link');
  const change = { ...work, publisherId: revoked.portal.publisherId };
  await audit(change, { resource: portalResource, action: 'remove', before: loggedLink(revoked.portal), after: null });
}

/** Adds the permissions to view the pages on which the requested actions take place. */
const withPages = (requested: readonly Portal['permissions'][number][]): Portal['permissions'] => [
  ...new Set(
    requested.flatMap((name): Portal['permissions'] => {
      if (name === 'deliveries/resend') return ['deliveries', name];
      return name === 'endpoints/edit' ? ['endpoints', name] : [name];
    }),
  ),
];

/**
 * Checks the origin and the logo, which become part of the page and its headers.
 * @throws AppError `invalid_request`
 */
function requireUsable({ frameOrigin, theme }: { frameOrigin: string; theme: Portal['theme'] }): void {
  const origin = parseUrl(frameOrigin);
  const isLocal = origin !== null && ['localhost', '127.0.0.1'].includes(origin.hostname);
  const isUsable = origin !== null && (origin.protocol === 'https:' || (origin.protocol === 'http:' && isLocal));
  const logo = theme.logo_url === undefined ? null : parseUrl(theme.logo_url);
  const details: ErrorDetail[] = [
    ...(isUsable && origin.origin === frameOrigin ? [] : [{ path: '/frame_origin', message: problem('frameOrigin') }]),
    ...(theme.logo_url === undefined || logo?.protocol === 'https:'
      ? []
      : [{ path: '/theme/logo_url', message: problem('logoUrl') }]),
  ];
  if (details.length > 0) throw new AppError('invalid_request', { details });
}
