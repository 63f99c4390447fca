import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Executor, transaction } from '../../platform/db/pool.ts';
import type { User } from '../../shell/context.ts';
import { redirect } from '../../shell/pages.ts';
import { signInPath } from '../access.ts';
import { startSession } from '../sessions.ts';
import { auditAccount, singleSignOnLabel } from '../sign-in/account-audit.ts';
import { describeClient } from '../sign-in/session-client.ts';
import type { PageServices } from './services.ts';

/** Path of the second-factor form. */
export const codePath = `${signInPath}/code`;

type BrowserSession = {
  userId: number;
  awaitsCode?: boolean;
  idTokenSealed?: Buffer | null;
  confirmedMs?: number | null;
};

/**
 * Starts a session for the requesting browser, and ends the browser's previous session.
 * @returns the session cookie value, to be set after the transaction is committed
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
  /** Sealed ID token from a sign-in at the OpenID provider. Null for a sign-in with a password. */
  idTokenSealed: Buffer | null;
  /** Time when the provider last authenticated the user, in epoch milliseconds. Defaults to now if absent or null. */
  confirmedMs?: number | null;
};

/**
 * Starts a session, sets its cookie and records the sign-in in the audit log.
 * @param by sign-in method to log, or null for the usual one
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

/**
 * Continues a sign-in after the first factor. Users with two-factor authentication are asked for their code. All others
 * are signed in.
 */
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
