import { afterAll, beforeAll, expect, test } from 'vitest';
import { clonePool } from '../support/database.ts';

let database: Awaited<ReturnType<typeof clonePool>>;
beforeAll(async () => {
  database = await clonePool(1);
});
afterAll(() => database?.close());

const roleOf = async (email: string): Promise<unknown> => {
  const { rows } = await database.pool.query(
    'select role, publisher_id is not null as has_publisher, disabled from users where email = $1',
    [email],
  );
  return rows[0];
};

/** Returns the memberships of test users as "name role", followed by `disabled` or `invited` if they are not active. */
async function memberships(): Promise<string[]> {
  const { rows } = await database.pool.query<{ text: string }>(
    `select concat_ws(' ', split_part(u.email, '@', 1), m.role, case when m.disabled then 'disabled' end,
      case when m.joined_at is null then 'invited' end) as text
    from memberships m join users u on u.id = m.user_id where u.email like '%@deprecated.example' order by 1`,
  );
  return rows.map(({ text }) => text);
}

test('syncs roles between the deprecated user columns and memberships in both directions', async () => {
  const { pool } = database;
  const { rows } = await pool.query<{ id: number }>(
    `insert into publishers (name, sdk_id) values ('A', 'aaaaaaaaaaaaaaa1'), ('B', 'aaaaaaaaaaaaaaa2') returning id`,
  );
  const [a, b] = rows.map(({ id }) => id);
  await pool.query(
    `insert into users (email, role, publisher_id, created_at) values
      ('ada@deprecated.example', 'admin', $1, now()), ('op@deprecated.example', 'operator', null, now())`,
    [a],
  );
  expect(await memberships()).toEqual(['ada admin', 'op operator']);
  await pool.query("update users set role = 'manager', disabled = true where email = 'ada@deprecated.example'");
  expect(await memberships()).toEqual(['ada manager disabled', 'op operator']);

  await pool.query(
    `insert into memberships (user_id, publisher_id, role, created_at, joined_at)
    select id, $1, 'analyst', now(), now() from users where email = 'ada@deprecated.example'`,
    [b],
  );
  expect(await roleOf('ada@deprecated.example')).toEqual({ role: 'analyst', has_publisher: true, disabled: false });
  await pool.query("delete from memberships where role = 'operator'");
  expect(await roleOf('op@deprecated.example')).toMatchObject({ disabled: true });
});
