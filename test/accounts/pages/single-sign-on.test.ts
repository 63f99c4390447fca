import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createInvitation, createPasswordReset, linkPath } from '../../../src/accounts/sign-in/one-time-links.ts';
import { createUser } from '../../../src/accounts/users.ts';
import { cookieFrom, csrfIn, origin, postForm, signInAs } from '../../dashboard/support.ts';
import {
  clientId,
  clientSecret,
  type ProviderUser,
  startOidcProvider,
  type TestProvider,
} from '../../support/oidc-provider.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

const start = '/dashboard/sign-in/oidc';

let nowMs = Date.now();
let provider: TestProvider;
let t: TestApp;
/** The same installation with password sign-in turned off. */
let withoutPasswords: TestApp;

beforeAll(async () => {
  provider = await startOidcProvider(`${origin}${start}/callback`, `${origin}/dashboard/sign-in`);
  const oidc = {
    issuer: provider.issuer,
    clientId,
    clientSecret,
    scopes: 'openid email groups',
    allowedDomains: ['example.com'],
    emailVerifiedClaim: 'email_verified',
    roleClaim: 'groups',
    grants: [
      { value: 'perks-ops', grant: { role: 'operator', publisherId: null } },
      { value: 'shop', grant: { role: 'manager', publisherId: 1 } },
      { value: 'support', grant: { role: { customRole: 'Support' }, publisherId: 1 } },
      { value: 'nowhere', grant: { role: 'manager', publisherId: 987_654 } },
    ],
    defaultGrant: null,
  } as const;
  t = await createTestApp({ now: () => nowMs, config: { oidc, requireTwoFactor: 'all' } });
  withoutPasswords = await createTestApp({
    databaseUrl: t.databaseUrl,
    config: { oidc, passwordSignIn: false },
  });
});
afterAll(async () => {
  await withoutPasswords?.close();
  await t?.close();
  await provider?.close();
});
beforeEach(() => {
  nowMs = Date.now();
  provider.tamper = null;
});

const person = (sub: string, more: Partial<ProviderUser> = {}): ProviderUser => ({
  sub,
  email: `${sub}@example.com`,
  email_verified: true,
  groups: ['shop'],
  ...more,
});

const get = (url: string, cookie = '', app = t) => app.app.inject({ url, headers: { cookie } });

/**
 * Starts signing in at Perkwire and signs in at the provider. Returns the callback URL and the cookie of the pending
 * sign-in.
 */
async function atProvider(user: ProviderUser, next = '', app = t): Promise<{ callback: string; pending: string }> {
  provider.user = user;
  const begun = await get(`${start}?next=${encodeURIComponent(next)}`, '', app);
  expect(begun.statusCode, begun.body).toBe(303);
  const back = await provider.signIn(String(begun.headers.location));
  return { callback: back.pathname + back.search, pending: cookieFrom(begun, 'perkwire_oidc') ?? '' };
}

async function signIn(user: ProviderUser, next = '', app = t) {
  const { callback, pending } = await atProvider(user, next, app);
  const answer = await get(callback, pending, app);
  return { answer, cookie: cookieFrom(answer, 'perkwire_session') ?? '' };
}

const rowOf = async (email: string) => (await t.pool.query('select * from users where email = $1', [email])).rows[0];

async function logOf(email: string): Promise<string[]> {
  const { rows } = await t.pool.query(
    "select actor_label, action, changes - 'id' as changes from audit_log where resource_id = $1 order by id",
    [email],
  );
  const text = (changes: Record<string, { new: unknown }>) =>
    Object.entries(changes).map(([name, { new: is }]) => `${name}=${is}`);
  return rows.map((row) => [row.actor_label, row.action, ...text(row.changes).sort()].join(' '));
}

/** Returns the cookie with one character in the middle changed. */
function altered(cookie: string): string {
  const at = cookie.length >> 1;
  return `${cookie.slice(0, at)}${cookie[at] === 'A' ? 'B' : 'A'}${cookie.slice(at + 1)}`;
}

const refusal = ({ body }: { body: string }): string => /role="alert"><p>([^<]*)/.exec(body)?.[1] ?? body;

describe('signing in at the provider', () => {
  test('creates an account with the role in the claim and opens the requested page', async () => {
    const { answer, cookie } = await signIn(person('ada'), '/dashboard/account?x=1');
    expect(answer.statusCode, answer.body).toBe(303);
    expect(answer.headers.location).toBe('/dashboard/account?x=1');
    expect(await rowOf('ada@example.com')).toMatchObject({ role: 'manager', publisher_id: 1, password_hash: null });
    const page = await get('/dashboard/account', cookie);
    expect(page.statusCode).toBe(200);
    expect(page.body).toContain('Single sign-on');
    expect(page.body).not.toContain('Change password');
    expect(await logOf('ada@example.com')).toEqual([
      'single sign-on create password=none role=manager single_sign_on=linked',
      'ada@example.com sign_in by=single sign-on',
    ]);
    for (const next of ['//evil.example', 'https://evil.example/', '/\\evil.example'])
      expect((await signIn(person('ada'), next)).answer.headers.location, next).toBe('/dashboard');
  });

  test('finds an existing account by its subject and updates its role', async () => {
    await signIn(person('bo'));
    const moved = person('bo', { email: 'bo.new@example.com', groups: ['other', 'perks-ops', 'shop'] });
    const { cookie } = await signIn(moved);
    expect((await get('/dashboard/operator/users', cookie)).statusCode).toBe(200);
    expect(await rowOf('bo.new@example.com')).toBeUndefined();
    expect(await rowOf('bo@example.com')).toMatchObject({ role: 'operator', publisher_id: null });
    expect(await logOf('bo@example.com')).toContain('single sign-on create role=operator');
    expect((await get(`/dashboard/p/${t.publisher.id}/overview`, cookie)).statusCode).toBe(200);
    expect(refusal((await signIn(person('bo', { groups: [] }))).answer)).toContain('You do not have a role here');
  });

  test('links the account with the verified address and revokes its password, links and sessions', async () => {
    const before = await signInAs(t, 'analyst');
    const { email } = (await t.pool.query('select email from users where id = $1', [before.userId])).rows[0];
    const link = await createPasswordReset(t.pool, before.userId, nowMs);
    const { answer } = await signIn(person('carl', { email: email.toUpperCase() }));
    expect(answer.statusCode, answer.body).toBe(303);
    expect(await rowOf(email)).toMatchObject({ id: before.userId, password_hash: null, oidc_subject: 'carl' });
    expect((await get(`${linkPath}${link}`)).statusCode).toBe(400);
    expect((await before.get('/dashboard/account')).headers.location).toMatch(/sign-in/);
    expect(await logOf(email)).toContain('single sign-on update password=removed single_sign_on=linked');
    expect(refusal((await signIn(person('mallory', { email }))).answer)).toContain(
      'Another user of the sign-in service',
    );
  });

  test('asks for a code only if the user has two-factor authentication', async () => {
    const { cookie } = await signIn(person('dora'));
    expect((await get('/dashboard/account', cookie)).statusCode).toBe(200);
    await t.pool.query("update users set totp_sealed = '', totp_last_step = 0 where email = 'dora@example.com'");
    const { answer, cookie: pending } = await signIn(person('dora'));
    expect(answer.headers.location).toMatch(/^\/dashboard\/sign-in\/code/);
    expect((await get('/dashboard/account', pending)).headers.location).toMatch(/sign-in/);
  });

  test('signing out also ends the session at the provider', async () => {
    const { cookie } = await signIn(person('eve'));
    const csrf = csrfIn((await get('/dashboard/account', cookie)).body);
    const out = await postForm(t, '/dashboard/sign-out', { _csrf: csrf }, { cookie });
    const url = new URL(String(out.headers.refresh).replace(/^0; url=/, ''));
    expect(url.href.startsWith(`${provider.issuer}/session/end?`)).toBe(true);
    expect(url.searchParams.get('post_logout_redirect_uri')).toBe(`${origin}/dashboard/sign-in`);
    expect((await fetch(url)).status).toBe(200);
    expect((await get('/dashboard/account', cookie)).statusCode).toBe(303);
    const { rows } = await t.pool.query('select id_token_sealed from user_sessions where id_token_sealed is not null');
    const token = url.searchParams.get('id_token_hint') ?? '-';
    expect(rows.some((row) => row.id_token_sealed.includes(token))).toBe(false);
  });
});

test('signing out ends the local session even if the key that sealed its ID token is gone', async () => {
  const { cookie } = await signIn(person('finn'));
  const csrf = csrfIn((await get('/dashboard/account', cookie)).body);
  await t.pool.query("update user_sessions set id_token_sealed = '\\x00' where id_token_sealed is not null");
  const out = await postForm(t, '/dashboard/sign-out', { _csrf: csrf }, { cookie });
  expect(out.headers.location).toBe('/dashboard/sign-in');
  expect((await get('/dashboard/account', cookie)).statusCode).toBe(303);
});

describe('a back-channel logout', () => {
  const logoutEvent = { 'http://schemas.openid.net/event/backchannel-logout': {} };
  const sendLogout = (claims: Record<string, unknown>) => {
    const iat = Math.floor(nowMs / 1000);
    const token = provider.logoutToken({ iat, exp: iat + 120, jti: 'one', events: logoutEvent, ...claims });
    return sendLogoutToken(token);
  };
  const sendLogoutToken = (token: string) =>
    t.app.inject({
      method: 'POST',
      url: `${start}/logout`,
      payload: new URLSearchParams({ logout_token: token }).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
  const isOpen = async (cookie: string): Promise<boolean> =>
    (await get('/dashboard/account', cookie)).statusCode === 200;

  test("ends all of the user's sessions, and no others", async () => {
    const [first, second] = [await signIn(person('gina')), await signIn(person('gina'))];
    const other = await signIn(person('hugo'));
    expect((await sendLogout({ sub: 'gina' })).statusCode).toBe(200);
    expect([await isOpen(first.cookie), await isOpen(second.cookie), await isOpen(other.cookie)]).toEqual([
      ...[false, false, true],
    ]);
  });

  test('ends only the session that it identifies', async () => {
    const sidIs = (sid: string) => {
      provider.tamper = (claims) => ({ ...claims, sid });
    };
    sidIs('one');
    const first = await signIn(person('iris'));
    sidIs('two');
    const second = await signIn(person('iris'));
    expect((await sendLogout({ sid: 'one' })).statusCode).toBe(200);
    expect([await isOpen(first.cookie), await isOpen(second.cookie)]).toEqual([false, true]);
    expect((await sendLogout({ sub: 'iris', sid: 'two' })).statusCode).toBe(200);
    expect(await isOpen(second.cookie)).toBe(false);
  });

  test('400: is rejected if its client, issuer, age, type, subject or signature is wrong', async () => {
    const { cookie } = await signIn(person('jack'));
    const old = Math.floor(nowMs / 1000) - 3600;
    for (const claims of [
      { sub: 'jack', aud: 'another' },
      { sub: 'jack', iss: 'https://login.example' },
      { sub: 'jack', iat: old, exp: old + 7200 },
      { sub: 'jack', nonce: 'x' },
      { sub: 'jack', events: {} },
      {},
    ])
      expect((await sendLogout(claims)).statusCode, JSON.stringify(claims)).toBe(400);
    const iat = Math.floor(nowMs / 1000);
    const token = provider.logoutToken({ sub: 'jack', iat, exp: iat + 120, events: logoutEvent });
    const [head, , signature] = token.split('.');
    const payload = Buffer.from(JSON.stringify({ sub: 'jack', iat, events: logoutEvent })).toString('base64url');
    for (const altered of [`${head}.${payload}.${signature}`, token.slice(0, -8), ''])
      expect((await sendLogoutToken(altered)).statusCode).toBe(400);
    expect(await isOpen(cookie)).toBe(true);
  });

  test('does not end sessions that began after it', async () => {
    const iat = Math.floor(nowMs / 1000);
    nowMs += 60_000;
    const { cookie } = await signIn(person('kim'));
    expect((await sendLogout({ sub: 'kim', iat, exp: iat + 600 })).statusCode).toBe(200);
    expect(await isOpen(cookie)).toBe(true);
  });
});

test('a sensitive action sends the user back to the provider, unless they confirmed recently', async () => {
  const { cookie } = await signIn(person('lena', { groups: ['perks-ops'] }));
  const csrf = csrfIn((await get('/dashboard/operator/users', cookie)).body);
  const invite = (email: string, as: string, token: string) =>
    postForm(t, '/dashboard/operator/users', { _csrf: token, email, role: 'operator' }, { cookie: as });
  expect((await invite('one@example.com', cookie, csrf)).statusCode).toBe(200);
  nowMs += 16 * 60_000;
  const response = await invite('two@example.com', cookie, csrf);
  expect(response.statusCode).toBe(403);
  expect(response.body).toContain(`href="${start}?again"`);
  expect(await rowOf('two@example.com')).toBeUndefined();
  const begun = await get(`${start}?again`);
  expect(new URL(String(begun.headers.location)).searchParams.get('max_age')).toBe('900');
  provider.tamper = (claims) => ({ ...claims, auth_time: Math.floor(nowMs / 1000) - 1000 });
  const stale = await signIn(person('lena', { groups: ['perks-ops'] }));
  const staleCsrf = csrfIn((await get('/dashboard/operator/users', stale.cookie)).body);
  expect((await invite('two@example.com', stale.cookie, staleCsrf)).statusCode).toBe(403);
  provider.tamper = (claims) => ({ ...claims, auth_time: Math.floor(nowMs / 1000) - 5 });
  const fresh = await signIn(person('lena', { groups: ['perks-ops'] }));
  const freshCsrf = csrfIn((await get('/dashboard/operator/users', fresh.cookie)).body);
  expect((await invite('two@example.com', fresh.cookie, freshCsrf)).statusCode).toBe(200);
});

describe('rejected sign-ins', () => {
  test.each<[string, Partial<ProviderUser>, string]>([
    ['an unverified e-mail address', { email_verified: false }, 'not verified'],
    ['an e-mail address without an email_verified claim', { email_verified: undefined }, 'not verified'],
    ['an email_verified claim that is not a boolean', { email_verified: 'no' }, 'not verified'],
    ['no e-mail address', { email: undefined }, 'not verified'],
    ['an e-mail domain that is not allowed', { email: 'x@evil.example' }, 'of your domain'],
    ['a domain that ends like an allowed one', { email: 'x@notexample.com' }, 'of your domain'],
    ['a domain that begins like an allowed one', { email: 'x@example.com.evil.example' }, 'of your domain'],
    ['an e-mail address with two @ signs', { email: 'x@evil.example@example.com' }, 'not verified'],
    ['a user without a role', { groups: ['shopper'] }, 'You do not have an account here'],
    ['a role of a publisher that does not exist', { groups: ['nowhere'] }, 'You do not have an account here'],
    ['a role claim that is not a list of strings', { groups: { shop: true } }, 'You do not have an account here'],
  ])('%s', async (name, more, message) => {
    const { answer, cookie } = await signIn(person(`r-${name.replaceAll(/\W/g, '-')}`, more) as ProviderUser);
    expect(answer.statusCode).toBe(403);
    expect(refusal(answer)).toContain(message);
    expect(cookie).toBe('');
  });

  test('a disabled user', async () => {
    await signIn(person('frank'));
    await t.pool.query("update users set disabled = true where email = 'frank@example.com'");
    const { answer } = await signIn(person('frank'));
    expect([answer.statusCode, refusal(answer)]).toEqual([403, 'Your account is disabled. Ask an admin to enable it.']);
  });

  test.each<[string, (claims: Record<string, unknown>) => Record<string, unknown>]>([
    ['a token for another client', (claims) => ({ ...claims, aud: 'somewhere-else' })],
    ['an expired token', (claims) => ({ ...claims, iat: 1_700_000_000, exp: 1_700_000_600 })],
    ['a token from another provider', (claims) => ({ ...claims, iss: 'https://evil.example' })],
    ['a token from another sign-in', (claims) => ({ ...claims, nonce: 'another' })],
  ])('%s', async (_name, tamper) => {
    provider.tamper = tamper;
    const { answer, cookie } = await signIn(person('grace'));
    expect([answer.statusCode, cookie]).toEqual([401, '']);
    provider.tamper = (claims) => claims;
    expect((await signIn(person('grace'))).answer.statusCode).toBe(303);
  });

  test('a wrong state, another browser, a bad or late cookie, a used code and a cancelled sign-in', async () => {
    const { callback, pending } = await atProvider(person('heidi'));
    const other = await atProvider(person('mallory'));
    const statusOf = async (url: string, cookie: string) => (await get(url, cookie)).statusCode;
    expect(await statusOf(callback.replace(/state=[^&]+/, 'state=guessed'), pending)).toBe(401);
    expect(await statusOf(callback, '')).toBe(400);
    expect(await statusOf(other.callback, pending)).toBe(401);
    expect(await statusOf(callback, altered(pending))).toBe(400);
    const cancelled = callback.replace(/code=[^&]+/, 'error=access_denied');
    expect(refusal(await get(cancelled, pending))).toBe('The sign-in was cancelled.');
    expect(await statusOf(callback, pending)).toBe(303);
    expect(await statusOf(callback, pending)).toBe(401);
    const late = await atProvider(person('heidi'));
    nowMs += 16 * 60_000;
    expect(await statusOf(late.callback, late.pending)).toBe(400);
  });
});

test('only the provider can sign users in when passwords are disabled', async () => {
  const page = await get('/dashboard/sign-in', '', withoutPasswords);
  expect(page.body).toContain('Sign in with single sign-on');
  expect(page.body).not.toContain('type="password"');
  const credentials = { email: 'ada@example.com', password: 'seven quiet otters' };
  expect((await postForm(withoutPasswords, '/dashboard/sign-in', credentials)).statusCode).toBe(405);
  const user = await createUser(t.pool, {
    email: 'in@example.com',
    role: 'admin',
    publisherId: 1,
    passwordHash: null,
    nowMs,
  });
  if (user === null) throw new Error('the address is taken');
  const link = `${linkPath}${await createInvitation(t.pool, user, nowMs)}`;
  const newPasswordFields = { password: 'four tall cranes', again: 'four tall cranes' };
  const set = await postForm(withoutPasswords, link, newPasswordFields);
  expect(cookieFrom(set, 'perkwire_session')).toBeNull();
  const byPassword = await signInAs(withoutPasswords, 'operator');
  expect((await byPassword.get('/dashboard/account')).statusCode).toBe(303);

  const { answer, cookie } = await signIn(person('ivan', { groups: ['perks-ops'] }), '', withoutPasswords);
  expect(answer.statusCode, answer.body).toBe(303);
  const users = await get('/dashboard/operator/users', cookie, withoutPasswords);
  const fields = { _csrf: csrfIn(users.body), email: 'judy@example.com', role: 'operator' };
  const added = await postForm(withoutPasswords, '/dashboard/operator/users', fields, { cookie });
  expect(added.body).toContain('judy@example.com can now sign in with single sign-on');
  expect(added.body).not.toContain(linkPath);
});

/** Returns the memberships of an email address, by publisher. */
const membershipsOf = async (email: string) =>
  (
    await t.pool.query(
      `select m.publisher_id, m.role, m.joined_at is not null as joined from memberships m
      join users u on u.id = m.user_id where u.email = $1 order by m.id`,
      [email],
    )
  ).rows;

async function addPublisher(name: string): Promise<number> {
  const { rows } = await t.pool.query<{ id: number }>(
    'insert into publishers (name, sdk_id) values ($1, left(md5($1), 16)) returning id',
    [name],
  );
  return rows[0]?.id ?? 0;
}

test('a sign-in joins one of several inviting publishers, and the others once they are accepted', async () => {
  const config = {
    ...t.deps.config,
    requireTwoFactor: 'none' as const,
    oidc: t.deps.config.oidc && { ...t.deps.config.oidc, roleClaim: null, grants: [] },
  };
  const byHand = await createTestApp({ databaseUrl: t.databaseUrl, config });
  const publishers = [await addPublisher('First to invite'), await addPublisher('Second'), t.publisher.id];
  for (const publisherId of publishers) {
    await byHand.deps.catalog.refresh();
    const admin = await signInAs(byHand, 'admin', publisherId);
    const fields = { email: 'wanted@example.com', role: 'manager' };
    // Other publishers do not learn that the first one has invited this address.
    expect((await admin.post(`/dashboard/p/${publisherId}/settings/users`, fields)).body).toContain(linkPath);
  }
  const { answer, cookie } = await signIn(person('wanted'), '', byHand);
  expect(answer.statusCode).toBe(303);
  const overview = (id = 0) => get(`/dashboard/p/${id}/overview`, cookie, byHand);
  const statuses = async () => Promise.all(publishers.map(async (id) => (await overview(id)).statusCode));
  expect(await statuses()).toEqual([200, 404, 404]);
  const { body } = await get('/dashboard/account', cookie, byHand);
  const post = (path: string) => postForm(byHand, path, { _csrf: csrfIn(body) }, { cookie });
  const accept = [...body.matchAll(/action="(\/dashboard\/account\/memberships\/\d+\/accept)"/g)].map(
    ([, path]) => path,
  );
  expect(accept).toHaveLength(2);
  expect((await post(accept[0] ?? '')).statusCode).toBe(303);
  expect((await post(accept[0] ?? '')).statusCode).toBe(404);
  expect((await post((accept[1] ?? '').replace('accept', 'decline'))).statusCode).toBe(303);
  expect(await statuses()).toEqual([200, 200, 404]);
  expect((await membershipsOf('wanted@example.com')).map((row) => row.publisher_id)).toEqual(publishers.slice(0, 2));
  await byHand.close();
});

test("a group mapped to a publisher's role grants that role, and nothing once the role is gone", async () => {
  const helper = person('helper', { groups: ['support'] });
  expect((await signIn(helper)).cookie).toBe('');
  const { rows } = await t.pool.query(
    `insert into member_roles (publisher_id, name, permissions) values (1, 'Support', '{offers/management}')
    returning id`,
  );
  const { cookie } = await signIn(helper);
  expect((await get('/dashboard/p/1/campaigns/new', cookie)).statusCode).toBe(200);
  expect((await get('/dashboard/p/1/settings/keys', cookie)).statusCode).toBe(403);
  await signIn(person('helper'));
  await t.pool.query('delete from member_roles where id = $1', [rows[0].id]);
  expect(await membershipsOf('helper@example.com')).toEqual([{ publisher_id: 1, role: 'manager', joined: true }]);
});

test("an advertiser's account joins by signing in without a group, and sees only its own pages", async () => {
  const { rows } = await t.pool.query("insert into advertisers (publisher_id, name) values (1, 'Wine') returning id");
  const advertiserId = rows[0].id as number;
  await createUser(t.pool, {
    email: 'wine@example.com',
    role: 'advertiser',
    publisherId: null,
    advertiserId,
    passwordHash: null,
    nowMs,
  });
  const { cookie } = await signIn(person('wine', { groups: [] }));
  expect((await get('/dashboard', cookie)).headers.location).toBe(`/dashboard/a/${advertiserId}`);
  expect((await get(`/dashboard/a/${advertiserId}`, cookie)).statusCode).toBe(200);
  expect((await get('/dashboard/p/1/overview', cookie)).statusCode).toBe(404);
  expect((await get(`/dashboard/a/${advertiserId + 1}`, cookie)).statusCode).toBe(404);
});

test('a role claim adds the granted memberships, and removes those that are no longer granted', async () => {
  const other = await addPublisher('Also first');
  for (const publisherId of [other, 1])
    await createUser(t.pool, { email: 'both@example.com', role: 'analyst', publisherId, passwordHash: null, nowMs });
  const { cookie } = await signIn(person('both'));
  expect(await membershipsOf('both@example.com')).toEqual([
    { publisher_id: other, role: 'analyst', joined: false },
    { publisher_id: 1, role: 'manager', joined: true },
  ]);
  await signIn(person('both', { groups: ['perks-ops'] }));
  expect(await membershipsOf('both@example.com')).toEqual([
    { publisher_id: other, role: 'analyst', joined: false },
    { publisher_id: null, role: 'operator', joined: true },
  ]);
  expect((await get('/dashboard/operator/users', cookie)).statusCode).toBe(200);
});
