import { createServer } from 'node:net';
import type { Browser, CDPSession, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { hashPassword } from '../../../src/accounts/passwords.ts';
import { createUser } from '../../../src/accounts/users.ts';
import { csrfIn, postForm } from '../../dashboard/support.ts';
import { newContext, openBrowser } from '../../support/browser.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

/**
 * Passkeys with Chromium's virtual authenticator, on two installations that share a host name but use different ports.
 */

const password = 'seven quiet otters';

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function installation(databaseUrl?: string): Promise<{ t: TestApp; base: string }> {
  const port = await freePort();
  const base = `http://localhost:${port}`;
  const t = await createTestApp({ ...(databaseUrl !== undefined && { databaseUrl }), config: { publicUrl: base } });
  await t.app.listen({ port, host: 'localhost' });
  return { t, base };
}

let here: Awaited<ReturnType<typeof installation>>;
let elsewhere: Awaited<ReturnType<typeof installation>>;
let browser: Browser;
beforeAll(async () => {
  here = await installation();
  elsewhere = await installation(here.t.databaseUrl);
  browser = await openBrowser();
});
afterAll(async () => {
  await elsewhere?.t.close();
  await here?.t.close();
});

async function account(email: string): Promise<void> {
  const passwordHash = await hashPassword(password, { cost: { logN: 4, r: 8, p: 1 } });
  const { pool, publisher } = here.t;
  await createUser(pool, { email, role: 'manager', publisherId: publisher.id, passwordHash, nowMs: Date.now() });
}

type Device = { page: Page; cdp: CDPSession };

/** Opens a browser whose device creates passkeys and verifies the user. */
async function openDevice(): Promise<Device> {
  const context = await newContext(browser, { locale: 'en-GB' });
  const page = await context.newPage();
  const cdp = await context.newCDPSession(page);
  await cdp.send('WebAuthn.enable');
  await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return { page, cdp };
}

async function submitPassword(page: Page, email: string): Promise<void> {
  await page.goto(`${here.base}/dashboard/sign-in?next=/dashboard/account`);
  await page.fill('[name=email]', email);
  await page.fill('[name=password]', password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

/**
 * Signs in with the password and adds a passkey of the device.
 * @returns the displayed recovery codes
 */
async function addPasskey(page: Page, email: string, name = 'Laptop'): Promise<string[]> {
  await account(email);
  await submitPassword(page, email);
  await page.waitForURL('**/dashboard/account');
  await page.goto(`${here.base}/dashboard/account/passkeys`);
  await page.fill('[name=name]', name);
  await page.fill('[name=current]', password);
  await page.getByRole('button', { name: 'Add passkey' }).click();
  const codes = await page.locator('[aria-label="recovery codes"] code').textContent();
  return (codes ?? '').split('\n');
}

async function signOut(page: Page): Promise<void> {
  await page.context().clearCookies();
}

const signInAlone = async (page: Page): Promise<void> => {
  await page.goto(`${here.base}/dashboard/sign-in?next=/dashboard/account`);
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
};

/** Returns the device's response to the challenge of a sign-in page on `base`. */
async function answerFrom(device: Device, base: string): Promise<{ sealed: string; response: string }> {
  const { body } = await here.t.app.inject('/dashboard/sign-in');
  const options = (/data-passkey="([^"]+)"/.exec(body)?.[1] ?? '').replaceAll('&quot;', '"');
  await device.page.goto(`${base}/dashboard/sign-in`);
  const response = await device.page.evaluate(async (text) => {
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(JSON.parse(text));
    const credential = (await navigator.credentials.get({ publicKey })) as PublicKeyCredential;
    return JSON.stringify(credential.toJSON());
  }, options);
  return { sealed: /name="sealed" value="([^"]+)"/.exec(body)?.[1] ?? '', response };
}

const submit = (answer: { sealed: string; response: string }, path = '/dashboard/sign-in/passkey', cookie = '') =>
  postForm(here.t, path, answer, { origin: here.base, cookie });

test('a passkey signs in without a password, and can be named, listed and removed', async () => {
  const { page } = await openDevice();
  expect(await addPasskey(page, 'alone@example.com')).toHaveLength(10);
  await signOut(page);
  await signInAlone(page);
  await page.waitForURL('**/dashboard/account');
  expect(await page.locator('.account strong').textContent()).toBe('alone@example.com');
  await page.goto(`${here.base}/dashboard/account/passkeys`);
  expect(await page.locator('td strong').textContent()).toBe('Laptop');
  await page.locator('table').locator('xpath=..').getByRole('button', { name: 'Remove' }).waitFor();
  await page.locator('form:has(table) [name=current]').fill(password);
  await page.getByRole('button', { name: 'Remove' }).click();
  await page.getByText('Passkey Laptop removed.').waitFor();
  await signOut(page);
  await signInAlone(page);
  await page.getByText('This passkey is not registered here.').waitFor();
  const { rows } = await here.t.pool.query(
    "select action, changes->'by'->>'new' as by, changes->'passkey' as passkey from audit_log where resource_id = $1",
    ['alone@example.com'],
  );
  expect(rows).toEqual(
    expect.arrayContaining([
      { action: 'sign_in', by: 'passkey', passkey: null },
      { action: 'update', by: null, passkey: { old: '', new: 'Laptop' } },
      { action: 'update', by: null, passkey: { old: 'Laptop', new: '' } },
    ]),
  );
  await page.context().close();
});

test('after the password, the passkey or a recovery code is also required', async () => {
  const { page } = await openDevice();
  const codes = await addPasskey(page, 'second@example.com');
  await signOut(page);
  await submitPassword(page, 'second@example.com');
  await page.getByRole('button', { name: 'Use a passkey' }).waitFor();
  expect((await page.request.get(`${here.base}/dashboard/account`)).url()).toContain('/dashboard/sign-in');
  await page.getByRole('button', { name: 'Use a passkey' }).click();
  await page.waitForURL('**/dashboard/account');
  await signOut(page);
  await submitPassword(page, 'second@example.com');
  await page.fill('[name=code]', codes[0] ?? '');
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.waitForURL('**/dashboard/account');
  await page.context().close();
});

test('401: rejects a response with a wrong origin, challenge or device, or one replayed or altered', async () => {
  const device = await openDevice();
  await addPasskey(device.page, 'origin@example.com');
  const statusOf = async (answer: { sealed: string; response: string }) => (await submit(answer)).statusCode;
  expect(await statusOf(await answerFrom(device, elsewhere.base))).toBe(401);
  const right = await answerFrom(device, here.base);
  const other = await answerFrom(device, here.base);
  expect(await statusOf({ ...right, sealed: other.sealed })).toBe(401);
  expect(await statusOf({ ...right, sealed: 'x' })).toBe(401);
  for (const response of ['', 'x', 'null', '{}', '{"id":"AAAA"}', '{"id":5}'])
    expect(await statusOf({ ...right, response }), response).toBe(401);
  expect([await statusOf(right), await statusOf(right)]).toEqual([303, 401]);
  // Another user's passkey is not accepted as this user's second factor.
  const second = await openDevice();
  await addPasskey(second.page, 'victim@example.com');
  await signOut(second.page);
  await submitPassword(second.page, 'victim@example.com');
  await second.page.getByRole('button', { name: 'Use a passkey' }).waitFor();
  const cookie = (await second.page.context().cookies()).map(({ name, value }) => `${name}=${value}`).join('; ');
  const foreign = await answerFrom(device, here.base);
  expect((await submit(foreign, '/dashboard/sign-in/code', cookie)).statusCode).toBe(401);
  await device.page.context().close();
  await second.page.context().close();
});

test('only its owner can remove a passkey, and adding one requires the password and the device', async () => {
  const { page } = await openDevice();
  await addPasskey(page, 'owner@example.com');
  const { rows } = await here.t.pool.query<{ id: number }>(
    "select k.id from user_passkeys k join users u on u.id = k.user_id where u.email = 'owner@example.com'",
  );
  const thief = await openDevice();
  await account('thief@example.com');
  await submitPassword(thief.page, 'thief@example.com');
  await thief.page.waitForURL('**/dashboard/account');
  const cookie = (await thief.page.context().cookies()).map(({ name, value }) => `${name}=${value}`).join('; ');
  const at = '/dashboard/account/passkeys';
  const { body } = await here.t.app.inject({ url: at, headers: { cookie } });
  const post = (path: string, fields: Record<string, string>) =>
    postForm(here.t, path, { _csrf: csrfIn(body), ...fields }, { origin: here.base, cookie });
  expect((await post(`${at}/${rows[0]?.id}/remove`, { current: password })).statusCode).toBe(404);
  expect((await post(at, { name: 'x', current: 'wrong', sealed: 'x', response: '{}' })).statusCode).toBe(422);
  expect((await post(at, { name: 'x', current: password, sealed: 'x', response: '{}' })).statusCode).toBe(422);
  const sealed = /name="sealed" value="([^"]+)"/.exec(body)?.[1] ?? '';
  for (const response of ['', 'garbled', 'null', '{}']) {
    const refused = await post(at, { name: 'typed', current: password, sealed, response });
    expect([response, refused.statusCode]).toEqual([response, 422]);
    expect(refused.body).toMatch(/name="name"[^>]* value="typed"/);
  }
  await page.context().close();
  await thief.page.context().close();
});
