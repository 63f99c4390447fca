import type pg from 'pg';
import type { Grant, OidcSetting } from '../../config/oidc.ts';
import { type Executor, transaction } from '../../platform/db/pool.ts';
import type { User } from '../../shell/context.ts';
import { endSessionsOf } from '../sessions.ts';
import { accountView, auditAccount, singleSignOnLabel, systemActor } from '../sign-in/account-audit.ts';
import { deleteLinksOf } from '../sign-in/one-time-links.ts';
import {
  createUser,
  findByEmail,
  findByIdentity,
  findInvitations,
  linkIdentity,
  parseEmail,
  setGrant,
} from '../users.ts';
import type { Identity } from './provider.ts';

/** Why a user whom the provider vouches for is refused. */
export type Refusal =
  | 'unverified email'
  | 'foreign domain'
  | 'no account'
  | 'no role'
  | 'disabled'
  | 'other identity'
  | 'several invitations';

type SignOn = { pool: pg.Pool; setting: OidcSetting; hasPublisher: (id: number) => boolean; now: () => number };

/**
 * The account of an identity: the one linked to it, else the one with its verified e-mail address, which is linked now,
 * else a new one where a role is configured for it. Where a claim decides about roles, the account gets the role.
 */
export async function accountOf(deps: SignOn, identity: Identity): Promise<{ user: User } | { refused: Refusal }> {
  const email = parseEmail(identity.verifiedEmail ?? '');
  if (email === null) return { refused: 'unverified email' };
  if (!deps.setting.allowedDomains.includes(email.slice(email.indexOf('@') + 1))) return { refused: 'foreign domain' };
  const grant = grantOf(deps, identity);
  return transaction(deps.pool, async (executor) => {
    const linked = await findByIdentity(executor, identity);
    const found = linked ?? (await accountWith(executor, email, deps.setting.roleClaim === null ? null : grant));
    if (found === 'several invitations') return { refused: found };
    if (found === null)
      return grant === null ? { refused: 'no account' } : create(executor, deps, { identity, email, grant });
    if (found.disabled) return { refused: 'disabled' };
    if (linked === null && found.isLinked) return { refused: 'other identity' };
    if (grant === null && deps.setting.roleClaim !== null) return { refused: 'no role' };
    if (linked === null) await link(executor, deps, found, identity);
    const user = { ...found, isLinked: true };
    return { user: deps.setting.roleClaim === null || grant === null ? user : await give(executor, deps, user, grant) };
  });
}

/**
 * The account with this address that can sign in, else its invitation. Of several, that of the operators counts, or
 * that of the publisher that a claim grants; else none, as the first one to invite an address must not get its owner.
 */
async function accountWith(
  executor: Executor,
  email: string,
  granted: Grant | null,
): Promise<User | 'several invitations' | null> {
  const user = (await findByEmail(executor, email))?.user ?? null;
  if (user === null || user.hasPassword || user.isLinked) return user;
  const open = await findInvitations(executor, email);
  const wanted = open.find(({ publisherId }) => publisherId === (granted?.publisherId ?? null));
  if (granted === null && wanted === undefined && open.length > 1) return 'several invitations';
  return wanted ?? open[0] ?? user;
}

/** The first configured value that the user has; roles of publishers that do not exist grant nothing. */
function grantOf({ setting, hasPublisher }: SignOn, { roleValues }: Identity): Grant | null {
  const grant = setting.grants.find(({ value }) => roleValues.includes(value))?.grant ?? setting.defaultGrant;
  return grant === null || grant.publisherId === null || hasPublisher(grant.publisherId) ? grant : null;
}

const changeOf = ({ now }: SignOn, user: Pick<User, 'email' | 'publisherId'>) => ({
  actor: systemActor(singleSignOnLabel, user.publisherId),
  user,
  nowMs: now(),
});

type NewAccount = { identity: Identity; email: string; grant: Grant };

async function create(
  executor: Executor,
  deps: SignOn,
  { identity, email, grant }: NewAccount,
): Promise<{ user: User } | { refused: Refusal }> {
  const user = await createUser(executor, { email, ...grant, passwordHash: null, nowMs: deps.now() });
  // A sign-in in another tab created it at the same time; the next one finds it.
  if (user === null) return { refused: 'no account' };
  await linkIdentity(executor, user.id, identity);
  const change = { ...changeOf(deps, user), action: 'create' } as const;
  await auditAccount(executor, change, null, { ...accountView(user), single_sign_on: 'linked' });
  return { user: { ...user, isLinked: true } };
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

async function give(executor: Executor, deps: SignOn, user: User, grant: Grant): Promise<User> {
  if (user.role === grant.role && user.publisherId === grant.publisherId) return user;
  await setGrant(executor, user.id, grant);
  const changed = { ...user, ...grant };
  const viewOf = ({ role, publisherId }: Grant | User) => ({ role, publisher: publisherId });
  await auditAccount(executor, { ...changeOf(deps, changed), action: 'update' }, viewOf(user), viewOf(grant));
  return changed;
}
