import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { origin, postForm, signInAs, type TestUser } from '../dashboard/support.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
let otherId: number;
beforeAll(async () => {
  t = await createTestApp();
  const { rows } = await t.pool.query<{ id: number }>(
    "insert into publishers (name, sdk_id) values ('Other', 'ffffffffffffffff') returning id",
  );
  otherId = rows[0]?.id ?? 0;
  await t.deps.catalog.refresh();
});
afterAll(() => t.close());

describe('forms', () => {
  test("answer 403 without the session's CSRF token or from another site", async () => {
    const person = await signInAs(t, 'admin');
    const other = await signInAs(t, 'admin');
    const path = `/dashboard/p/${t.publisher.id}/settings/users`;
    const foreign = /name="_csrf" value="([^"]+)"/.exec((await other.get(path)).body)?.[1] ?? '';
    const own = /name="_csrf" value="([^"]+)"/.exec((await person.get(path)).body)?.[1] ?? '';
    const invite = (fields: Record<string, string>, headers: Record<string, string> = {}) =>
      postForm(
        t,
        path,
        { email: 'mallory@example.com', role: 'admin', ...fields },
        { cookie: person.cookie, ...headers },
      );
    for (const answer of [
      await invite({}),
      await invite({ _csrf: foreign }),
      await invite({ _csrf: own }, { origin: 'https://evil.example' }),
      await invite({ _csrf: own }, { 'sec-fetch-site': 'same-site' }),
    ])
      expect(answer.statusCode).toBe(403);
    expect((await t.pool.query("select 1 from users where email = 'mallory@example.com'")).rowCount).toBe(0);
    expect((await invite({ _csrf: own }, { origin })).statusCode).toBe(200);
  });
});

describe('pages', () => {
  test('forbid framing, caching, sniffing and third-party scripts, and send no referrer to other sites', async () => {
    for (const url of ['/dashboard/sign-in', '/dashboard/start/x', '/dashboard/nothing']) {
      const { headers } = await t.app.inject(url);
      if (headers.location !== undefined) continue;
      expect(headers, url).toMatchObject({
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-store',
        'referrer-policy': 'same-origin',
        'x-frame-options': 'DENY',
      });
      expect(headers['content-security-policy']).toMatch(
        /default-src 'none'; script-src 'self'; style-src 'self';.*frame-ancestors 'none'/,
      );
    }
  });

  test('contain no inline script, style or handler', async () => {
    const person = await signInAs(t, 'operator');
    const { body } = await person.get(`/dashboard/p/${t.publisher.id}/settings/users`);
    expect(body).not.toMatch(/<script(?![^>]* src=)|<style|\sstyle=|\son[a-z]+="/);
  });

  test('escape user input', async () => {
    const person = await signInAs(t, 'admin');
    const { body, statusCode } = await person.post(`/dashboard/p/${t.publisher.id}/settings/users`, {
      email: '"><script>x</script>\0',
    });
    expect(statusCode).toBe(422);
    expect(body).toContain('&quot;&gt;&lt;script&gt;x&lt;/script&gt;');
    expect(body).not.toContain('<script>x');
  });

  test('serve assets under a URL with a content hash, cacheable forever', async () => {
    const page = await t.app.inject('/dashboard/sign-in');
    const urls = [...page.body.matchAll(/(?:src|href)="(\/dashboard\/assets\/[^"]+)"/g)].map(([, url = '']) => url);
    expect(urls.length).toBeGreaterThan(2);
    for (const url of urls) {
      const answer = await t.app.inject({ url, headers: { 'accept-encoding': 'br' } });
      expect(answer.statusCode).toBe(200);
      expect(answer.headers).toMatchObject({
        'cache-control': 'public, max-age=31536000, immutable',
        'content-encoding': 'br',
      });
    }
    expect((await t.app.inject('/dashboard/assets/..%2f..%2fpackage.json')).statusCode).toBe(404);
  });
});

describe('roles', () => {
  const users = (publisherId: number | string) => `/dashboard/p/${publisherId}/settings/users`;

  test("the user list is open to operators and admins only, and admins see only their publisher's users", async () => {
    const statuses: number[] = [];
    for (const role of ['analyst', 'manager', 'admin', 'operator'] as const)
      statuses.push((await (await signInAs(t, role)).get(users(t.publisher.id))).statusCode);
    expect(statuses).toEqual([403, 403, 200, 200]);
  });

  test("another publisher's pages respond like pages that do not exist", async () => {
    const admin = await signInAs(t, 'admin');
    const bodies: string[] = [];
    for (const id of [otherId, 999_999, '2147483648', '99999999999999999999', '0', '-1', 'x', '1e3']) {
      const answer = await admin.get(users(id));
      expect(answer.statusCode, String(id)).toBe(404);
      bodies.push(answer.body.replace(/Request ID: \w+-\w+/, ''));
    }
    expect(new Set(bodies).size).toBe(1);
    for (const path of ['/dashboard/operator/users', '/dashboard/operator/publishers'])
      expect([403, 404]).toContain((await admin.get(path)).statusCode);
  });

  test('an admin cannot change operators or users of another publisher by ID', async () => {
    const admin = await signInAs(t, 'admin');
    const victims: TestUser[] = [await signInAs(t, 'analyst', otherId), await signInAs(t, 'operator')];
    for (const { userId } of victims) {
      expect((await admin.post(`${users(t.publisher.id)}/${userId}`, { disabled: 'yes' })).statusCode).toBe(404);
      expect((await admin.post(`${users(t.publisher.id)}/${userId}/link`)).statusCode).toBe(404);
    }
    const { rows } = await t.pool.query('select 1 from users where disabled and id = any($1)', [
      victims.map(({ userId }) => userId),
    ]);
    expect(rows).toEqual([]);
  });

  test('an invitation does not reveal whether the address has an account at another publisher', async () => {
    const admin = await signInAs(t, 'admin');
    const { userId } = await signInAs(t, 'analyst', otherId);
    const { rows } = await t.pool.query<{ email: string }>('select email from users where id = $1', [userId]);
    const emails = ['nobody@example.com', rows[0]?.email ?? ''];
    const list = users(t.publisher.id);
    const linkOf = (body: string): string => /\/dashboard\/start\/[\w-]{43}/.exec(body)?.[0] ?? '';
    const notices: string[] = [];
    const links: string[] = [];
    for (const email of emails) {
      const answers = [await admin.post(list, { email, role: 'analyst' }), await admin.get(list)];
      expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 200]);
      links.push(linkOf(answers[0]?.body ?? ''));
      notices.push((answers[0]?.body ?? '').replaceAll(linkOf(answers[0]?.body ?? ''), 'LINK'));
      expect((await admin.post(list, { email, role: 'analyst' })).body).toContain('already in the list');
    }
    const rowsOf = (body: string, email: string) =>
      (body.match(/<tr>[\s\S]*?<\/tr>/g) ?? [])
        .filter((row) => row.includes(email))
        .map((row) => row.split(email).join());
    const alike = emails.map((email, index) =>
      rowsOf(notices[index] ?? '', email).map((row) => row.replace(/\d+/g, '1')),
    );
    expect(alike[0]).toHaveLength(1);
    expect(alike[1]).toEqual(alike[0]);
    const [fresh, existing] = await Promise.all(links.map((link) => t.app.inject(link)));
    expect([fresh?.body, existing?.body].map((body) => body?.includes('type="password"'))).toEqual([true, false]);
    expect(existing?.body).toContain('Sign in to accept');
  });

  test('an admin cannot invite an operator, and no user can change their own role or disable themselves', async () => {
    const admin = await signInAs(t, 'admin');
    await admin.post(users(t.publisher.id), { email: 'up@example.com', role: 'operator' });
    expect((await t.pool.query("select from users where email = 'up@example.com'")).rows).toEqual([]);
    await admin.post(`${users(t.publisher.id)}/${admin.userId}`, { role: 'analyst', disabled: 'yes' });
    expect((await admin.get(users(t.publisher.id))).statusCode).toBe(200);
  });
});
