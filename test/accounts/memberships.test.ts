import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openAs, postForm, signInAs, type TestUser } from '../dashboard/support.ts';
import { openBrowser } from '../support/browser.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';

/** One user who is a member of several publishers. */

let t: TestApp;
let other: number;
beforeAll(async () => {
  t = await createTestApp();
  const { rows } = await t.pool.query<{ id: number }>(
    "insert into publishers (name, sdk_id) values ('Second Shop', 'ffffffffffffffff') returning id",
  );
  other = rows[0]?.id ?? 0;
  await t.deps.catalog.refresh();
});
afterAll(() => t?.close());

const users = (publisherId = t.publisher.id) => `/dashboard/p/${publisherId}/settings/users`;
const overview = (publisherId: number) => `/dashboard/p/${publisherId}/overview`;
const linkIn = (body: string): string => /\/dashboard\/start\/[\w-]{43}/.exec(body)?.[0] ?? '';

async function emailOf({ userId }: TestUser): Promise<string> {
  return (
    (await t.pool.query<{ email: string }>('select email from users where id = $1', [userId])).rows[0]?.email ?? ''
  );
}

/**
 * Invites an address to the second publisher.
 * @returns the invitation link and the inviting admin
 */
async function invite(email: string, role = 'manager') {
  const admin = await signInAs(t, 'admin', other);
  const { body } = await admin.post(users(other), { email, role });
  return { admin, link: linkIn(body) };
}

const answer = (link: string, decision: 'accept' | 'decline', cookie = '') =>
  postForm(t, link, { answer: decision }, { cookie });

/** Creates an admin of the first publisher who is also a manager of the second one. */
async function inBoth() {
  const user = await signInAs(t, 'admin');
  const { admin, link } = await invite(await emailOf(user));
  expect((await answer(link, 'accept', user.cookie)).headers.location).toBe(overview(other));
  return { user, admin };
}

const membershipIn = async ({ userId }: TestUser, publisherId: number): Promise<string> =>
  (
    await t.pool.query<{ id: string }>('select id from memberships where user_id = $1 and publisher_id = $2', [
      userId,
      publisherId,
    ])
  ).rows[0]?.id ?? '';

describe('a sign-in with several publishers', () => {
  test('opens each publisher with its role, starting with the one that was opened last', async () => {
    const { user } = await inBoth();
    expect((await user.get(users())).statusCode).toBe(200);
    expect((await user.get('/dashboard')).headers.location).toBe(overview(t.publisher.id));
    expect((await user.get(users(other))).statusCode).toBe(403);
    expect((await user.get('/dashboard')).headers.location).toBe(overview(other));
    expect((await user.get(overview(999_999))).statusCode).toBe(404);
  });

  test('lists only its own publishers in the search', async () => {
    const { user } = await inBoth();
    const alone = await signInAs(t, 'admin');
    const visiblePublishers = async (who: TestUser) => {
      const { body } = await who.get(`/dashboard/p/${t.publisher.id}/find?only=publishers&q=`);
      return [t.publisher.id, other].map((id) => body.includes(`href="${overview(id)}"`));
    };
    expect(await visiblePublishers(user)).toEqual([true, true]);
    expect(await visiblePublishers(alone)).toEqual([false, false]);
  });

  test('switches publishers in the browser', async () => {
    const { user } = await inBoth();
    const base = await t.app.listen({ port: 0, host: '127.0.0.1' });
    const browser = await openBrowser();
    const page = await openAs(browser, user, base, overview(t.publisher.id));
    await page.locator('[data-find="publishers"]').click();
    await page
      .getByRole('option', { name: 'Second Shop' })
      .or(page.getByRole('link', { name: 'Second Shop' }))
      .first()
      .click();
    await page.waitForURL(`**${overview(other)}`);
    expect(await page.locator('.publisher strong').textContent()).toBe('Second Shop');
    await page.context().close();
  });
});

describe('an invitation', () => {
  test('sets no password for a user with an existing sign-in, and only that user can accept it', async () => {
    const user = await signInAs(t, 'analyst');
    const otherUser = await signInAs(t, 'analyst');
    const { link } = await invite(await emailOf(user));
    expect((await t.app.inject(link)).body).not.toContain('type="password"');
    const page = await otherUser.get(link);
    expect([page.body.includes('Sign out, then open this link'), page.body.includes('Accept')]).toEqual([true, false]);
    expect((await answer(link, 'accept', otherUser.cookie)).statusCode).toBe(403);
    expect((await answer(link, 'accept')).statusCode).toBe(403);
    const set = await postForm(t, link, { password: 'four tall cranes', again: 'four tall cranes' }, {});
    expect([set.statusCode, set.cookies]).toEqual([422, []]);
    expect((await user.get(overview(other))).statusCode).toBe(404);
    expect((await answer(link, 'accept', user.cookie)).statusCode).toBe(303);
  });

  test('is accepted once by two concurrent requests, and its link is used up', async () => {
    const user = await signInAs(t, 'analyst');
    const { link } = await invite(await emailOf(user));
    const both = await Promise.all([answer(link, 'accept', user.cookie), answer(link, 'accept', user.cookie)]);
    expect(both.map(({ statusCode }) => statusCode).sort()).toEqual([303, 400]);
    expect((await user.get(link)).statusCode).toBe(400);
    expect((await user.get(overview(other))).statusCode).toBe(200);
  });

  test('is removed when it is declined or withdrawn', async () => {
    const user = await signInAs(t, 'analyst');
    const email = await emailOf(user);
    const { link } = await invite(email);
    expect((await answer(link, 'decline')).body).toContain('Invitation declined.');
    const { admin, link: second } = await invite(email);
    await admin.post(`${users(other)}/${user.userId}/remove`);
    for (const gone of [link, second]) expect((await answer(gone, 'accept', user.cookie)).statusCode).toBe(400);
    expect((await user.get(overview(other))).statusCode).toBe(404);
    expect((await user.get('/dashboard/account')).statusCode).toBe(200);
  });

  test('does not bind the address to either of two inviting publishers', async () => {
    const email = 'twice@example.com';
    const first = linkIn((await (await signInAs(t, 'admin')).post(users(), { email, role: 'analyst' })).body);
    const { link } = await invite(email);
    const set = await postForm(t, first, { password: 'four tall cranes', again: 'four tall cranes' });
    const cookie = `${set.cookies[0]?.name}=${set.cookies[0]?.value}`;
    expect((await t.app.inject({ url: overview(other), headers: { cookie } })).statusCode).toBe(404);
    expect((await answer(link, 'accept', cookie)).statusCode).toBe(303);
    for (const id of [t.publisher.id, other])
      expect((await t.app.inject({ url: overview(id), headers: { cookie } })).statusCode).toBe(200);
  });

  test('leaves no data of a new address when it is declined', async () => {
    const { link } = await invite('nothing@example.com');
    expect((await t.app.inject(link)).body).toContain('Second Shop');
    await answer(link, 'decline');
    expect((await t.pool.query("select from users where email = 'nothing@example.com'")).rowCount).toBe(0);
  });
});

describe('a user who leaves or is removed', () => {
  test('loses access to that publisher immediately and keeps the others', async () => {
    const { user, admin } = await inBoth();
    await admin.post(`${users(other)}/${user.userId}/remove`);
    expect((await user.get(overview(other))).statusCode).toBe(404);
    expect((await user.get('/dashboard')).headers.location).toBe(overview(t.publisher.id));
    const { rows } = await t.pool.query(
      'select action, resource from audit_log where publisher_id = $1 and resource_id = $2 order by id',
      [other, await emailOf(user)],
    );
    expect(rows.map(({ action }) => action)).toEqual(['create', 'update', 'remove']);
  });

  test('can be disabled at one publisher only', async () => {
    const { user, admin } = await inBoth();
    await admin.post(`${users(other)}/${user.userId}`, { disabled: 'yes' });
    expect([(await user.get(overview(other))).statusCode, (await user.get(users())).statusCode]).toEqual([404, 200]);
  });

  test('is signed out and deleted when it was their last publisher', async () => {
    const user = await signInAs(t, 'analyst');
    const response = await user.post(
      `/dashboard/account/memberships/${await membershipIn(user, t.publisher.id)}/leave`,
    );
    expect(response.statusCode).toBe(303);
    expect((await user.get('/dashboard/account')).headers.location).toMatch(/sign-in/);
    expect((await t.pool.query('select from users where id = $1', [user.userId])).rowCount).toBe(0);
  });

  test('does not affect other users', async () => {
    const [user, victim] = [await signInAs(t, 'analyst'), await signInAs(t, 'analyst')];
    const path = `/dashboard/account/memberships/${await membershipIn(victim, t.publisher.id)}/leave`;
    expect((await user.post(path)).statusCode).toBe(404);
    expect((await victim.get(overview(t.publisher.id))).statusCode).toBe(200);
  });

  test('cannot be removed as the last user manager, even if two users remove each other concurrently', async () => {
    const { rows } = await t.pool.query<{ id: number }>(
      "insert into publishers (name, sdk_id) values ('Third', 'eeeeeeeeeeeeeeee') returning id",
    );
    const third = rows[0]?.id ?? 0;
    await t.deps.catalog.refresh();
    const [first, two] = [await signInAs(t, 'admin', third), await signInAs(t, 'admin', third)];
    await Promise.all([
      first.post(`${users(third)}/${two.userId}/remove`),
      two.post(`${users(third)}/${first.userId}`, { role: 'analyst' }),
    ]);
    const admins = async () =>
      (await t.pool.query("select from memberships where publisher_id = $1 and role = 'admin'", [third])).rowCount;
    expect(await admins()).toBe(1);
    for (const last of [first, two])
      await last.post(`/dashboard/account/memberships/${await membershipIn(last, third)}/leave`);
    expect(await admins()).toBe(1);
  });
});

test('lists of users and of publishers are paged, and users can be found by address', async () => {
  const { rows } = await t.pool.query<{ id: number }>(
    "insert into publishers (name, sdk_id) values ('Large', 'dddddddddddddddd') returning id",
  );
  const large = rows[0]?.id ?? 0;
  await t.pool.query(
    `with made as (
      insert into users (email, created_at) select 'many-' || n || '@example.com', now()
      from generate_series(1, 120) n returning id
    ) insert into memberships (user_id, publisher_id, role, created_at, joined_at)
    select id, $1, 'analyst', now(), now() from made`,
    [large],
  );
  await t.deps.catalog.refresh();
  const admin = await signInAs(t, 'admin', large);
  const emails = new Set<string>();
  let [next, pages]: [string | undefined, number] = [users(large), 0];
  while (next !== undefined && pages++ < 5) {
    const { body } = await admin.get(next);
    const emailsOfPage = [...body.matchAll(/<strong>(many-\d+@example\.com)/g)].map(([, email]) => email as string);
    expect(emailsOfPage.length).toBeLessThanOrEqual(50);
    for (const email of emailsOfPage) emails.add(email);
    next = /href="([^"]*[?&]after=[^"]*)"/.exec(body)?.[1]?.replaceAll('&amp;', '&');
  }
  expect([emails.size, pages]).toEqual([120, 3]);
  const { body } = await admin.get(`${users(large)}?q=MANY-77@`);
  expect([...body.matchAll(/<strong>(many-[^<]*)/g)].map(([, email]) => email)).toEqual(['many-77@example.com']);
  expect((await admin.get(`${users(large)}?q=${encodeURIComponent("%_'\0")}`)).statusCode).toBe(200);

  await t.pool.query(
    `with made as (
      insert into publishers (name, sdk_id) select 'Of many ' || n, substr(md5('many' || n), 1, 16)
      from generate_series(1, 60) n returning id
    ) insert into memberships (user_id, publisher_id, role, created_at, joined_at)
    select $1, id, 'analyst', now(), now() from made`,
    [admin.userId],
  );
  await t.deps.catalog.refresh();
  const links = async (query: string): Promise<number> =>
    ((await admin.get(`/dashboard/account${query}`)).body.match(/\/account\/memberships\/\d+\/leave/g) ?? []).length;
  expect([await links(''), await links('?from=50')]).toEqual([50, 11]);
});

test('admins of one publisher cannot take over a sign-in that also opens another publisher', async () => {
  const { user, admin } = await inBoth();
  const at = `${users(other)}/${user.userId}`;
  const response = await admin.post(`${at}/link`);
  expect([linkIn(response.body), response.body.includes('belongs to other publishers')]).toEqual(['', true]);
  await t.pool.query("update users set totp_sealed = '', totp_last_step = 0 where id = $1", [user.userId]);
  await admin.post(`${at}/two-factor/remove`);
  expect(
    (await t.pool.query('select from users where totp_sealed is not null and id = $1', [user.userId])).rowCount,
  ).toBe(1);

  // A link that was created before the user joined the other publisher no longer works.
  const later = await signInAs(t, 'analyst');
  const first = await signInAs(t, 'admin');
  const reset = linkIn((await first.post(`${users()}/${later.userId}/link`)).body);
  const { link } = await invite(await emailOf(later));
  expect((await t.app.inject(reset)).statusCode).toBe(200);
  await answer(link, 'accept', later.cookie);
  expect((await t.app.inject(reset)).statusCode).toBe(400);
});
