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

/** Why a user whom the provider vouches for is refused. */
export type Refusal = 'unverified email' | 'foreign domain' | 'no account' | 'no role' | 'disabled' | 'other identity';

/** What a configured value grants: a role that exists. */
type Grant = { role: MemberRole; publisherId: number | null };

type SignOn = { pool: pg.Pool; setting: OidcSetting; hasPublisher: (id: number) => boolean; now: () => number };

/**
 * The account of an identity: the one linked to it, else the one with its verified e-mail address, which is linked now,
 * else a new one where a role is configured for it. Where a claim decides about roles, the account gets its roles, and
 * keeps no others.
 */
export async function accountOf(deps: SignOn, identity: Identity): Promise<{ user: User } | { refused: Refusal }> {
  const email = parseEmail(identity.verifiedEmail ?? '');
  if (email === null) return { refused: 'unverified email' };
  if (!deps.setting.allowedDomains.includes(email.slice(email.indexOf('@') + 1))) return { refused: 'foreign domain' };
  return transaction(deps.pool, async (executor) => {
    const grants = await grantsOf(executor, deps, identity);
    const linked = await findByIdentity(executor, identity);
    const found = linked ?? (await findByEmail(executor, email))?.user ?? null;
    if (found === null)
      return grants.length === 0 ? { refused: 'no account' } : create(executor, deps, { identity, email, grants });
    if (found.disabled) return { refused: 'disabled' };
    if (linked === null && found.isLinked) return { refused: 'other identity' };
    const byClaim = deps.setting.roleClaim !== null;
    // Groups say nothing of advertisers: their accounts are invited.
    const isAdvertiser = found.role === 'advertiser';
    if (byClaim && grants.length === 0 && !isAdvertiser) return { refused: 'no role' };
    if (linked === null) await link(executor, deps, found, identity);
    if (byClaim) await give(executor, deps, found, grants);
    if ((!byClaim || isAdvertiser) && !found.hasJoined) await accept(executor, deps, found);
    const user = await findByIdentity(executor, identity);
    return user === null || user.disabled ? { refused: 'disabled' } : { user };
  });
}

/** Of each publisher the first configured value that the user has; roles that do not exist grant nothing. */
async function grantsOf(
  executor: Executor,
  { setting, hasPublisher }: SignOn,
  { roleValues }: Identity,
): Promise<Grant[]> {
  const matching = setting.grants.filter(({ value }) => roleValues.includes(value)).map(({ grant }) => grant);
  const given = matching.length === 0 && setting.defaultGrant !== null ? [setting.defaultGrant] : matching;
  const granted = new Map<number | null, Grant>();
  for (const { role, publisherId } of given) {
    if (granted.has(publisherId) || (publisherId !== null && !hasPublisher(publisherId))) continue;
    const found = await existing(executor, role, publisherId);
    if (found !== undefined) granted.set(publisherId, { role: found, publisherId });
  }
  return [...granted.values()];
}

async function existing(
  executor: Executor,
  role: Setting['role'],
  publisherId: number | null,
): Promise<MemberRole | undefined> {
  if (typeof role === 'string' || publisherId === null) return role as MemberRole;
  const name = role.named.toLowerCase();
  return (await listCustomRoles(executor, publisherId)).find((one) => one.name.toLowerCase() === name);
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
  // A sign-in in another tab created it at the same time; the next one finds it.
  if (user === null) return { refused: 'no account' };
  await join(executor, user.membershipId, deps.now());
  await linkIdentity(executor, user.id, identity);
  const change = { ...changeOf(deps, user), action: 'create' } as const;
  await auditAccount(executor, change, null, { ...accountView(user), single_sign_on: 'linked' });
  await give(executor, deps, user, grants);
  return { user: (await findByIdentity(executor, identity)) ?? user };
}

/**
 * From now on only the provider signs this user in. Password, links and sessions end: they may be in the hands of the
 * user who made the account before its owner came.
 */
async function link(executor: Executor, deps: SignOn, user: User, identity: Identity): Promise<void> {
  await linkIdentity(executor, user.id, identity);
  await deleteLinksOf(executor, user.id);
  await endSessionsOf(executor, user.id);
  const change = { ...changeOf(deps, user), action: 'update' } as const;
  await auditAccount(executor, change, { single_sign_on: 'none' }, { single_sign_on: 'linked', password: 'removed' });
}

/** Invitations that are left are accepted in the dashboard. */
async function accept(executor: Executor, deps: SignOn, user: User): Promise<void> {
  await join(executor, user.membershipId, deps.now());
  await auditAccount(executor, { ...changeOf(deps, user), action: 'update' }, null, { invitation: 'accepted' });
}

/** Makes the user a member of what is granted, with these roles, and of nothing else. */
async function give(executor: Executor, deps: SignOn, { id, email }: User, grants: readonly Grant[]): Promise<void> {
  const before = (await listMemberships(executor, id)).filter(({ advertiserId }) => advertiserId === null);
  for (const { role, publisherId } of grants) {
    const nowMs = deps.now();
    const created = await createUser(executor, { email, role, publisherId, passwordHash: null, nowMs });
    const member = created ?? before.find((one) => one.publisherId === publisherId);
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
