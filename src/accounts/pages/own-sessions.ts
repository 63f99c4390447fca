import type { FastifyReply, FastifyRequest } from 'fastify';
import { transaction } from '../../platform/db/pool.ts';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import { type Html, html } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { inLanguage } from '../../platform/i18n/reader.ts';
import { actionButton, badge, card, linkButton, table } from '../../shell/components.ts';
import { type PageContext, pathText, viewerOf } from '../../shell/context.ts';
import { countryName, moment, utc } from '../../shell/format.ts';
import { renderCard } from '../../shell/layout.ts';
import { commonPages, type PageResult, pageHeaders, redirect } from '../../shell/pages.ts';
import { signInPath } from '../access.ts';
import {
  endSession,
  endSessionOf,
  endSessionsOf,
  idTokenContext,
  type ListedSession,
  listSessions,
} from '../sessions.ts';
import { auditAccount } from '../sign-in/account-audit.ts';
import { type SessionClient, unknownBrowser } from '../sign-in/session-client.ts';
import type { PageServices } from './services.ts';

const path = '/account/sessions';

/** Registers the pages on which users end their current session, another session, or all of their sessions. */
export function ownSessionPages(app: App, services: PageServices): void {
  const pages = commonPages(app, services);
  app.post('/dashboard/sign-out', { schema: { hide: true } }, async (request, reply) =>
    signOut(services, request, reply),
  );
  pages.post(`${path}/all/end`, 'advertiser', (context) => signOutEverywhere(services, context));
  pages.post(`${path}/:id/end`, 'advertiser', (context) => signOutOne(services, context));
}

/** Ends the session. If it was started at the OpenID provider, the session there ends too. */
async function signOut(services: PageServices, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { deps, cookies, asset } = services;
  const sealed = await endSession(deps.pool, viewerOf(request).sessionToken);
  cookies.endSession(reply);
  reply.headers(pageHeaders(deps.config.publicUrl));
  const elsewhere = sealed === null ? null : await providerSignOut(services, sealed).catch(() => null);
  if (elsewhere === null) return redirect(request, reply, signInPath);
  // Redirect with a `refresh` header, because the content security policy does not allow forms to redirect to the
  // provider.
  reply.header('refresh', `0; url=${elsewhere}`);
  return reply.send(renderCard(t('account.signedOut'), asset, signedOut(elsewhere)));
}

/**
 * Returns the URL that ends the session at the provider.
 * @throws if the ID token's encryption key is no longer configured, or the provider does not respond
 */
const providerSignOut = async ({ deps, provider }: PageServices, sealed: Buffer): Promise<string | null> =>
  provider === null ? null : provider.endSessionUrl(deps.secretBox.open(sealed, idTokenContext));

const signedOut = (elsewhere: string): Html => html`
  <p class="lead">${t('account.signedOutLead')}</p>
  ${linkButton(elsewhere, t('account.continue'), 'main')}`;

async function signOutEverywhere(
  { deps, cookies, management }: PageServices,
  context: PageContext,
): Promise<PageResult> {
  const { user } = context.viewer;
  await transaction(deps.pool, async (executor) => {
    const ended = await endSessionsOf(executor, user.id);
    const change = { actor: management.actorOf(context), user, action: 'update', nowMs: deps.now() } as const;
    await auditAccount(
      executor,
      change,
      { sessions: inLanguage('en', () => t('account.sessionCount', { count: ended })) },
      { sessions: 'signed out everywhere' },
    );
  });
  cookies.endSession(context.reply);
  return { to: signInPath };
}

/**
 * Ends one of the user's sessions.
 * @throws AppError `not_found` if it does not exist or belongs to another user
 */
async function signOutOne({ deps, cookies, management }: PageServices, context: PageContext): Promise<PageResult> {
  const { user, sessionId } = context.viewer;
  const id = pathText(context, 'id');
  if (!/^[1-9]\d{0,17}$/.test(id)) throw new AppError('not_found');
  await transaction(deps.pool, async (executor) => {
    const ended = await endSessionOf(executor, user.id, id);
    if (ended === null) throw new AppError('not_found');
    const change = { actor: management.actorOf(context), user, action: 'update', nowMs: deps.now() } as const;
    const session = inLanguage('en', () => `${ended.device}, ${placeOf(ended)}`);
    await auditAccount(executor, change, { session }, { session: 'signed out' });
  });
  if (id === sessionId) {
    cookies.endSession(context.reply);
    return { to: signInPath };
  }
  return { to: context.path('/account'), done: t('account.sessionEnded') };
}

const columns = () => [
  { text: t('account.device') },
  { text: t('account.signedInFrom') },
  { text: t('account.signedIn') },
  { text: t('account.lastUsed') },
  { text: t('common.actions'), hidden: true },
];

/** Renders the card with the viewer's sessions, each with a button to end it. */
export async function sessionsCard({ deps }: PageServices, context: PageContext): Promise<Html> {
  const { user, sessionId } = context.viewer;
  const sessions = await listSessions(deps.pool, user.id, deps.now());
  const everywhere = actionButton(context, {
    to: context.path(`${path}/all/end`),
    text: t('account.signOutEverywhere'),
    kind: 'danger',
    small: true,
    confirm: t('account.signOutEverywhereQuestion'),
  });
  const rows = sessions.map((session) => row(context, session, session.id === sessionId));
  return card(t('account.sessions'), table(t('account.sessions'), columns(), rows), {
    lead: t('account.sessionsLead'),
    actions: everywhere,
  });
}

/** Translates a stored device name, such as "Firefox on Linux", into the reader's language. */
function deviceText(device: string): string {
  const [name = '', os] = device.split(' on ');
  const browser = name === unknownBrowser ? t('account.unknownBrowser') : name;
  return os === undefined ? browser : t('account.deviceOn', { browser, os });
}

const row = (context: PageContext, session: ListedSession, isCurrent: boolean): Html[] => [
  html`<strong>${deviceText(session.device)}</strong>${isCurrent && html` ${badge(t('account.thisSession'), 'good')}`}`,
  html`${placeOf(session)}`,
  moment(utc, session.createdAt),
  moment(utc, session.lastSeenAt),
  html`
    <div class="row-actions">
      ${actionButton(context, {
        to: context.path(`${path}/${session.id}/end`),
        text: t('layout.signOut'),
        small: true,
        kind: 'quiet',
      })}
    </div>`,
];

/** Formats the country and network, such as "Germany, 203.0.113.0/24". */
function placeOf({ country, network }: SessionClient): string {
  const places = [country === null ? '' : countryName(country), network];
  return places.filter((place) => place !== '').join(', ') || t('account.unknownNetwork');
}
