import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Publisher } from '../../catalog/snapshot/types.ts';
import { AppError } from '../../platform/errors.ts';
import { mayAct, type Role, type User } from '../auth/users.ts';

/** Who looks at a page. */
export type Viewer = { user: User; sessionToken: string; csrf: string };

declare module 'fastify' {
  interface FastifyRequest {
    /** Set for every request with a live session. */
    viewer: Viewer | null;
    /** The publisher in the address, where the viewer may see it. */
    viewedPublisher: Publisher | null;
  }
}

/** What a page is made from. */
export type Context = {
  request: FastifyRequest;
  reply: FastifyReply;
  viewer: Viewer;
  /** Address below the publisher's part of the dashboard, or of the operator's. */
  path: (rest: string) => string;
};

/** A page that belongs to one publisher. */
export type PublisherContext = Context & { publisher: Publisher };

export function viewerOf(request: FastifyRequest): Viewer {
  if (request.viewer === null) throw new Error('the route is open to everybody');
  return request.viewer;
}

/** @throws AppError `permission_denied` */
export function requireRole({ user }: Viewer, role: Role): void {
  if (!mayAct(user.role, role)) throw new AppError('permission_denied', { message: 'Your role does not allow this.' });
}

export const publisherPath = (publisherId: number, rest = ''): string => `/dashboard/p/${publisherId}${rest}`;
