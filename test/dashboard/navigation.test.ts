import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readerLanguages } from '../../src/platform/i18n/languages.ts';
import { t as text } from '../../src/platform/i18n/messages.ts';
import { inLanguage } from '../../src/platform/i18n/reader.ts';
import { violations } from '../support/axe.ts';
import { closeContexts, newContext, openBrowser } from '../support/browser.ts';
import { openFromNavigation } from '../support/main-navigation.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { cookieFrom, openAs, signInAs, type TestUser } from './support.ts';

let t: TestApp;
let base: string;
let browser: Browser;
let other: number;
let operator: TestUser;

beforeAll(async () => {
  t = await createTestApp();
  base = await t.app.listen({ port: 0, host: '127.0.0.1' });
  browser = await openBrowser();
  operator = await signInAs(t, 'operator');
  const { rows } = await t.pool.query<{ id: number }>(
    "insert into publishers (sdk_id, name) values ('5ec0a1d5ec0a1d50', 'Second Shop') returning id",
  );
  other = rows[0]?.id ?? 0;
  await t.deps.catalog.refresh();
});
afterAll(async () => {
  await closeContexts(browser);
  await t.close();
});

const own = (path: string, publisherId = t.publisher.id): string => `/dashboard/p/${publisherId}${path}`;
const wordsOf = (markup: string): string =>
  markup
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();

/** Returns the markup of the main navigation. */
const navigationIn = (body: string): string => /<nav class="main-nav".*?<\/nav>/s.exec(body)?.[0] ?? '';

/** Returns the names of the first-level items. */
const itemsIn = (body: string): string[] => {
  const [, items = ''] = /^<nav[^>]*>(.*)<\/nav>$/s.exec(navigationIn(body)) ?? [];
  return items
    .replaceAll(/<\/summary>.*?<\/details>/gs, '</summary>')
    .split('<li>')
    .map(wordsOf)
    .filter((name) => name !== '');
};

/** Returns the paths of the links. */
const linksIn = (markup: string): string[] =>
  [...markup.matchAll(/<a [^>]*?href="([^"]+)"/g)].map(([, href = '']) => href);

/** Returns the paths of the links that are visible without expanding a group. */
const visibleLinksIn = (body: string): string[] =>
  linksIn(navigationIn(body).replaceAll(/<details>.*?<\/details>/gs, ''));

test('the navigation has eight first-level items for an operator, in both languages', async () => {
  const items = async (language: string) =>
    itemsIn((await operator.get(own('/overview'), { 'accept-language': language })).body);
  expect(await items('en')).toEqual([
    'Overview',
    'Alerts',
    'Offers',
    'Audience',
    'Measure',
    'Developers',
    'Settings',
    'Operator',
  ]);
  expect(await items('de')).toEqual([
    'Übersicht',
    'Meldungen',
    'Angebote',
    'Zielgruppe',
    'Auswertung',
    'Entwickler',
    'Einstellungen',
    'Betreiber',
  ]);
});

test('the navigation marks the open page, and expands only its group', async () => {
  const { body } = await operator.get(own('/campaigns/1'));
  expect(navigationIn(body)).toMatch(new RegExp(`href="${own('/campaigns')}" aria-current="page"`));
  expect(navigationIn(body).match(/aria-current/g)).toHaveLength(1);
  const visible = visibleLinksIn(body);
  for (const path of ['/overview', '/campaigns', '/offers', '/advertisers', '/drafts', '/languages', '/settings'])
    expect(visible).toContain(own(path));
  for (const path of ['/reports', '/audiences', '/live']) expect(visible).not.toContain(own(path));
  expect(visibleLinksIn((await operator.get(own('/overview'))).body)).toEqual(
    ['/overview', '/alerts', '/settings'].map((path) => own(path)),
  );
});

test('the settings have their own navigation, with a link back to the publisher', async () => {
  const { body } = await operator.get(own('/settings/themes/1'));
  const [back, ...links] = linksIn(navigationIn(body));
  expect(back).toBe(own('/overview'));
  expect(wordsOf(navigationIn(body))).toMatch(/^Back to Demo Shop Settings General /);
  expect(links.length).toBeGreaterThan(7);
  for (const link of links) expect(link).toMatch(/\/settings(\/|$)/);
});

test('the navigation shows each role only pages that it may open', async () => {
  for (const role of ['analyst', 'manager', 'admin', 'operator'] as const) {
    const user = await signInAs(t, role);
    const pages = [await user.get(own('/overview')), await user.get(own('/settings'))].map(({ body }) => body);
    const links = [...new Set(pages.flatMap((body) => linksIn(navigationIn(body))))];
    expect(links.length).toBeGreaterThan(15);
    for (const link of links) expect((await user.get(link)).statusCode, `${role} ${link}`).toBeLessThan(400);
    expect([role, links.includes(own('/settings/keys'))]).toEqual([role, role === 'admin' || role === 'operator']);
    expect([role, links.includes('/dashboard/operator/system')]).toEqual([role, role === 'operator']);
  }
});

test('a collapsed group shows the sum of the badges that its entries show', async () => {
  await t.pool.query(
    `insert into drafts (publisher_id, campaign_id, resource, row_id, subject, changes, base, note, state,
      proposer_kind, proposer_id, proposed_by, created_at, updated_at)
    select publisher_id, campaign_id, 'offers', id, title, '{"title": "Other"}', jsonb_build_object('title', title), '',
      'waiting', 'user', 0, 'ann@advertiser.example', now(), now()
    from offers where id = 1`,
  );
  const navigation = navigationIn((await operator.get(own('/overview'))).body);
  const [, group = '', entry = ''] =
    /<summary>(.*?)<\/summary>.*?href="[^"]*\/drafts">(.*?)<\/a>/s.exec(navigation) ?? [];
  expect([wordsOf(group), wordsOf(entry)]).toEqual([
    'Offers 1 drafts waiting or newly decided',
    'Drafts 1 drafts waiting or newly decided',
  ]);
});

describe('on account and operator pages', () => {
  const withCookie = (user: TestUser, path: string, value: string | number) =>
    user.get(path, { cookie: `${user.cookie}; perkwire_publisher=${value}` });

  test('operators keep the navigation of the publisher that they opened last', async () => {
    const opened = await operator.get(own('/overview', other));
    expect(cookieFrom(opened, 'perkwire_publisher')).toBe(`perkwire_publisher=${other}`);
    for (const path of ['/dashboard/account', '/dashboard/operator/publishers', '/dashboard/operator/nowhere']) {
      const { body } = await withCookie(operator, path, other);
      expect([path, linksIn(navigationIn(body)).includes(own('/campaigns', other))]).toEqual([path, true]);
      expect(body).toContain('<strong>Second Shop</strong>');
    }
    const { body } = await withCookie(operator, '/dashboard/operator/system', other);
    expect(visibleLinksIn(body)).toContain('/dashboard/operator/publishers');
    expect(visibleLinksIn(body)).not.toContain(own('/campaigns', other));
  });

  test('a cookie with an unknown or foreign publisher shows nothing of it', async () => {
    for (const value of ['999999', '0', '-1', 'x', '1e1', `${t.publisher.id}%00`]) {
      const { statusCode, body } = await withCookie(operator, '/dashboard/account', value);
      expect([value, statusCode, linksIn(navigationIn(body)).some((link) => link.includes('/p/'))]).toEqual([
        value,
        200,
        false,
      ]);
    }
    const admin = await signInAs(t, 'admin');
    const account = (await withCookie(admin, '/dashboard/account', other)).body;
    expect(account).not.toContain('Second Shop');
    expect(linksIn(navigationIn(account))).toContain(own('/campaigns'));
    expect((await withCookie(admin, '/dashboard', other)).headers.location).toBe(own('/overview'));
  });

  test('users of an advertiser keep its navigation', async () => {
    const user = await signInAs(t, 'advertiser', null, 1);
    const links = linksIn(navigationIn((await user.get('/dashboard/account')).body));
    expect(links).toEqual(linksIn(navigationIn((await user.get('/dashboard/a/1/campaigns')).body)));
    expect(links).toContain('/dashboard/a/1/reports');
    expect(links.filter((link) => !link.startsWith('/dashboard/a/1/'))).toEqual([]);
  });

  test('after the next sign-in, operators and members see the publisher that they opened last', async () => {
    const start = async (user: TestUser, value: string | number) =>
      (await withCookie(user, '/dashboard', value)).headers.location;
    expect(await start(operator, other)).toBe(own('/overview', other));
    expect(await start(operator, 999_999)).toBe('/dashboard/operator/publishers');
    const member = await signInAs(t, 'manager');
    await t.pool.query(
      `insert into memberships (user_id, role, publisher_id, created_at, joined_at)
      values ($1, 'analyst', $2, now(), now())`,
      [member.userId, other],
    );
    expect(await start(member, '')).toBe(own('/overview'));
    expect(await start(member, other)).toBe(own('/overview', other));
  });
});

describe('the search', () => {
  test('finds every page of the navigation by its name and its search words, in both languages', async () => {
    const entries = t.contributions.navigation.filter(({ group }) => group !== 'advertiser');
    expect(entries.length).toBeGreaterThan(25);
    const missing: string[] = [];
    for (const { text: name, words, path, group } of entries) {
      if (words === undefined) missing.push(`${path} has no search words`);
      const href = group === 'operator' ? `/dashboard${path}` : own(path);
      for (const language of readerLanguages) {
        const queries = inLanguage(language, () => [
          text(name),
          ...(words === undefined ? [] : text(words).split(', ')),
        ]);
        // The reader of the page has set the other language.
        const [reader = 'en'] = readerLanguages.filter((other) => other !== language);
        for (const query of queries) {
          const { body } = await operator.get(own(`/find?q=${encodeURIComponent(query)}`), {
            'accept-language': reader,
          });
          if (!linksIn(body).includes(href)) missing.push(`${query} in ${reader}`);
        }
      }
    }
    expect(missing).toEqual([]);
  });

  test('lists a page first if its name begins with the text, and "Add" pages only for users who may add', async () => {
    const find = async (user: TestUser, query: string) => linksIn((await user.get(own(`/find?q=${query}`))).body);
    const [manager, analyst] = [await signInAs(t, 'manager'), await signInAs(t, 'analyst')];
    await t.pool.query("update campaigns set name = 'Webhooks for breakfast' where id = 2");
    const [first, second] = await find(manager, 'webhooks');
    expect([first, second]).toEqual([own('/settings/webhooks'), own('/deliveries')]);
    expect(await find(manager, 'webhooks')).toContain(own('/campaigns/2'));
    expect((await find(manager, 'campaign'))[0]).toBe(own('/campaigns'));
    expect((await find(manager, 'add%20campaign'))[0]).toBe(own('/campaigns/new'));
    expect(await find(analyst, 'add%20campaign')).not.toContain(own('/campaigns/new'));
    expect(await find(manager, 'retry%20failed')).toContain(own('/deliveries'));
    expect(await find(manager, '2fa')).toContain('/dashboard/account/two-factor');
  });
});

describe('the navigation in the browser', () => {
  const open = (user: TestUser, path: string, options: BrowserContextOptions = {}): Promise<Page> =>
    openAs(browser, user, base, path, options);
  const isMarked = (page: Page, name: string) =>
    page.locator('.main-nav a[aria-current="page"]', { hasText: name }).waitFor();

  test('every area can be reached, including the settings and the way back', async () => {
    const page = await open(await signInAs(t, 'admin'), own('/overview'));
    for (const name of ['Campaigns', 'Audiences', 'Reports', 'Webhooks', 'Themes', 'Users', 'Deliveries', 'Overview']) {
      await openFromNavigation(page, name);
      await isMarked(page, name);
      expect(await violations(page)).toEqual([]);
    }
    await page.context().close();
  });

  test('works without JavaScript', async () => {
    const page = await open(await signInAs(t, 'analyst'), own('/overview'), { javaScriptEnabled: false });
    await openFromNavigation(page, 'Experiments');
    await isMarked(page, 'Experiments');
    await openFromNavigation(page, 'Placements');
    await isMarked(page, 'Placements');
    await openFromNavigation(page, 'Live requests');
    await isMarked(page, 'Live requests');
    await page.context().close();
  });

  test('scrolls to the open page, but not the content', async () => {
    const page = await open(operator, own('/live'), { viewport: { width: 1280, height: 420 } });
    await expect.poll(() => page.evaluate("document.querySelector('.sidebar').scrollTop")).toBeGreaterThan(0);
    const box = await page.locator('.sidebar [aria-current="page"]').boundingBox();
    expect((box?.y ?? 999) + (box?.height ?? 0)).toBeLessThanOrEqual(420);
    expect(await page.evaluate('scrollY')).toBe(0);
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to content');
    await page.context().close();
  });

  test('a phone shows the open publisher in the header, and the menu over the scrolled page', async () => {
    const options = { viewport: { width: 390, height: 740 }, reducedMotion: 'reduce' } as const;
    const page = await open(await signInAs(t, 'admin'), own('/settings'), options);
    await page.getByRole('banner').getByText('Demo Shop').waitFor();
    await page.evaluate('scrollTo(0, document.body.scrollHeight)');
    await page.getByRole('button', { name: 'Menu' }).click();
    const current = page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'General' });
    const box = await current.boundingBox();
    expect([(box?.y ?? -1) > 0, (box?.y ?? 999) < 740]).toEqual([true, true]);
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await current.waitFor({ state: 'hidden' });
    const search = page.getByRole('combobox', { name: 'Search' });
    await page.getByRole('banner').getByRole('button', { name: 'Search' }).click();
    await search.fill('typed');
    await page.keyboard.press('Escape');
    await search.waitFor({ state: 'hidden' });
    await page.getByRole('banner').getByRole('button', { name: 'Search' }).click();
    await search.fill('webhooks');
    await page.getByRole('option', { name: /^Webhooks\s+Developers/ }).click();
    await page.waitForURL(/\/settings\/webhooks/);
    await page.context().close();
  });

  test('lists pinned and recent pages until the user signs out', async () => {
    const [first, second] = [await signInAs(t, 'manager'), await signInAs(t, 'manager')];
    const page = await open(first, own('/campaigns/1'));
    const title = (await page.getByRole('heading', { level: 1 }).textContent()) ?? '';
    const pinned = page.getByRole('navigation', { name: 'Pinned' });
    const pin = page.getByRole('button', { name: 'Pin this page' });
    const optionsIn = (group: string) => page.getByRole('group', { name: group }).getByRole('option').allTextContents();
    const search = async () => {
      await page.keyboard.press('Control+k');
      await page.getByRole('group', { name: 'Pages' }).waitFor();
    };
    await pin.click();
    expect(await pin.getAttribute('aria-pressed')).toBe('true');
    await page.goto(base + own('/deliveries'));
    await page.goto(base + own('/reports'));
    expect(await pin.getAttribute('aria-pressed')).toBe('false');
    expect(await violations(page)).toEqual([]);
    await search();
    expect(await optionsIn('Pinned')).toEqual([`${title}Campaigns`]);
    expect(await optionsIn('Recent')).toEqual(['Deliveries']);
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await pinned.getByRole('link', { name: title }).click();
    await page.waitForURL(`**${own('/campaigns/1')}`);

    await page.goto(base + own('/nowhere'));
    expect(await pin.count()).toBe(0);
    // The session of the first user ends without a sign-out.
    const useAs = async ({ cookie }: TestUser) => {
      const [name = '', value = ''] = cookie.split('=');
      await page.context().addCookies([{ name, value, url: base }]);
    };
    await useAs(second);
    await page.goto(base + own('/offers'));
    await pin.waitFor();
    expect(await pinned.isVisible()).toBe(false);
    await search();
    expect(await page.getByRole('group', { name: 'Recent' }).count()).toBe(0);
    expect(await page.evaluate('JSON.stringify(localStorage)')).not.toContain('/campaigns/1');
    await page.keyboard.press('Escape');
    await pin.click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.waitForURL('**/sign-in');
    expect(await page.evaluate('localStorage.length')).toBe(0);
    await page.context().close();
  });

  test('pinned pages of another publisher are only in the search, with its name', async () => {
    const context = await newContext(browser, { locale: 'en-GB', viewport: { width: 1280, height: 860 } });
    const [name = '', value = ''] = operator.cookie.split('=');
    await context.addCookies([{ name, value, url: base }]);
    const page = await context.newPage();
    await page.goto(base + own('/offers', other));
    await page.getByRole('button', { name: 'Pin this page' }).click();
    await page.goto(base + own('/overview'));
    await page.getByRole('button', { name: 'Search' }).first().click();
    await page.getByRole('group', { name: 'Pinned' }).getByRole('option', { name: 'Offers Second Shop' }).waitFor();
    expect(await page.getByRole('navigation', { name: 'Pinned' }).count()).toBe(0);
    await context.close();
  });
});
