import { type Executor, transaction } from '../../platform/db/pool.ts';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import { type Html, html } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { actionButton, badge, card, link, pager, table } from '../../shell/components.ts';
import {
  advertiserPath,
  type PageContext,
  pathText,
  publisherPath,
  queryText,
  roleName,
  type User,
} from '../../shell/context.ts';
import { commonPages, type PageResult } from '../../shell/pages.ts';
import { findAdvertiser } from '../advertisers.ts';
import { isLastAdmin, listMemberships, removeMember } from '../memberships.ts';
import { accountView, auditAccount } from '../sign-in/account-audit.ts';
import { acceptInvitation, declineInvitation } from './invitation.ts';
import type { PageServices } from './services.ts';

const path = '/account/memberships';
const rowsPerPage = 50;

/** Registers the pages on which users leave publishers and answer invitations. */
export function ownMembershipPages(app: App, services: PageServices): void {
  const pages = commonPages(app, services);
  pages.post(`${path}/:id/leave`, 'advertiser', (context) => leave(services, context));
  pages.post(`${path}/:id/accept`, 'advertiser', (context) => answer(services, context, acceptInvitation));
  pages.post(`${path}/:id/decline`, 'advertiser', (context) => answer(services, context, declineInvitation));
}

/**
 * Returns the memberships to show to the user. Invitations are only included if the OpenID provider verified the user's
 * e-mail address. Other users must use the invitation link, which only the owner of the address receives.
 */
const shownTo = ({ viewer }: PageContext, memberships: readonly User[]): User[] =>
  memberships.filter(({ hasJoined, disabled }) => !disabled && (hasJoined || viewer.byProvider));

/**
 * Returns the membership in the URL.
 * @throws AppError `not_found` if it does not exist or belongs to another user
 */
async function membershipIn({ deps }: PageServices, context: PageContext, hasJoined: boolean): Promise<User> {
  const own = shownTo(context, await listMemberships(deps.pool, context.viewer.user.id));
  const match = own.find(
    (membership) => String(membership.membershipId) === pathText(context, 'id') && membership.hasJoined === hasJoined,
  );
  if (match === undefined) throw new AppError('not_found');
  return match;
}

async function leave(services: PageServices, context: PageContext): Promise<PageResult> {
  const { deps, management } = services;
  const user = await membershipIn(services, context, true);
  const isLast = await transaction(deps.pool, async (executor) => {
    if (await isLastAdmin(executor, user)) return true;
    await removeMember(executor, user);
    const change = { actor: management.actorFor(user), user, action: 'remove', nowMs: deps.now() } as const;
    await auditAccount(executor, change, accountView(user), null);
    return false;
  });
  const to = context.path('/account');
  return isLast ? { to, failed: t('account.lastAdmin') } : { to, done: t('account.left') };
}

async function answer(
  services: PageServices,
  context: PageContext,
  apply: typeof acceptInvitation,
): Promise<PageResult> {
  const user = await membershipIn(services, context, false);
  await transaction(services.deps.pool, (executor) => apply(services, executor, user));
  const to = context.path('/account');
  return { to, done: t(apply === acceptInvitation ? 'account.accepted' : 'account.declined') };
}

/** Renders the card with the viewer's memberships and invitations. */
export async function membershipsCard({ deps }: PageServices, context: PageContext): Promise<Html> {
  const { publishers } = deps.catalog.current();
  // Sort invitations first.
  const all = shownTo(context, await listMemberships(deps.pool, context.viewer.user.id)).sort(
    (a, b) => Number(a.hasJoined) - Number(b.hasJoined),
  );
  const fromText = queryText(context, 'from');
  const from = /^\d{1,6}$/.test(fromText) ? Number(fromText) : 0;
  const memberships = all.slice(from, from + rowsPerPage);
  const advertisers = await advertiserNames(deps.pool, memberships);
  const rows = memberships.map((user) => [nameOf(user), roleName(user.role), buttons(context, user)]);
  const columns = [
    { text: t('layout.publisher') },
    { text: t('account.role') },
    { text: t('common.actions'), hidden: true },
  ];
  const pageFrom = (at: number): string => `${context.path('/account')}?from=${at}`;
  const pages = pager(
    from === 0 ? null : pageFrom(0),
    from + rowsPerPage < all.length ? pageFrom(from + rowsPerPage) : null,
  );
  return card(t('account.memberships'), html`${table(t('account.memberships'), columns, rows)}${pages}`, {
    lead: t('account.membershipsLead'),
  });

  function nameOf({ publisherId, advertiserId, hasJoined }: User): Html {
    if (advertiserId !== null) {
      const name = advertisers.get(advertiserId) ?? '';
      return hasJoined
        ? link(advertiserPath(advertiserId), name)
        : html`${name} ${badge(t('account.invited'), 'warn')}`;
    }
    if (publisherId === null) return html`${t('account.allPublishers')}`;
    const name = publishers.get(publisherId)?.name ?? '';
    if (!hasJoined) return html`${name} ${badge(t('account.invited'), 'warn')}`;
    return html`${link(publisherPath(publisherId, '/overview'), name)}`;
  }
}

async function advertiserNames(pool: Executor, memberships: readonly User[]): Promise<ReadonlyMap<number, string>> {
  const ids = memberships.flatMap(({ advertiserId }) => advertiserId ?? []);
  const advertisersOfIds = await Promise.all(ids.map((id) => findAdvertiser(pool, id)));
  return new Map(
    advertisersOfIds.flatMap((advertiser) => (advertiser === null ? [] : [[advertiser.id, advertiser.name] as const])),
  );
}

function buttons(context: PageContext, { membershipId, hasJoined }: User): Html {
  const to = context.path(`${path}/${membershipId}`);
  const small = true;
  if (!hasJoined)
    return html`
      <div class="row-actions">
        ${actionButton(context, { to: `${to}/accept`, text: t('account.accept'), small })}
        ${actionButton(context, { to: `${to}/decline`, text: t('account.decline'), small, kind: 'quiet' })}
      </div>`;
  return html`
    <div class="row-actions">
      ${actionButton(context, {
        to: `${to}/leave`,
        text: t('account.leave'),
        small,
        kind: 'quiet',
        confirm: t('account.leaveQuestion'),
      })}
    </div>`;
}
