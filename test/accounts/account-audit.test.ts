import { afterAll, beforeAll, expect, test } from 'vitest';
import { linkPath } from '../../src/accounts/sign-in/one-time-links.ts';
import { postForm, signInAs, type TestUser } from '../dashboard/support.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';

const password = 'seven quiet otters';

let t: TestApp;
let admin: TestUser;
let operator: TestUser;
beforeAll(async () => {
  t = await createTestApp();
  admin = await signInAs(t, 'admin');
  operator = await signInAs(t, 'operator');
});
afterAll(() => t.close());

const own = (path: string): string => `/dashboard/p/${t.publisher.id}/settings${path}`;

/** Returns the audit entries of an account, oldest first, with actor, action and changed values. */
async function logOf(email: string, publisherId = t.publisher.id): Promise<string[]> {
  const { rows } = await t.pool.query(
    `select actor_kind, actor_label, action, changes - 'id' as changes from audit_log
    where resource = 'users' and resource_id = $1 and publisher_id = $2 order by id`,
    [email, publisherId],
  );
  const valuesOf = (changes: Record<string, { new: unknown }>) =>
    Object.entries(changes).map(([name, { new: is }]) => `${name}=${is}`);
  return rows.map((row) => [row.actor_kind, row.actor_label, row.action, ...valuesOf(row.changes).sort()].join(' '));
}

const emailOf = async ({ userId }: TestUser): Promise<string> =>
  (await t.pool.query('select email from users where id = $1', [userId])).rows[0].email;

const signIn = (email: string, enteredPassword: string) =>
  postForm(t, '/dashboard/sign-in', { email, password: enteredPassword });

const linkIn = (body: string): string => new RegExp(`${linkPath}[\\w-]{43}`).exec(body)?.[0] ?? '';

test("records every account change with its actor in the publisher's audit log", async () => {
  const who = await emailOf(admin);
  const email = 'log@example.com';
  const invited = await admin.post(own('/users'), { email, role: 'analyst' });
  await postForm(t, linkIn(invited.body), { password, again: password });
  expect((await signIn(email, password)).statusCode).toBe(303);
  const { rows } = await t.pool.query('select id from users where email = $1', [email]);
  const user = own(`/users/${rows[0].id}`);
  await admin.post(user, { role: 'manager' });
  await admin.post(user, { role: 'manager' });
  const linked = await operator.post(`${user}/link`);
  await postForm(t, linkIn(linked.body), { password: 'four tall cranes', again: 'four tall cranes' });
  await admin.post(user, { role: 'manager', disabled: 'yes' });
  expect(await logOf(email)).toEqual([
    `user ${who} create password=none role=analyst`,
    `user ${email} update invitation=accepted`,
    `user ${email} update password=set`,
    `user ${email} sign_in`,
    `user ${who} update role=manager`,
    `user ${await emailOf(operator)} update password_link=created`,
    `user ${email} update password=changed by one-time link`,
    `user ${who} update disabled=true`,
  ]);
  const page = (await admin.get(`${own('/activity')}?resource=users`)).body;
  expect(page).toContain(`User ${email}`);
  expect(page).toContain('Signed in');
  expect(page).toContain('by Operator');
  expect(page).not.toContain(await emailOf(operator));
  expect(page).not.toContain(password);
});

test('logs a lockout once, however many attempts follow, and no attempts for unknown accounts', async () => {
  const email = await emailOf(await signInAs(t, 'analyst'));
  for (let attempts = 0; attempts < 9; attempts += 1)
    for (const account of [email, 'nobody@example.com']) await signIn(account, 'wrong password');
  await expect.poll(() => logOf(email)).toEqual(['system sign-in lock locked_for=one address']);
  const { rows } = await t.pool.query("select 1 from audit_log where resource_id = 'nobody@example.com'");
  expect(rows).toEqual([]);
  expect((await admin.get(`${own('/activity')}?resource=users`)).body).toContain('by too many failed sign-ins');
});

test('logs changes to operator accounts where only operators can see them', async () => {
  const email = 'second@example.com';
  await operator.post('/dashboard/operator/users', { email, role: 'operator' });
  expect(await logOf(email, 0)).toEqual([`user ${await emailOf(operator)} create password=none role=operator`]);
  expect((await operator.get('/dashboard/operator/activity')).body).toContain(`Operator ${email}`);
  expect((await admin.get('/dashboard/operator/activity')).statusCode).toBe(403);
  expect((await admin.get(own('/activity'))).body).not.toContain(email);
});
