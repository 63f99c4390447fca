import type { LightMyRequestResponse as Response } from 'fastify';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { csrfTokenOf } from '../../src/accounts/access.ts';
import { startSession } from '../../src/accounts/sessions.ts';
import { createUser } from '../../src/accounts/users.ts';
import type { MemberRole } from '../../src/shell/context.ts';
import { newContext } from '../support/browser.ts';
import type { TestBase } from '../support/test-modules.ts';

export const origin = 'http://perks.test';

/** A signed-in user with a browser, which sends the cookie, the origin and, with every form, the CSRF token. */
export type TestUser = {
  userId: number;
  email: string;
  cookie: string;
  get: (path: string, headers?: Record<string, string>) => Promise<Response>;
  post: (path: string, fields?: FormFields) => Promise<Response>;
};

let userCount = 0;

const client = { device: 'Firefox on Linux', network: '203.0.113.0/24', country: 'DE' };

/** Creates a user and starts a session. Skips the password check, which takes 250 ms. */
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

/** Opens a page of the server at `base` in a separate browser context, signed in as the user. */
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

/** Form fields. A field such as a group of checkboxes can have several values. */
type FormFields = Readonly<Record<string, string | string[]>>;

/** Submits a form like a browser, by default with Perkwire's own origin. */
export const postForm = (
  t: TestBase,
  path: string,
  fields: FormFields,
  headers: Record<string, string> = {},
): Promise<Response> =>
  t.app.inject({
    method: 'POST',
    url: path,
    headers: { origin, 'content-type': 'application/x-www-form-urlencoded', ...headers },
    payload: new URLSearchParams(
      Object.entries(fields).flatMap(([name, values]) => [values].flat().map((value) => [name, value])),
    ).toString(),
  });

/**
 * Returns the cookie set by a response in the form in which a browser sends it back, or null if it is missing or
 * deleted.
 */
export function cookieFrom(answer: Response, name: string): string | null {
  const match = answer.cookies.find((cookie) => cookie.name === name);
  return match === undefined || match.value === '' ? null : `${match.name}=${match.value}`;
}

/** Returns the CSRF token of a page's forms. */
export const csrfIn = (body: string): string => /name="_csrf" value="([^"]+)"/.exec(body)?.[1] ?? '';

/** Returns the field errors of a rejected form. */
export const errorsIn = (body: string): string[] =>
  [...body.matchAll(/<p class="field-error"[^>]*>([^<]*)</g)].map(([, text = '']) => text);
