import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Executor, transaction } from '../../platform/db/pool.ts';
import { AppError } from '../../platform/errors.ts';
import { type Html, html } from '../../platform/http/html.ts';
import { t, tHtml } from '../../platform/i18n/messages.ts';
import { Problem } from '../../platform/problem.ts';
import { hiddenField, linkButton, notice } from '../../shell/components.ts';
import { fieldsIn, roleName, type User, type Viewer } from '../../shell/context.ts';
import { renderCard } from '../../shell/layout.ts';
import { redirect } from '../../shell/pages.ts';
import { homeOf, signInPath } from '../access.ts';
import { findAdvertiser } from '../advertisers.ts';
import { chooseMembership, join, removeMember } from '../memberships.ts';
import { accountView, auditAccount } from '../sign-in/account-audit.ts';
import { consumeLink, deletePasswordResets, type Link, linkPath } from '../sign-in/one-time-links.ts';
import type { PageServices } from './services.ts';

/** One-time link that invites a user. */
type Invitation = Link & { token: string };

/** Returns whether a link invites a user who can already sign in. Such a user does not set a password. */
export const isForSignedIn = ({ invites, user }: Link): boolean =>
  invites && user !== null && (user.hasPassword || user.isLinked);

const answerOf = (request: FastifyRequest): string => fieldsIn(request).text('answer');

/**
 * Returns whether the submitted form accepts or declines the invitation, rather than setting a password. Any other
 * `answer` text is ignored.
 */
export const isAnswer = (link: Link, request: FastifyRequest): boolean =>
  link.invites && (answerOf(request) === 'decline' || (isForSignedIn(link) && answerOf(request) === 'accept'));

/** Renders the text that tells the user who invited them and with which role. */
export async function invitedBy({ deps }: PageServices, { user }: Link): Promise<Html> {
  const { role, publisherId, advertiserId } = user as User;
  if (advertiserId !== null) {
    const advertiser = await findAdvertiser(deps.pool, advertiserId);
    return html`<p class="lead">${tHtml('account.invitesAdvertiser', { advertiser: advertiser?.name ?? '' })}</p>`;
  }
  if (publisherId === null) return html`<p class="lead">${t('account.invitesOperator')}</p>`;
  const publisher = deps.catalog.current().publishers.get(publisherId)?.name ?? '';
  return html`<p class="lead">${tHtml('account.invites', { publisher, role: roleName(role) })}</p>`;
}

const answerForm = (token: string, answer: 'accept' | 'decline', text: string, kind: string): Html => html`
  <form method="post" action="${linkPath}${token}" class="form">
    ${hiddenField('answer', answer)}
    <div class="form-end"><button class="button ${kind} wide">${text}</button></div>
  </form>`;

export const declineForm = (token: string): Html => answerForm(token, 'decline', t('account.decline'), 'quiet');

/**
 * Renders the page that asks an existing user whether to join. Only the invited user can answer, and only after signing
 * in.
 */
export async function invitationPage(services: PageServices, link: Invitation, viewer: Viewer | null): Promise<string> {
  const { id, email } = link.user as User;
  const next = `${signInPath}?next=${encodeURIComponent(linkPath + link.token)}`;
  const isOther = viewer !== null && viewer.user.id !== id;
  return renderCard(
    t('account.invitation'),
    services.asset,
    html`
      ${await invitedBy(services, link)}
      ${isOther && notice('failed', html`<p>${t('account.invitedOther', { email: viewer.user.email })}</p>`)}
      <p class="lead">${tHtml('account.invitedAddress', { email })}</p>
      ${viewer === null && linkButton(next, t('account.signInToAccept'), 'main')}
      ${viewer?.user.id === id && answerForm(link.token, 'accept', t('account.accept'), 'main')}
      ${!isOther && declineForm(link.token)}`,
  );
}

/**
 * Handles the answer to an invitation.
 * @throws AppError `invalid_token` if the link was used in the meantime, `permission_denied` if it belongs to another
 * user
 */
export async function answerInvitation(
  services: PageServices,
  { token, user }: Invitation,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { deps, asset } = services;
  const invited = user as User;
  const { viewer } = request;
  const accepts = answerOf(request) === 'accept';
  if (accepts && viewer?.user.id !== invited.id)
    throw new AppError('permission_denied', { message: new Problem('account.invitedAddressOnly') });
  await transaction(deps.pool, async (executor) => {
    if (!(await consumeLink(executor, token, deps.now())))
      throw new AppError('invalid_token', { message: new Problem('account.linkUsed') });
    await (accepts ? acceptInvitation : declineInvitation)(services, executor, invited);
    if (accepts && viewer !== null && invited.role !== 'operator')
      await chooseMembership(executor, viewer.sessionId, invited);
  });
  if (!accepts) return reply.send(renderCard(t('account.invitation'), asset, html`<p>${t('account.declined')}</p>`));
  const to = homeOf(invited);
  return redirect(request, reply, to);
}

/**
 * Accepts an invitation.
 * @throws AppError `invalid_token` if the invitation was withdrawn in the meantime
 */
export async function acceptInvitation(
  { deps, management }: PageServices,
  executor: Executor,
  user: User,
): Promise<void> {
  const nowMs = deps.now();
  if (!(await join(executor, user.membershipId, nowMs)))
    throw new AppError('invalid_token', { message: new Problem('account.linkUsed') });
  // Delete earlier password links. An admin may have created one while the user had no other membership, and that link
  // must not give access to the new membership.
  await deletePasswordResets(executor, user.id);
  const change = { actor: management.actorFor(user), user, action: 'update', nowMs } as const;
  await auditAccount(executor, change, null, { invitation: 'accepted' });
}

export async function declineInvitation(
  { deps, management }: PageServices,
  executor: Executor,
  user: User,
): Promise<void> {
  await removeMember(executor, user);
  const change = { actor: management.actorFor(user), user, action: 'remove', nowMs: deps.now() } as const;
  await auditAccount(executor, change, accountView(user), null);
}
