import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Executor, transaction } from '../../../platform/db/pool.ts';
import { auditAccount } from '../../auth/account-audit.ts';
import { describeClient } from '../../auth/session-client.ts';
import { startSession } from '../../auth/sessions.ts';
import type { User } from '../../auth/users.ts';
import { signInPath } from '../../shell/access.ts';
import { actorFor } from '../../shell/management.ts';
import { type PageServices, redirect } from '../../shell/pages.ts';

/** Path of the form for the second factor. */
export const codePath = `${signInPath}/code`;

/**
 * Starts a session for the browser of a request, and ends its previous one.
 * @returns the value of the session cookie, which is set after the commit
 */
export const startBrowserSession = (
  { deps: { geo, now }, cookies }: PageServices,
  executor: Executor,
  request: FastifyRequest,
  { userId, awaitsCode = false }: { userId: number; awaitsCode?: boolean },
): Promise<string> =>
  startSession(executor, {
    userId,
    client: describeClient(request.headers['user-agent'] ?? '', request.ip, geo),
    previous: cookies.session(request),
    awaitsCode,
    nowMs: now(),
  });

/**
 * Starts a session, sets its cookie and writes the sign-in to the audit log.
 * @param by how the user signed in where it is worth a note; null: as usual
 */
export async function openSession(
  services: PageServices,
  request: FastifyRequest,
  reply: FastifyReply,
  user: User,
  by: string | null = null,
): Promise<void> {
  const { pool, now } = services.deps;
  const token = await transaction(pool, async (executor) => {
    const change = { actor: actorFor(user), user, action: 'sign_in', nowMs: now() } as const;
    await auditAccount(executor, change, null, by === null ? null : { by });
    return startBrowserSession(services, executor, request, { userId: user.id });
  });
  services.cookies.setSession(reply, token);
}

/** After the first factor: signs in, or asks for the code of a user with two-factor authentication. */
export async function passFirstFactor(
  services: PageServices,
  request: FastifyRequest,
  reply: FastifyReply,
  { user, next }: { user: User; next: string },
): Promise<FastifyReply> {
  if (!user.hasTwoFactor) {
    await openSession(services, request, reply, user);
    return redirect(request, reply, next);
  }
  const token = await startBrowserSession(services, services.deps.pool, request, { userId: user.id, awaitsCode: true });
  services.cookies.setSession(reply, token);
  return redirect(request, reply, `${codePath}?next=${encodeURIComponent(next)}`);
}
