import type { FastifyRequest } from 'fastify';
import { decodeJwt } from 'jose';
import type { App } from '../../platform/http/app.ts';
import { formOf } from '../../shell/context.ts';
import type { OidcProvider, ProviderLogout } from '../oidc/provider.ts';
import { endSessions, idTokenContext, listProviderSessions } from '../sessions.ts';
import type { PageServices } from './services.ts';
import { singleSignOnPath } from './sign-in.ts';

const schema = { hide: true };

/**
 * Registers the route on which the OpenID provider reports ended sessions, so that they also end here (OpenID Connect
 * Back-Channel Logout 1.0).
 */
export function providerSignOut(app: App, services: PageServices, provider: OidcProvider): void {
  const { deps } = services;
  const read = async (request: FastifyRequest): Promise<ProviderLogout | null> => {
    try {
      return await provider.readLogoutToken(formOf(request).get('logout_token') ?? '');
    } catch (err) {
      const { code } = err as { code?: string };
      request.log.warn({ code }, 'back-channel logout rejected');
      return null;
    }
  };
  app.post(`${singleSignOnPath}/logout`, { schema }, async (request, reply) => {
    reply.header('cache-control', 'no-store');
    const ended = await read(request);
    if (ended === null) {
      const limited = deps.failures.charge(request.ip);
      if (limited !== null) throw limited;
      return reply.code(400).send({ error: 'invalid_request' });
    }
    await endSessions(deps.pool, await findEnded(services, ended));
    return reply.code(200).send();
  });
}

/**
 * Finds the sessions that a logout token refers to. Sessions that started after the token was issued are excluded, so
 * that an old token cannot end newer sessions.
 */
async function findEnded(
  { deps: { pool, secretBox } }: PageServices,
  { issuer, subject, sid, atMs }: ProviderLogout,
): Promise<string[]> {
  /** Returns the session ID in a sealed ID token. Returns null if the key that sealed it is no longer configured. */
  const sidOf = (sealed: Buffer): unknown => {
    try {
      return decodeJwt(secretBox.open(sealed, idTokenContext)).sid;
    } catch {
      return null;
    }
  };
  const sessions = await listProviderSessions(pool, { issuer, subject });
  return sessions
    .filter(({ createdAt }) => createdAt.getTime() < atMs + 1000)
    .filter(({ idTokenSealed }) => {
      if (sid === null) return true;
      const own = sidOf(idTokenSealed);
      // If the session's provider ID can't be read, end the session only if the token names the user.
      return own === sid || (typeof own !== 'string' && subject !== null);
    })
    .map(({ id }) => id);
}
