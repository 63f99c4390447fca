import { afterAll, beforeAll, expect, test } from 'vitest';
import { databaseBefore, type EarlierDatabase } from '../support/earlier-database.ts';

/** A database of the release before memberships, in which each row of users was one person at one publisher. */

let database: EarlierDatabase;
let client: EarlierDatabase['client'];

beforeAll(async () => {
  database = await databaseBefore('memberships');
  client = database.client;
  await client.query(`
    insert into publishers (name, sdk_id) values ('A', 'aaaaaaaaaaaaaaaa'), ('B', 'bbbbbbbbbbbbbbbb');
    insert into users (email, role, publisher_id, password_hash, disabled, created_at) values
      ('op@example.com', 'operator', null, 'x', false, '2026-01-01'),
      ('ada@example.com', 'analyst', 2, null, false, '2026-01-01'),
      ('ada@example.com', 'admin', 1, 'x', false, '2026-01-02'),
      ('gone@example.com', 'manager', 1, 'x', true, '2026-01-01'),
      ('new@example.com', 'manager', 1, null, false, '2026-01-01'),
      ('new@example.com', 'analyst', 2, null, false, '2026-01-01');
    insert into user_links (token_hash, user_id, expires_at)
      select sha256((email || coalesce(publisher_id, 0))::bytea), id, '2027-01-01' from users;
    insert into user_sessions (token_hash, user_id, created_at, last_seen_at, expires_at, device, network)
      select sha256(email::bytea), id, now(), now(), now(), 'x', '' from users where password_hash is not null`);
  await database.upgrade();
});
afterAll(() => database?.close());

/** Memberships as "address publisher role", with their state. */
async function memberships(): Promise<string[]> {
  const { rows } = await client.query<{ text: string }>(
    `select concat_ws(' ', u.email, m.publisher_id, m.role, case when m.disabled then 'disabled' end,
      case when m.joined_at is null then 'invited' end) as text
    from memberships m join users u on u.id = m.user_id order by 1`,
  );
  return rows.map(({ text }) => text);
}

test('keeps accounts with role and sign-in; several invitations of an address are those of one user', async () => {
  expect(await memberships()).toEqual([
    'ada@example.com 1 admin',
    'ada@example.com 2 analyst invited',
    'gone@example.com 1 manager disabled',
    'new@example.com 1 manager invited',
    'new@example.com 2 analyst invited',
    'op@example.com operator',
  ]);
  const { rows } = await client.query(
    `select u.email, u.password_hash, count(s.id)::int as sessions from users u
    left join user_sessions s on s.user_id = u.id group by u.id order by u.email`,
  );
  expect(rows).toEqual([
    { email: 'ada@example.com', password_hash: 'x', sessions: 1 },
    { email: 'gone@example.com', password_hash: 'x', sessions: 1 },
    { email: 'new@example.com', password_hash: null, sessions: 0 },
    { email: 'op@example.com', password_hash: 'x', sessions: 1 },
  ]);
});

test('keeps every link with its purpose: an invitation, or a password', async () => {
  const { rows } = await client.query(
    `select u.email, m.publisher_id from user_links l join users u on u.id = l.user_id
    left join memberships m on m.id = l.membership_id order by 1, 2`,
  );
  expect(rows.map(({ email, publisher_id }) => `${email} ${publisher_id ?? 'password'}`)).toEqual([
    'ada@example.com 2',
    'ada@example.com password',
    'gone@example.com password',
    'new@example.com 1',
    'new@example.com 2',
    'op@example.com password',
  ]);
});

test('applies writes by processes of the previous release, and mirrors new writes for them', async () => {
  await client.query("update users set role = 'manager', disabled = true where email = 'ada@example.com'");
  await client.query(
    "insert into users (email, role, publisher_id, created_at) values ('old@example.com', 'admin', 2, now())",
  );
  expect(await memberships()).toEqual(
    expect.arrayContaining(['ada@example.com 1 manager disabled', 'old@example.com 2 admin']),
  );
  await client.query(
    "update memberships set joined_at = now() where user_id = (select id from users where email = 'ada@example.com')",
  );
  const { rows } = await client.query("select role, publisher_id, disabled from users where email = 'ada@example.com'");
  expect(rows).toEqual([{ role: 'analyst', publisher_id: 2, disabled: false }]);
  await client.query('delete from memberships where role = $1', ['operator']);
  expect((await client.query("select disabled from users where email = 'op@example.com'")).rows).toEqual([
    { disabled: true },
  ]);
});
