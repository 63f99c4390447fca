import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../platform/errors.ts';
import { t } from '../platform/i18n/messages.ts';
import { hasRole, type Role, type Viewer } from './viewer.ts';

/** The publisher in the address of a page. */
export type ViewedPublisher = { id: number; name: string; timeZone: string };

declare module 'fastify' {
  interface FastifyRequest {
    /** Set for every request with a valid session. */
    viewer: Viewer | null;
    /** The publisher in the address, if the viewer has access to it. */
    viewedPublisher: ViewedPublisher | null;
  }
}

/** What a page is rendered from. */
export type PageContext = {
  request: FastifyRequest;
  reply: FastifyReply;
  viewer: Viewer;
  /** Path below the publisher's pages, or below `/dashboard` on pages without a publisher. */
  path: (rest: string) => string;
};

/** @throws Error on a route without sign-in */
export function viewerOf(request: FastifyRequest): Viewer {
  if (request.viewer === null) throw new Error('the route does not require a session');
  return request.viewer;
}

/** @throws AppError `permission_denied` */
export function requireRole({ user }: Viewer, role: Role): void {
  if (!hasRole(user.role, role)) throw new AppError('permission_denied', { message: t('errors.roleDenied') });
}

export const publisherPath = (publisherId: number, rest = ''): string => `/dashboard/p/${publisherId}${rest}`;

/** Value of a query parameter, as PostgreSQL takes texts; empty when it is absent or given twice. */
export function queryText({ request }: PageContext, name: string): string {
  const value = (request.query as Record<string, unknown>)[name];
  return typeof value === 'string' ? value.replaceAll('\0', '').toWellFormed() : '';
}

/** Value of a path parameter; empty when it is absent. */
export const pathText = ({ request }: PageContext, name: string): string =>
  (request.params as Record<string, string | undefined>)[name] ?? '';

/**
 * Key of the row in the address.
 * @throws AppError `not_found`
 */
export function keyIn(context: PageContext): string {
  const key = pathText(context, 'key');
  if (key === '') throw new AppError('not_found');
  return key;
}

/** The submitted form; empty when the request has none. Passwords are read from it untrimmed. */
export const formOf = ({ body }: FastifyRequest): URLSearchParams =>
  body instanceof URLSearchParams ? body : new URLSearchParams();
