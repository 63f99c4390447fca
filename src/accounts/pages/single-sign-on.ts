import type { FastifyReply, FastifyRequest } from 'fastify';
import type { OidcSetting } from '../../config/oidc.ts';
import type { App } from '../../platform/http/app.ts';
import { type Html, html } from '../../platform/http/html.ts';
import { type MessageKey, t } from '../../platform/i18n/messages.ts';
import { linkButton, notice } from '../../shell/components.ts';
import { pendingLifetimeMs } from '../../shell/context.ts';
import { renderCard } from '../../shell/layout.ts';
import { pageHeaders, redirect } from '../../shell/pages.ts';
import { nextPath, signInPath } from '../access.ts';
import { accountOf, type Refusal } from '../oidc/account.ts';
import type { Identity, OidcProvider, PendingSignIn } from '../oidc/provider.ts';
import { confirmedMinutes, idTokenContext, sessionLifetimeMs } from '../sessions.ts';
import { passFirstFactor } from './browser-session.ts';
import type { PageServices } from './services.ts';
import { singleSignOnPath } from './sign-in.ts';

export const callbackPath = `${singleSignOnPath}/callback`;

const schema = { hide: true };

/** Encryption context for the pending sign-in cookie. Data sealed with another context cannot be opened. */
const pendingContext = 'oidc-pending';

type Pending = PendingSignIn & { next: string; expiresMs: number };

/** Registers the pages that redirect to the OpenID provider and handle its callback. */
export function singleSignOnPages(
  app: App,
  services: PageServices,
  { setting, provider }: { setting: OidcSetting; provider: OidcProvider },
): void {
  const { deps, cookies, asset } = services;
  const { secretBox, now } = deps;
  const headers = pageHeaders(deps.config.publicUrl);
  const fail = (request: FastifyRequest, reply: FastifyReply, status: number, reason: string): FastifyReply => {
    const limited = status < 500 ? deps.failures.charge(request.ip) : null;
    if (limited !== null) throw limited;
    return reply
      .headers(headers)
      .code(status)
      .send(renderCard(t('account.ssoFailed'), asset, failure(reason)));
  };

  app.get<{ Querystring: { next?: string; again?: string } }>(singleSignOnPath, { schema }, async (request, reply) => {
    try {
      const { url, pending } = await provider.begin(
        'again' in request.query ? confirmedMinutes * 60 : sessionLifetimeMs / 1000,
      );
      const next = nextPath(String(request.query.next ?? ''));
      const pendingState: Pending = { ...pending, next, expiresMs: now() + pendingLifetimeMs };
      cookies.setPending(reply, secretBox.seal(JSON.stringify(pendingState), pendingContext).toString('base64url'));
      reply.headers(headers);
      return redirect(request, reply, url);
    } catch (err) {
      request.log.error({ err }, 'OpenID provider unreachable');
      return fail(request, reply, 503, t('account.ssoDown'));
    }
  });

  app.get(callbackPath, { schema }, async (request, reply) => {
    const pending = openPending(services, cookies.consumePending(request, reply));
    if (pending === null) return fail(request, reply, 400, t('account.ssoExpired'));
    const identity = await finish(provider, request, pending);
    if ('reason' in identity) return fail(request, reply, identity.status, identity.reason);
    const hasPublisher = (id: number): boolean => deps.catalog.current().publishers.has(id);
    const account = await accountOf({ pool: deps.pool, now, setting, hasPublisher }, identity);
    if ('refused' in account) {
      request.log.warn({ reason: account.refused }, 'single sign-on rejected');
      return fail(request, reply, 403, t(refusals[account.refused]));
    }
    const idTokenSealed = secretBox.seal(identity.idToken, idTokenContext);
    reply.headers(headers);
    const { authMs: confirmedMs } = identity;
    return passFirstFactor(services, request, reply, {
      user: account.user,
      idTokenSealed,
      confirmedMs,
      next: pending.next,
    });
  });
}

/** Opens the pending sign-in cookie. Returns null if it is missing, was altered or is too old. */
function openPending({ deps: { secretBox, now } }: PageServices, value: string | null): Pending | null {
  if (value === null) return null;
  try {
    const pending = JSON.parse(secretBox.open(Buffer.from(value, 'base64url'), pendingContext)) as Pending;
    return pending.expiresMs > now() ? pending : null;
  } catch {
    return null;
  }
}

type Failure = { status: number; reason: string };

async function finish(
  provider: OidcProvider,
  { url, log }: FastifyRequest,
  pending: Pending,
): Promise<Identity | Failure> {
  try {
    return await provider.finish(url.split('?')[1] ?? '', pending);
  } catch (err) {
    const { code, error } = err as { code?: string; error?: string };
    log.warn({ code, error }, 'single sign-on verification failed');
    const reason = t(error === 'access_denied' ? 'account.ssoCancelled' : 'account.ssoUnverified');
    return { status: 401, reason };
  }
}

const refusals: Record<Refusal, MessageKey> = {
  'unverified email': 'account.ssoUnverifiedEmail',
  'foreign domain': 'account.ssoForeignDomain',
  'no account': 'account.ssoNoAccount',
  'no role': 'account.ssoNoRole',
  disabled: 'account.ssoDisabled',
  'other identity': 'account.ssoOtherIdentity',
};

const failure = (reason: string): Html => html`
  ${notice('failed', html`<p>${reason}</p>`)}
  ${linkButton(signInPath, t('common.backToSignIn'))}`;
