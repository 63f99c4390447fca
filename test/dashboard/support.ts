import type { LightMyRequestResponse as Response } from 'fastify';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { csrfTokenOf } from '../../src/accounts/access.ts';
import { startSession } from '../../src/accounts/sessions.ts';
import { createUser } from '../../src/accounts/users.ts';
import type { MemberRole } from '../../src/shell/context.ts';
import { newContext } from '../support/browser.ts';
import type { TestBase } from '../support/test-modules.ts';

export const origin = 'http://perks.test';

/** A signed-in user with a browser: sends the cookie and the origin and, with every form, the CSRF token. */
export type TestUser = {
  userId: number;
  email: string;
  cookie: string;
  get: (path: string, headers?: Record<string, string>) => Promise<Response>;
  post: (path: string, fields?: Record<string, string>) => Promise<Response>;
};

let userCount = 0;

const client = { device: 'Firefox on Linux', network: '203.0.113.0/24', country: 'DE' };

/** Creates a user and starts a session, without checking a password, which takes 250 ms. */
export async function signInAs(
  t: TestBase,
  role: MemberRole,
  publisherId: number | null = role === 'operator' || role === 'advertiser' ? null : t.publisher.id,
  advertiserId: number | null = null,
): Promise<TestUser> {
  const email = `${typeof role === 'string' ? role : 'own-role'}-${++userCount}@example.com`;
  const user = await createUser(t.pool, {
    email,
    role,
    publisherId,
    advertiserId,
    passwordHash: 'scrypt$1$1$1$AA$AA',
    nowMs: t.deps.now(),
  });
  if (user === null) throw new Error('the address is taken');
  const token = await startSession(t.pool, { userId: user.id, client, previous: null, nowMs: t.deps.now() });
  const cookie = `perkwire_session=${token}`;
  return {
    userId: user.id,
    email,
    cookie,
    get: (path, headers = {}) => t.app.inject({ url: path, headers: { cookie, ...headers } }),
    post: (path, fields = {}) => postForm(t, path, { _csrf: csrfTokenOf(token), ...fields }, { cookie }),
  };
}

/** A page of the server at `base`, in a browser context of its own, which is signed in as the user. */
export async function openAs(
  browser: Browser,
  { cookie }: TestUser,
  base: string,
  path: string,
  options: BrowserContextOptions = {},
): Promise<Page> {
  const context = await newContext(browser, { locale: 'en-GB', viewport: { width: 1280, height: 860 }, ...options });
  const [name = '', value = ''] = cookie.split('=');
  await context.addCookies([{ name, value, url: base }]);
  const page = await context.newPage();
  await page.goto(base + path);
  return page;
}

/** A form as a browser submits it, with our own origin by default. */
export const postForm = (
  t: TestBase,
  path: string,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<Response> =>
  t.app.inject({
    method: 'POST',
    url: path,
    headers: { origin, 'content-type': 'application/x-www-form-urlencoded', ...headers },
    payload: new URLSearchParams(fields).toString(),
  });

/** The cookie a response sets, as a browser sends it back; null: none, or it is deleted. */
export function cookieFrom(answer: Response, name: string): string | null {
  const found = answer.cookies.find((cookie) => cookie.name === name);
  return found === undefined || found.value === '' ? null : `${found.name}=${found.value}`;
}

/** The CSRF token of a page's forms. */
export const csrfIn = (body: string): string => /name="_csrf" value="([^"]+)"/.exec(body)?.[1] ?? '';

/** What a refused form says at its fields. */
export const errorsIn = (body: string): string[] =>
  [...body.matchAll(/<p class="field-error"[^>]*>([^<]*)</g)].map(([, text = '']) => text);
