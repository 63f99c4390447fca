import type { Executor } from '../platform/db/pool.ts';
import { isReaderLanguage, type ReaderLanguage } from '../platform/i18n/languages.ts';
import type { Role, User } from '../shell/context.ts';

export type UserRow = {
  id: number;
  email: string;
  role: Role;
  publisher_id: number | null;
  has_password: boolean;
  has_two_factor: boolean;
  is_linked: boolean;
  disabled: boolean;
  language: string | null;
  created_at: Date;
};

/** Columns of `users u` for `userOf`. */
export const userColumns = `u.id, u.email, u.role, u.publisher_id, u.password_hash is not null as has_password,
  u.totp_sealed is not null as has_two_factor, u.oidc_subject is not null as is_linked, u.disabled, u.language,
  u.created_at`;

export const userOf = (row: UserRow): User => ({
  id: row.id,
  email: row.email,
  role: row.role,
  publisherId: row.publisher_id,
  hasPassword: row.has_password,
  hasTwoFactor: row.has_two_factor,
  isLinked: row.is_linked,
  disabled: row.disabled,
  language: isReaderLanguage(row.language) ? row.language : null,
  createdAt: row.created_at,
});

/** One address and nothing that a mail's header reads otherwise: no brackets, quotes, lists or comments. */
const emailPattern = /^[^\s@\p{C}<>()[\]\\,;:"]+@[^\s@\p{C}<>()[\]\\,;:"/?#%&=]+$/u;

/** Dots part words: none stands at an end or beside another. */
const hasEmptyWord = (email: string): boolean => /(?:^|[.@])\.|\.(?:@|$)/.test(email);

/** The normalised address: comparison ignores case. null: not an e-mail address. */
export function parseEmail(text: string): string | null {
  const email = text.trim().toLowerCase();
  return email.length <= 254 && emailPattern.test(email) && !hasEmptyWord(email) ? email : null;
}

type Credentials = { user: User; passwordHash: string | null };

/** The account of this address that can sign in; else one that was invited. */
export async function findByEmail(executor: Executor, email: string): Promise<Credentials | null> {
  const { rows } = await executor.query<UserRow & { password_hash: string | null }>(
    `select ${userColumns}, u.password_hash from users u where u.email = $1
    order by u.password_hash is null and u.oidc_subject is null, u.publisher_id is not null, u.id limit 1`,
    [email],
  );
  return rows[0] === undefined ? null : { user: userOf(rows[0]), passwordHash: rows[0].password_hash };
}

/** The open invitations of an address. Several publishers may invite one. */
export async function findInvitations(executor: Executor, email: string): Promise<User[]> {
  const { rows } = await executor.query<UserRow>(
    `select ${userColumns} from users u
    where u.email = $1 and u.password_hash is null and u.oidc_subject is null and not u.disabled order by u.id`,
    [email],
  );
  return rows.map(userOf);
}

/** The users of a publisher (null: the operators), by e-mail address. */
export async function listUsers(executor: Executor, publisherId: number | null): Promise<User[]> {
  const { rows } = await executor.query<UserRow>(
    `select ${userColumns} from users u where u.publisher_id is not distinct from $1 order by u.email`,
    [publisherId],
  );
  return rows.map(userOf);
}

/** A user of this publisher (null: an operator); null: there is none with this id. */
export async function findUser(executor: Executor, publisherId: number | null, userId: number): Promise<User | null> {
  const { rows } = await executor.query<UserRow>(
    `select ${userColumns} from users u where u.id = $2 and u.publisher_id is not distinct from $1`,
    [publisherId, userId],
  );
  return rows[0] === undefined ? null : userOf(rows[0]);
}

type NewUser = { email: string; role: Role; publisherId: number | null; passwordHash: string | null; nowMs: number };

/** @returns null: the address is taken, by an account of the same publisher or, for one with a password, by any */
export async function createUser(
  executor: Executor,
  { email, role, publisherId, passwordHash, nowMs }: NewUser,
): Promise<User | null> {
  const { rows } = await executor.query<UserRow>(
    `insert into users as u (email, role, publisher_id, password_hash, created_at) values ($1, $2, $3, $4, $5)
    on conflict do nothing returning ${userColumns}`,
    [email, role, publisherId, passwordHash, new Date(nowMs)],
  );
  return rows[0] === undefined ? null : userOf(rows[0]);
}

/** Sets role and state. Disabling ends the user's sessions and one-time links. */
export async function changeUser(
  executor: Executor,
  userId: number,
  { role, disabled }: { role: Role; disabled: boolean },
): Promise<void> {
  await executor.query('update users set role = $2, disabled = $3 where id = $1', [userId, role, disabled]);
  if (disabled) {
    await executor.query('delete from user_sessions where user_id = $1', [userId]);
    await executor.query('delete from user_links where user_id = $1', [userId]);
  }
}

export async function setPassword(executor: Executor, userId: number, passwordHash: string): Promise<void> {
  await executor.query('update users set password_hash = $2 where id = $1', [userId, passwordHash]);
}

/** null: by the browser's. */
export async function setLanguage(executor: Executor, userId: number, language: ReaderLanguage | null): Promise<void> {
  await executor.query('update users set language = $2 where id = $1', [userId, language]);
}

type Identity = { issuer: string; subject: string };

/** The user linked to an identity at an OpenID provider. */
export async function findByIdentity(executor: Executor, { issuer, subject }: Identity): Promise<User | null> {
  const { rows } = await executor.query<UserRow>(
    `select ${userColumns} from users u where u.oidc_issuer = $1 and u.oidc_subject = $2`,
    [issuer, subject],
  );
  return rows[0] === undefined ? null : userOf(rows[0]);
}

/** Links a user to an identity, which replaces the password. */
export async function linkIdentity(executor: Executor, userId: number, { issuer, subject }: Identity): Promise<void> {
  await executor.query('update users set oidc_issuer = $2, oidc_subject = $3, password_hash = null where id = $1', [
    userId,
    issuer,
    subject,
  ]);
}

/** Whether an address can sign in as another user than this one, so that this one can never be activated. */
export async function isTaken(executor: Executor, { id, email }: Pick<User, 'id' | 'email'>): Promise<boolean> {
  const { rowCount } = await executor.query(
    `select from users where email = $2 and id <> $1 and (password_hash is not null or oidc_subject is not null)`,
    [id, email],
  );
  return rowCount !== 0;
}

/** Sets role and publisher; an invitation of the same address there ends. */
export async function setGrant(
  executor: Executor,
  userId: number,
  { role, publisherId }: Pick<User, 'role' | 'publisherId'>,
): Promise<void> {
  await executor.query(
    `delete from users invited using users u
    where u.id = $1 and invited.email = u.email and invited.id <> u.id
      and invited.publisher_id is not distinct from $2`,
    [userId, publisherId],
  );
  await executor.query('update users set role = $2, publisher_id = $3 where id = $1', [userId, role, publisherId]);
}

/** Whether an operator can sign in. */
export async function hasOperator(executor: Executor): Promise<boolean> {
  const { rowCount } = await executor.query(
    `select 1 from users where role = 'operator' and not disabled
      and (password_hash is not null or oidc_subject is not null) limit 1`,
  );
  return rowCount === 1;
}
