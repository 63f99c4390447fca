import type { FastifyReply, FastifyRequest } from 'fastify';
import { transaction } from '../../../platform/db/pool.ts';
import { AppError } from '../../../platform/errors.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { inLanguage } from '../../../platform/i18n/reader.ts';
import type { App } from '../../../platform/ports.ts';
import { auditAccount } from '../../auth/account-audit.ts';
import type { SessionClient } from '../../auth/session-client.ts';
import {
  endSession,
  endSessionOf,
  endSessionsOf,
  idTokenContext,
  type ListedSession,
  listSessions,
} from '../../auth/sessions.ts';
import { signInPath } from '../../shell/access.ts';
import { actionButton } from '../../shell/actions.ts';
import { badge, card, linkButton, table } from '../../shell/components.ts';
import { type PageContext, pathText, viewerOf } from '../../shell/context.ts';
import { countryName, moment, plural, utc } from '../../shell/format.ts';
import { pageHeaders } from '../../shell/headers.ts';
import { renderCard } from '../../shell/layout.ts';
import { actorOf } from '../../shell/management.ts';
import { commonPages, type PageResult, type PageServices, redirect } from '../../shell/pages.ts';

const path = '/account/sessions';

/** Sign-out of this session, of another one of the user, and of all. */
export function ownSessionPages(app: App, services: PageServices): void {
  const pages = commonPages(app, services);
  app.post('/dashboard/sign-out', { schema: { hide: true } }, async (request, reply) =>
    signOut(services, request, reply),
  );
  pages.post(`${path}/all/end`, 'analyst', (context) => signOutEverywhere(services, context));
  pages.post(`${path}/:id/end`, 'analyst', (context) => signOutOne(services, context));
}

/** Ends the session, and the one at the OpenID provider that it was started by. */
async function signOut(
  { deps, cookies, asset, provider }: PageServices,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const sealed = await endSession(deps.pool, viewerOf(request).sessionToken);
  cookies.endSession(reply);
  reply.headers(pageHeaders(deps.config.publicUrl));
  const elsewhere =
    sealed === null || provider === null
      ? null
      : await provider.endSessionUrl(deps.secretBox.open(sealed, idTokenContext)).catch(() => null);
  if (elsewhere === null) return redirect(request, reply, signInPath);
  // By header, because the content security policy lets no form lead to the provider.
  reply.header('refresh', `0; url=${elsewhere}`);
  return reply.send(renderCard('Signed out', asset, signedOut(elsewhere)));
}

const signedOut = (elsewhere: string): Html => html`
  <p class="lead">You are signed out of Perkwire, and are now signed out of the sign-in service.</p>
  ${linkButton(elsewhere, 'Continue', 'main')}`;

async function signOutEverywhere({ deps, cookies }: PageServices, context: PageContext): Promise<PageResult> {
  const { user } = context.viewer;
  await transaction(deps.pool, async (executor) => {
    const ended = await endSessionsOf(executor, user.id);
    const change = { actor: actorOf(context), user, action: 'update', nowMs: deps.now() } as const;
    await auditAccount(executor, change, { sessions: plural(ended, 'session') }, { sessions: 'signed out everywhere' });
  });
  cookies.endSession(context.reply);
  return { to: signInPath };
}

/** @throws AppError `not_found`, also for sessions of other users */
async function signOutOne({ deps, cookies }: PageServices, context: PageContext): Promise<PageResult> {
  const { user, sessionId } = context.viewer;
  const id = pathText(context, 'id');
  if (!/^[1-9]\d{0,17}$/.test(id)) throw new AppError('not_found');
  await transaction(deps.pool, async (executor) => {
    const ended = await endSessionOf(executor, user.id, id);
    if (ended === null) throw new AppError('not_found');
    const change = { actor: actorOf(context), user, action: 'update', nowMs: deps.now() } as const;
    const session = inLanguage('en', () => `${ended.device}, ${placeOf(ended)}`);
    await auditAccount(executor, change, { session }, { session: 'signed out' });
  });
  if (id === sessionId) {
    cookies.endSession(context.reply);
    return { to: signInPath };
  }
  return { to: context.path('/account'), done: 'Session signed out.' };
}

const columns = [
  { text: 'Device' },
  { text: 'Signed in from' },
  { text: 'Signed in' },
  { text: 'Last used' },
  { text: 'Actions', hidden: true },
];

/** The viewer's sessions, with their ends in the viewer's hands. */
export async function sessionsCard({ deps }: PageServices, context: PageContext): Promise<Html> {
  const { user, sessionId } = context.viewer;
  const sessions = await listSessions(deps.pool, user.id, deps.now());
  const everywhere = actionButton(context, {
    to: context.path(`${path}/all/end`),
    text: 'Sign out everywhere',
    kind: 'danger',
    small: true,
    confirm: 'All your sessions end, also this one. You can then sign in again.',
  });
  const rows = sessions.map((session) => row(context, session, session.id === sessionId));
  return card('Sessions', table('Sessions', columns, rows), {
    lead: 'Where you are signed in. Sign out of sessions you do not recognise, and change your password.',
    actions: everywhere,
  });
}

const row = (context: PageContext, session: ListedSession, isCurrent: boolean): Html[] => [
  html`<strong>${session.device}</strong>${isCurrent && html` ${badge('This session', 'good')}`}`,
  html`${placeOf(session)}`,
  moment(utc, session.createdAt),
  moment(utc, session.lastSeenAt),
  html`
    <div class="row-actions">
      ${actionButton(context, {
        to: context.path(`${path}/${session.id}/end`),
        text: 'Sign out',
        small: true,
        kind: 'quiet',
      })}
    </div>`,
];

/** Country and network, such as "Germany, 203.0.113.0/24". */
function placeOf({ country, network }: SessionClient): string {
  const places = [country === null ? '' : countryName(country), network];
  return places.filter((place) => place !== '').join(', ') || 'Unknown network';
}
