import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Executor, transaction } from '../../platform/db/pool.ts';
import type { User } from '../../shell/context.ts';
import { redirect } from '../../shell/pages.ts';
import { signInPath } from '../access.ts';
import { startSession } from '../sessions.ts';
import { auditAccount, singleSignOnLabel } from '../sign-in/account-audit.ts';
import { describeClient } from '../sign-in/session-client.ts';
import type { PageServices } from './services.ts';

/** Path of the form for the second factor. */
export const codePath = `${signInPath}/code`;

type BrowserSession = {
  userId: number;
  awaitsCode?: boolean;
  idTokenSealed?: Buffer | null;
  confirmedMs?: number | null;
};

/**
 * Starts a session for the browser of a request, and ends its previous one.
 * @returns the value of the session cookie, to be set after the commit
 */
export const startBrowserSession = (
  { deps: { geo, now }, cookies }: PageServices,
  executor: Executor,
  request: FastifyRequest,
  session: BrowserSession,
): Promise<string> =>
  startSession(executor, {
    ...session,
    client: describeClient(request.headers['user-agent'] ?? '', request.ip, geo),
    previous: cookies.session(request),
    nowMs: now(),
  });

type SignedIn = {
  user: User;
  /** Sealed ID token of a sign-in at the OpenID provider; null for a sign-in with a password. */
  idTokenSealed: Buffer | null;
  /** When the provider last authenticated the user (epoch milliseconds); absent or null for now. */
  confirmedMs?: number | null;
};

/**
 * Starts a session, sets its cookie and writes the sign-in to the audit log.
 * @param by unusual method of the sign-in to log, or null
 */
export async function openSession(
  services: PageServices,
  request: FastifyRequest,
  reply: FastifyReply,
  { user, idTokenSealed, confirmedMs = null, by }: SignedIn & { by: string | null },
): Promise<void> {
  const { pool, now } = services.deps;
  const token = await transaction(pool, async (executor) => {
    const change = { actor: services.management.actorFor(user), user, action: 'sign_in', nowMs: now() } as const;
    const how = by ?? (idTokenSealed === null ? null : singleSignOnLabel);
    await auditAccount(executor, change, null, how === null ? null : { by: how });
    return startBrowserSession(services, executor, request, { userId: user.id, idTokenSealed, confirmedMs });
  });
  services.cookies.setSession(reply, token);
}

/** Continues after the first factor: signs in, or asks users with two-factor authentication for the code. */
export async function passFirstFactor(
  services: PageServices,
  request: FastifyRequest,
  reply: FastifyReply,
  { user, idTokenSealed, confirmedMs = null, next }: SignedIn & { next: string },
): Promise<FastifyReply> {
  if (!user.hasTwoFactor) {
    await openSession(services, request, reply, { user, idTokenSealed, confirmedMs, by: null });
    return redirect(request, reply, next);
  }
  const session = { userId: user.id, awaitsCode: true, idTokenSealed };
  services.cookies.setSession(reply, await startBrowserSession(services, services.deps.pool, request, session));
  return redirect(request, reply, `${codePath}?next=${encodeURIComponent(next)}`);
}
