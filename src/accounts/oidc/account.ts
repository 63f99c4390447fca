import type pg from 'pg';
import type { OidcSetting, Grant as Setting } from '../../config/oidc.ts';
import { type Executor, transaction } from '../../platform/db/pool.ts';
import type { MemberRole, User } from '../../shell/context.ts';
import { changeMember, join, listMemberships, removeMember } from '../memberships.ts';
import { listCustomRoles, roleLabel } from '../roles.ts';
import { endSessionsOf } from '../sessions.ts';
import { accountView, auditAccount, singleSignOnLabel, systemActor } from '../sign-in/account-audit.ts';
import { deleteLinksOf } from '../sign-in/one-time-links.ts';
import { createUser, findByEmail, findByIdentity, linkIdentity, parseEmail } from '../users.ts';
import type { Identity } from './provider.ts';

/** Reason why a user authenticated by the OpenID provider is refused. */
export type Refusal = 'unverified email' | 'foreign domain' | 'no account' | 'no role' | 'disabled' | 'other identity';

/** Role that a configured claim value grants. The role is known to exist. */
type Grant = { role: MemberRole; publisherId: number | null };

type SignOn = { pool: pg.Pool; setting: OidcSetting; hasPublisher: (id: number) => boolean; now: () => number };

/**
 * Returns the account for an identity. If a claim determines the roles, the account gets exactly those roles. The order
 * of precedence is:
 * - the account that is already linked to the identity
 * - the account with the verified e-mail address, which is then linked
 * - a new account, if a role is configured for the identity
 */
export async function accountOf(deps: SignOn, identity: Identity): Promise<{ user: User } | { refused: Refusal }> {
  const email = parseEmail(identity.verifiedEmail ?? '');
  if (email === null) return { refused: 'unverified email' };
  if (!deps.setting.allowedDomains.includes(email.slice(email.indexOf('@') + 1))) return { refused: 'foreign domain' };
  return transaction(deps.pool, async (executor) => {
    const grants = await grantsOf(executor, deps, identity);
    const linked = await findByIdentity(executor, identity);
    const account = linked ?? (await findByEmail(executor, email))?.user ?? null;
    if (account === null)
      return grants.length === 0 ? { refused: 'no account' } : create(executor, deps, { identity, email, grants });
    if (account.disabled) return { refused: 'disabled' };
    if (linked === null && account.isLinked) return { refused: 'other identity' };
    const byClaim = deps.setting.roleClaim !== null;
    // Roles from claims do not apply to advertiser accounts, which are created by invitation.
    const isAdvertiser = account.role === 'advertiser';
    if (byClaim && grants.length === 0 && !isAdvertiser) return { refused: 'no role' };
    if (linked === null) await link(executor, deps, account, identity);
    if (byClaim) await applyGrants(executor, deps, account, grants);
    if ((!byClaim || isAdvertiser) && !account.hasJoined) await accept(executor, deps, account);
    const user = await findByIdentity(executor, identity);
    return user === null || user.disabled ? { refused: 'disabled' } : { user };
  });
}

/** Returns the first matching configured grant for each publisher. Grants whose roles do not exist are ignored. */
async function grantsOf(
  executor: Executor,
  { setting, hasPublisher }: SignOn,
  { roleValues }: Identity,
): Promise<Grant[]> {
  const matching = setting.grants.filter(({ value }) => roleValues.includes(value)).map(({ grant }) => grant);
  const effectiveGrants = matching.length === 0 && setting.defaultGrant !== null ? [setting.defaultGrant] : matching;
  const granted = new Map<number | null, Grant>();
  for (const { role, publisherId } of effectiveGrants) {
    if (granted.has(publisherId) || (publisherId !== null && !hasPublisher(publisherId))) continue;
    const existingRole = await existing(executor, role, publisherId);
    if (existingRole !== undefined) granted.set(publisherId, { role: existingRole, publisherId });
  }
  return [...granted.values()];
}

async function existing(
  executor: Executor,
  role: Setting['role'],
  publisherId: number | null,
): Promise<MemberRole | undefined> {
  if (typeof role === 'string' || publisherId === null) return role as MemberRole;
  const name = role.customRole.toLowerCase();
  return (await listCustomRoles(executor, publisherId)).find((customRole) => customRole.name.toLowerCase() === name);
}

const changeOf = ({ now }: SignOn, user: { email: string; publisherId: number | null }) => ({
  actor: systemActor(singleSignOnLabel, user.publisherId),
  user,
  nowMs: now(),
});

type NewAccount = { identity: Identity; email: string; grants: readonly Grant[] };

async function create(
  executor: Executor,
  deps: SignOn,
  { identity, email, grants }: NewAccount,
): Promise<{ user: User } | { refused: Refusal }> {
  const [first] = grants as [Grant];
  const user = await createUser(executor, { email, ...first, passwordHash: null, nowMs: deps.now() });
  // A concurrent sign-in in another tab created the account. The next sign-in will find it.
  if (user === null) return { refused: 'no account' };
  await join(executor, user.membershipId, deps.now());
  await linkIdentity(executor, user.id, identity);
  const change = { ...changeOf(deps, user), action: 'create' } as const;
  await auditAccount(executor, change, null, { ...accountView(user), single_sign_on: 'linked' });
  await applyGrants(executor, deps, user, grants);
  return { user: (await findByIdentity(executor, identity)) ?? user };
}

/**
 * Links an account to an identity, so that the user can only sign in at the provider. Removes the password and password
 * links and ends all sessions, because they may belong to someone who created the account before its owner signed in.
 */
async function link(executor: Executor, deps: SignOn, user: User, identity: Identity): Promise<void> {
  await linkIdentity(executor, user.id, identity);
  await deleteLinksOf(executor, user.id);
  await endSessionsOf(executor, user.id);
  const change = { ...changeOf(deps, user), action: 'update' } as const;
  await auditAccount(executor, change, { single_sign_on: 'none' }, { single_sign_on: 'linked', password: 'removed' });
}

/** Accepts the invitation for this membership. Other invitations are accepted in the dashboard. */
async function accept(executor: Executor, deps: SignOn, user: User): Promise<void> {
  await join(executor, user.membershipId, deps.now());
  await auditAccount(executor, { ...changeOf(deps, user), action: 'update' }, null, { invitation: 'accepted' });
}

/** Sets the user's memberships to exactly the granted roles. */
async function applyGrants(
  executor: Executor,
  deps: SignOn,
  { id, email }: User,
  grants: readonly Grant[],
): Promise<void> {
  const before = (await listMemberships(executor, id)).filter(({ advertiserId }) => advertiserId === null);
  for (const { role, publisherId } of grants) {
    const nowMs = deps.now();
    const created = await createUser(executor, { email, role, publisherId, passwordHash: null, nowMs });
    const member = created ?? before.find((membership) => membership.publisherId === publisherId);
    if (member === undefined) continue;
    if (created !== null)
      await auditAccount(executor, { ...changeOf(deps, created), action: 'create' }, null, { role: roleLabel(role) });
    if (!member.hasJoined) await accept(executor, deps, member);
    const [was, is] = [roleLabel(member.role), roleLabel(role)];
    if (was === is) continue;
    await changeMember(executor, member, { role, disabled: member.disabled });
    await auditAccount(executor, { ...changeOf(deps, member), action: 'update' }, { role: was }, { role: is });
  }
  for (const member of before) {
    if (!member.hasJoined || grants.some(({ publisherId }) => publisherId === member.publisherId)) continue;
    await removeMember(executor, member);
    await auditAccount(executor, { ...changeOf(deps, member), action: 'remove' }, accountView(member), null);
  }
}
