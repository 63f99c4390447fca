import { randomBytes } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hashPassword } from '../../src/accounts/passwords.ts';
import { linkPath } from '../../src/accounts/sign-in/one-time-links.ts';
import { createSecret, replaceRecoveryCodes, saveTwoFactor } from '../../src/accounts/two-factor.ts';
import { hashKey } from '../../src/platform/http/auth.ts';
import { createToken, hashToken } from '../../src/platform/security/random-token.ts';
import { createSecretBox } from '../../src/platform/security/secret-box.ts';
import { cookieFrom, origin, postForm } from '../dashboard/support.ts';
import { databaseBefore, type EarlierDatabase } from '../support/earlier-database.ts';
import { clientId, clientSecret, startOidcProvider, type TestProvider } from '../support/oidc-provider.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { testConfig } from '../support/test-config.ts';

/* A database of the baseline, upgraded. */

const password = 'seven quiet otters';
const oidcPath = '/dashboard/sign-in/oidc';
const [shop, market] = [1, 2];

let database: EarlierDatabase;
let provider: TestProvider;
let t: TestApp;
let before: string[];
let after: string[];
let secret: string;
let codes: string[];
const [session, invitation, newcomer] = [createToken(), createToken(), createToken()];
const [reporting, restricted] = ['pk_reporting', 'pk_restricted'];
const codeFrom = (from: string): string => new TOTP({ secret: Secret.fromBase32(from) }).generate();

beforeAll(async () => {
  provider = await startOidcProvider(`${origin}${oidcPath}/callback`, `${origin}/dashboard/sign-in`);
  database = await databaseBefore('exchange-rates');
  await fill(database.client);
  before = await memberships();
  await database.upgrade();
  after = await memberships();
  const oidc = {
    issuer: provider.issuer,
    clientId,
    clientSecret,
    scopes: 'openid email',
    allowedDomains: ['example.com'],
    emailVerifiedClaim: 'email_verified',
    roleClaim: null,
    grants: [],
    defaultGrant: null,
  };
  t = await createTestApp({ databaseUrl: database.url, config: { oidc } });
});
afterAll(async () => {
  await t?.close();
  await database?.close();
  await provider?.close();
});

/** Inserts rows in the form in which the earlier release stores them. */
async function fill(client: EarlierDatabase['client']): Promise<void> {
  const passwordHash = await hashPassword(password, { cost: { logN: 4, r: 8, p: 1 } });
  await client.query(
    `insert into publishers (name, sdk_id) values ('Shop', 'aaaaaaaaaaaaaaaa'), ('Market', 'bbbbbbbbbbbbbbbb')`,
  );
  await client.query(
    `insert into users (email, password_hash, created_at) select email || '@example.com', $1, now()
    from unnest('{op,ada,max,gone}'::text[]) with ordinality as given (email, at) order by at`,
    [passwordHash],
  );
  await client.query(
    `insert into users (email, oidc_issuer, oidc_subject, created_at) values ('sso@example.com', $1, 'sso-7', now())`,
    [provider.issuer],
  );
  await client.query("insert into users (email, created_at) values ('new@example.com', now())");
  await client.query(
    `insert into memberships (user_id, publisher_id, role, disabled, created_at, joined_at)
    select u.id, publisher, given.role, given.disabled, now(), case when joined then now() end
    from (values ('op', null::integer, 'operator', false, true), ('ada', 1, 'admin', false, true),
      ('ada', 2, 'analyst', false, true), ('max', 1, 'manager', false, true), ('max', 2, 'manager', false, false),
      ('gone', 1, 'admin', true, true), ('sso', 1, 'manager', false, true), ('new', 2, 'analyst', false, false)
    ) as given (name, publisher, role, disabled, joined) join users u on u.email = given.name || '@example.com'`,
  );
  const idOf = async (name: string): Promise<number> =>
    (await client.query('select id from users where email = $1', [`${name}@example.com`])).rows[0].id;
  const [ada, max] = [await idOf('ada'), await idOf('max')];
  const config = testConfig();
  secret = createSecret();
  await saveTwoFactor(client, createSecretBox(config.secretsKey), { userId: ada, secret, step: 0 });
  codes = await replaceRecoveryCodes(client, ada);
  await client.query(
    `insert into user_passkeys (user_id, credential_id, public_key, counter, transports, name, created_at)
    values ($1, '\\x01', '\\x02', 0, '{internal}', 'Laptop', now())`,
    [ada],
  );
  await client.query(
    `insert into user_sessions (token_hash, user_id, created_at, last_seen_at, expires_at, device, network)
    values ($1, $2, now() - interval '1 hour', now(), now() + interval '6 days', 'Firefox', '203.0.113.0/24')`,
    [hashToken(session), max],
  );
  await client.query(
    `insert into user_links (token_hash, user_id, membership_id, expires_at)
    select given.hash, m.user_id, m.id, now() + interval '7 days' from memberships m
    join users u on u.id = m.user_id join (values ($1::bytea, 'max@example.com'), ($2, 'new@example.com'))
      as given (hash, email) on given.email = u.email where m.joined_at is null`,
    [hashToken(invitation), hashToken(newcomer)],
  );
  await client.query(
    `insert into api_keys (publisher_id, name, key_hash, permissions, read_only, expires_at) values
      (1, 'Reports', decode($1, 'hex'), '{reports}', false, null),
      (1, 'Reader', decode($2, 'hex'), '{configurations,offers/management}', true, now() + interval '1 day')`,
    [hashKey(reporting), hashKey(restricted)],
  );
}

/** Returns the memberships as "address publisher role", followed by their state. */
async function memberships(): Promise<string[]> {
  const { rows } = await database.client.query<{ text: string }>(
    `select concat_ws(' ', u.email, m.publisher_id, m.role, case when m.disabled then 'disabled' end,
      case when m.joined_at is null then 'invited' end) as text
    from memberships m join users u on u.id = m.user_id order by 1`,
  );
  return rows.map(({ text }) => text);
}

const get = (url: string, cookie: string) => t.app.inject({ url, headers: { cookie } });
const overview = (publisher: number): string => `/dashboard/p/${publisher}/overview`;
const users = (publisher: number): string => `/dashboard/p/${publisher}/settings/users`;

async function submitPassword(name: string) {
  const answer = await postForm(t, '/dashboard/sign-in', { email: `${name}@example.com`, password, next: '' });
  return { answer, cookie: cookieFrom(answer, 'perkwire_session') ?? '' };
}

test('keeps every role and every invitation at every publisher', async () => {
  expect(before).toHaveLength(8);
  expect(after).toEqual(before);
  const { rows } = await t.pool.query('select from memberships where advertiser_id is not null');
  expect(rows).toEqual([]);
});

describe('a sign-in after the upgrade', () => {
  test('works with the password and gives the access of the role', async () => {
    const max = (await submitPassword('max')).cookie;
    expect((await get(`/dashboard/p/${shop}/offers`, max)).statusCode).toBe(200);
    expect((await get(users(shop), max)).statusCode).toBe(403);
    expect((await get(overview(market), max)).statusCode).toBe(404);
    const op = (await submitPassword('op')).cookie;
    for (const path of ['/dashboard/operator/publishers', users(shop), users(market)])
      expect((await get(path, op)).statusCode, path).toBe(200);
    expect(await submitPassword('gone')).toMatchObject({ answer: { statusCode: 401 }, cookie: '' });
  });

  test('works with an app code or a recovery code, and with a role in each of two publishers', async () => {
    const { rows } = await t.pool.query<{ name: string }>('select name from user_passkeys');
    expect(rows).toEqual([{ name: 'Laptop' }]);
    for (const code of [codeFrom(secret), codes[0] ?? '']) {
      const { answer, cookie: waiting } = await submitPassword('ada');
      expect(answer.headers.location).toContain('/dashboard/sign-in/code');
      expect((await get(users(shop), waiting)).statusCode).toBe(303);
      const response = await postForm(t, '/dashboard/sign-in/code', { code }, { cookie: waiting });
      const cookie = cookieFrom(response, 'perkwire_session') ?? '';
      expect([(await get(users(shop), cookie)).statusCode, (await get(users(market), cookie)).statusCode]).toEqual([
        200, 403,
      ]);
    }
  });

  test('works at the OpenID provider for the account that its identity was linked to', async () => {
    provider.user = { sub: 'sso-7', email: 'sso@example.com', email_verified: true };
    const begun = await get(`${oidcPath}?next=`, '');
    const back = await provider.signIn(String(begun.headers.location));
    const answer = await get(back.pathname + back.search, cookieFrom(begun, 'perkwire_oidc') ?? '');
    const cookie = cookieFrom(answer, 'perkwire_session') ?? '';
    expect((await get(`/dashboard/p/${shop}/offers/new`, cookie)).statusCode).toBe(200);
    expect((await get(users(shop), cookie)).statusCode).toBe(403);
    expect((await get(overview(market), cookie)).statusCode).toBe(404);
  });

  test('continues in a browser that was signed in, and asks for a confirmation of sensitive actions', async () => {
    const cookie = `perkwire_session=${session}`;
    expect((await get(overview(shop), cookie)).statusCode).toBe(200);
    const { rows } = await t.pool.query(
      `select coalesce(confirmed_at, created_at) < now() - interval '15 minutes' as is_old from user_sessions
      where token_hash = $1`,
      [hashToken(session)],
    );
    expect(rows).toEqual([{ is_old: true }]);
  });
});

test('accepts a pending invitation with an existing sign-in or a new password', async () => {
  const max = `perkwire_session=${session}`;
  expect((await postForm(t, linkPath + invitation, { answer: 'accept' }, { cookie: max })).statusCode).toBe(303);
  expect((await get(`/dashboard/p/${market}/offers/new`, max)).statusCode).toBe(200);
  const set = await postForm(t, linkPath + newcomer, { password, again: password });
  const cookie = cookieFrom(set, 'perkwire_session') ?? '';
  expect((await get(overview(market), cookie)).statusCode).toBe(200);
  expect((await get(`/dashboard/p/${market}/offers/new`, cookie)).statusCode).toBe(403);
});

test('keeps the permissions and restrictions of keys', async () => {
  const call = async (key: string, method: 'GET' | 'POST', path: string): Promise<number> => {
    const headers = { authorization: `Bearer ${key}` };
    return (await t.app.inject({ method, url: path, headers, ...(method === 'POST' && { payload: {} }) })).statusCode;
  };
  expect(await call(reporting, 'GET', '/native/activity.json')).toBe(200);
  expect(await call(reporting, 'GET', '/manage/v1/offers')).toBe(403);
  expect(await call(restricted, 'GET', '/manage/v1/offers')).toBe(200);
  expect(await call(restricted, 'POST', '/manage/v1/offers')).toBe(403);
  expect(await call(`pk_${randomBytes(8).toString('hex')}`, 'GET', '/manage/v1/offers')).toBe(401);
});
