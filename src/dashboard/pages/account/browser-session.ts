import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Executor, transaction } from '../../../platform/db/pool.ts';
import { auditAccount } from '../../auth/account-audit.ts';
import { describeClient } from '../../auth/session-client.ts';
import { startSession } from '../../auth/sessions.ts';
import type { User } from '../../auth/users.ts';
import { actorFor } from '../../shell/management.ts';
import type { PageServices } from '../../shell/pages.ts';

/**
 * Starts a session for the browser of a request, and ends its previous one.
 * @returns the value of the session cookie, which is set after the commit
 */
export const startBrowserSession = (
  { deps: { geo, now }, cookies }: PageServices,
  executor: Executor,
  request: FastifyRequest,
  userId: number,
): Promise<string> =>
  startSession(executor, {
    userId,
    client: describeClient(request.headers['user-agent'] ?? '', request.ip, geo),
    previous: cookies.session(request),
    nowMs: now(),
  });

/** Starts a session, sets its cookie and writes the sign-in to the audit log. */
export async function openSession(
  services: PageServices,
  request: FastifyRequest,
  reply: FastifyReply,
  user: User,
): Promise<void> {
  const { pool, now } = services.deps;
  const token = await transaction(pool, async (executor) => {
    await auditAccount(executor, { actor: actorFor(user), user, action: 'sign_in', nowMs: now() });
    return startBrowserSession(services, executor, request, user.id);
  });
  services.cookies.setSession(reply, token);
}
