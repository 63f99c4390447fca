import { afterAll, beforeAll, expect, test } from 'vitest';
import { postForm, signInAs } from '../dashboard/support.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';

/** Invitation forms that the pages never show, but a client could send. */

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp();
});
afterAll(() => t?.close());

let other: number;
beforeAll(async () => {
  const { rows } = await t.pool.query<{ id: number }>(
    "insert into publishers (name, sdk_id) values ('Second Shop', 'ffffffffffffffff') returning id",
  );
  other = rows[0]?.id ?? 0;
  await t.deps.catalog.refresh();
});

const users = () => `/dashboard/p/${other}/settings/users`;

/**
 * Invites an address to the second publisher.
 * @returns the invitation link
 */
async function invite(email: string): Promise<string> {
  const admin = await signInAs(t, 'admin', other);
  const { body } = await admin.post(users(), { email, role: 'manager' });
  return /\/dashboard\/start\/[\w-]{43}/.exec(body)?.[0] ?? '';
}

const emailOf = async ({ userId }: { userId: number }): Promise<string> =>
  (await t.pool.query<{ email: string }>('select email from users where id = $1', [userId])).rows[0]?.email ?? '';

test.each(['', 'Accept', 'yes'])(
  'does not treat the answer "%s" as accepting or declining an invitation',
  async (answer) => {
    const user = await signInAs(t, 'admin');
    const link = await invite(await emailOf(user));
    const otherUser = await signInAs(t, 'admin');
    for (const cookie of [user.cookie, otherUser.cookie, '']) {
      const { statusCode } = await postForm(t, link, answer === '' ? {} : { answer }, { cookie });
      expect(statusCode).toBe(422);
    }
    expect((await postForm(t, link, { answer: 'accept' }, { cookie: user.cookie })).headers.location).toBe(
      `/dashboard/p/${other}/overview`,
    );
  },
);

test("does not decline a new user's invitation if the form has no answer", async () => {
  const link = await invite('somebody-new@shop.example');
  expect((await postForm(t, link, {})).statusCode).toBe(422);
  expect((await t.app.inject(link)).statusCode).toBe(200);
});

test('rejects an unknown role at its field, and invites or changes nobody', async () => {
  const admin = await signInAs(t, 'admin', other);
  const count = async () => Number((await t.pool.query('select count(*) from memberships')).rows[0]?.count);
  const before = await count();
  for (const role of ['owner', 'operator', 'Admin', '999999']) {
    const { statusCode, body } = await admin.post(users(), { email: 'unknown-role@shop.example', role });
    expect(statusCode, role).toBe(422);
    expect(body).toContain('This role does not exist. Choose a role from the list.');
  }
  expect(await count()).toBe(before);
  const member = await signInAs(t, 'manager', other);
  await admin.post(`${users()}/${member.userId}`, { role: 'owner', disabled: 'yes' });
  const { rows } = await t.pool.query('select role, disabled from memberships where user_id = $1', [member.userId]);
  expect(rows).toEqual([{ role: 'manager', disabled: false }]);
});
