import type { Executor } from '../platform/db/pool.ts';
import { isReaderLanguage, type ReaderLanguage } from '../platform/i18n/languages.ts';
import type { CustomRole, MemberRole, Role, User } from '../shell/context.ts';
import { storedRole } from './roles.ts';

export type UserRow = {
  id: number;
  email: string;
  membership_id: number;
  role: Role;
  custom_role: CustomRole | null;
  publisher_id: number | null;
  advertiser_id: number | null;
  has_joined: boolean;
  has_password: boolean;
  has_two_factor: boolean;
  has_app: boolean;
  is_linked: boolean;
  disabled: boolean;
  language: string | null;
  created_at: Date;
};

/** SQL expression for the custom role of membership `m` as JSON. Null for a standard role. */
const customRole = `case when m.role = 'analyst' then (
    select json_build_object('id', c.id, 'name', c.name, 'permissions', c.permissions)
    from member_roles c where c.id = m.custom_role_id) end`;

/** Columns of `users u` and `memberships m` that `userOf` requires. */
export const userColumns = `u.id, u.email, m.id as membership_id, m.role, ${customRole} as custom_role,
  m.publisher_id, m.advertiser_id,
  m.joined_at is not null as has_joined, u.password_hash is not null as has_password,
  u.totp_sealed is not null or exists (select from user_passkeys k where k.user_id = u.id) as has_two_factor,
  u.totp_sealed is not null as has_app, u.oidc_subject is not null as is_linked, m.disabled, u.language,
  m.created_at`;

/**
 * Returns the SQL join of `users u` with the membership `m` that applies if the URL names no publisher. The order of
 * precedence is: the operator membership, the chosen one, the first one with access, any other.
 */
export const joinMembership = (chosenId = 'null', condition = 'true'): string => `join lateral (
    select * from memberships m where m.user_id = u.id and (${condition})
    order by m.joined_at is null or m.disabled, m.role <> 'operator', m.id is distinct from ${chosenId}, m.id limit 1
  ) m on true`;

export const userOf = (row: UserRow): User => ({
  id: row.id,
  email: row.email,
  membershipId: row.membership_id,
  role: row.custom_role ?? row.role,
  publisherId: row.publisher_id,
  advertiserId: row.advertiser_id,
  hasJoined: row.has_joined,
  hasPassword: row.has_password,
  hasTwoFactor: row.has_two_factor,
  hasAuthenticatorApp: row.has_app,
  isLinked: row.is_linked,
  disabled: row.disabled,
  language: isReaderLanguage(row.language) ? row.language : null,
  createdAt: row.created_at,
});

/**
 * Matches a single e-mail address that contains no characters with a special meaning in mail headers, such as brackets,
 * quotes and list separators.
 */
const emailPattern = /^[^\s@\p{C}<>()[\]\\,;:"]+@[^\s@\p{C}<>()[\]\\,;:"/?#%&=]+$/u;

/**
 * Returns whether an e-mail address has a dot at the start or end of its local part or domain, or two dots in a row.
 */
const hasEmptyWord = (email: string): boolean => /(?:^|[.@])\.|\.(?:@|$)/.test(email);

/** Normalises an e-mail address, including its case. Returns null if the text is not an e-mail address. */
export function parseEmail(text: string): string | null {
  const email = text.trim().toLowerCase();
  return email.length <= 254 && emailPattern.test(email) && !hasEmptyWord(email) ? email : null;
}

type Credentials = { user: User; passwordHash: string | null };

/** Finds a user by e-mail address. */
export async function findByEmail(executor: Executor, email: string): Promise<Credentials | null> {
  const { rows } = await executor.query<UserRow & { password_hash: string | null }>(
    `select ${userColumns}, u.password_hash from users u ${joinMembership()} where u.email = $1`,
    [email],
  );
  return rows[0] === undefined ? null : { user: userOf(rows[0]), passwordHash: rows[0].password_hash };
}

/** Finds a user by ID, with the membership that applies if the URL names no publisher. */
export async function findById(executor: Executor, userId: number): Promise<User | null> {
  const { rows } = await executor.query<UserRow>(
    `select ${userColumns} from users u ${joinMembership()} where u.id = $1`,
    [userId],
  );
  return rows[0] === undefined ? null : userOf(rows[0]);
}

type NewUser = {
  email: string;
  role: MemberRole;
  publisherId: number | null;
  /** Advertiser that the account belongs to. */
  advertiserId?: number | null;
  passwordHash: string | null;
  nowMs: number;
};

/**
 * Invites an e-mail address, whether or not it already belongs to a user. If a password is given, creates a user who
 * has already joined.
 * @returns null if the address is already invited or a member there, or if a password is given and the address is taken
 */
export async function createUser(
  executor: Executor,
  { email, role, publisherId, advertiserId = null, passwordHash, nowMs }: NewUser,
): Promise<User | null> {
  const now = new Date(nowMs);
  const created = await executor.query<{ id: number }>(
    `insert into users (email, password_hash, created_at) values ($1, $2, $3) on conflict do nothing returning id`,
    [email, passwordHash, now],
  );
  if (created.rowCount === 0 && passwordHash !== null) return null;
  const { rows } = await executor.query<{ id: number }>(
    `insert into memberships (user_id, publisher_id, created_at, joined_at, advertiser_id, role, custom_role_id)
    select u.id, $2, $3, $4, $5, $6, $7 from users u where u.email = $1
    on conflict do nothing returning user_id as id`,
    [email, publisherId, now, passwordHash === null ? null : now, advertiserId, ...storedRole(role)],
  );
  return rows[0] === undefined ? null : findMember(executor, publisherId, rows[0].id, advertiserId);
}

/**
 * Finds a member of a publisher or an advertiser by user ID, or an operator if both are null. Returns null if there is
 * no such member.
 */
export async function findMember(
  executor: Executor,
  publisherId: number | null,
  userId: number,
  advertiserId: number | null = null,
): Promise<User | null> {
  const { rows } = await executor.query<UserRow>(
    `select ${userColumns} from users u join memberships m on m.user_id = u.id
    where u.id = $2 and m.publisher_id is not distinct from $1 and m.advertiser_id is not distinct from $3`,
    [publisherId, userId, advertiserId],
  );
  return rows[0] === undefined ? null : userOf(rows[0]);
}

export async function setPassword(executor: Executor, userId: number, passwordHash: string): Promise<void> {
  await executor.query('update users set password_hash = $2 where id = $1', [userId, passwordHash]);
}

/** Sets a user's language. Null uses the browser language. */
export async function setLanguage(executor: Executor, userId: number, language: ReaderLanguage | null): Promise<void> {
  await executor.query('update users set language = $2 where id = $1', [userId, language]);
}

type Identity = { issuer: string; subject: string };

/** Finds the user linked to an OpenID provider identity. */
export async function findByIdentity(executor: Executor, { issuer, subject }: Identity): Promise<User | null> {
  const { rows } = await executor.query<UserRow>(
    `select ${userColumns} from users u ${joinMembership()} where u.oidc_issuer = $1 and u.oidc_subject = $2`,
    [issuer, subject],
  );
  return rows[0] === undefined ? null : userOf(rows[0]);
}

/** Links a user to an OpenID provider identity, which replaces the password. */
export async function linkIdentity(executor: Executor, userId: number, { issuer, subject }: Identity): Promise<void> {
  await executor.query('update users set oidc_issuer = $2, oidc_subject = $3, password_hash = null where id = $1', [
    userId,
    issuer,
    subject,
  ]);
}

/** Returns whether there is an operator who can sign in. */
export async function hasOperator(executor: Executor): Promise<boolean> {
  const { rowCount } = await executor.query(
    `select 1 from memberships m join users u on u.id = m.user_id
    where m.role = 'operator' and m.joined_at is not null and not m.disabled
      and (u.password_hash is not null or u.oidc_subject is not null) limit 1`,
  );
  return rowCount === 1;
}
