import { existsSync } from 'node:fs';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { firstOperatorLink } from '../../src/accounts/operators.ts';
import { hashPassword } from '../../src/accounts/passwords.ts';
import { transaction } from '../../src/platform/db/pool.ts';
import { enqueue } from '../../src/webhooks/outbox.ts';
import { type DemoServer, startDemoServer } from '../demo/support.ts';
import { violations } from '../support/axe.ts';
import { closeContexts, newContext, openBrowser, userAgent } from '../support/browser.ts';
import { openFromNavigation } from '../support/main-navigation.ts';
import { timeLimit } from '../support/time-limit.ts';
import { type Hook, startHook } from '../webhooks/dispatcher/support.ts';
import { openAs, signInAs } from './support.ts';
import { storedTexts, untranslatedTexts } from './untranslated.ts';

let demo: DemoServer;
let hook: Hook;
let hookStatus = 200;
let browser: Browser;
let context: BrowserContext;
let page: Page;
const pageErrors: string[] = [];

beforeAll(async () => {
  demo = await startDemoServer();
  hook = await startHook((response) => {
    response.statusCode = hookStatus;
    response.end();
  });
  browser = await openBrowser();
  context = await open({ viewport: { width: 1280, height: 860 } });
  page = await context.newPage();
  page.on('pageerror', (err) => pageErrors.push(String(err)));
  page.on('console', (message) => {
    if (message.type() === 'error') pageErrors.push(message.text());
  });
});
afterAll(async () => {
  await closeContexts(browser);
  await hook?.close();
  await demo?.close();
});

const open = (options: BrowserContextOptions): Promise<BrowserContext> =>
  newContext(browser, { locale: 'en-GB', ...options });

/** Replaces a screenshot in the documentation if UPDATE_IMAGES=1 is set. */
async function screenshot(name: string): Promise<void> {
  const path = `docs/images/${name}.png`;
  if (!existsSync(path) || process.env.UPDATE_IMAGES !== undefined) await page.screenshot({ path });
}

const press = (name: string) => page.getByRole('button', { name, exact: true }).click();
const follow = (name: string) => page.getByRole('link', { name, exact: true }).first().click();
const menu = (name: string) => openFromNavigation(page, name);
const message = (text: string) => page.getByRole('status').filter({ hasText: text }).first().waitFor();

describe('setup from an empty database, in the browser only', () => {
  let base = '';
  let key = '';
  let answer: {
    data: { session_id: string; offers: { pixel: string; campaign_id: number; image: string; title: string }[] };
  };

  test('creates the first operator by the one-time link', async () => {
    await page.goto((await firstOperatorLink(demo.t.pool, demo.url, Date.now())) ?? '');
    await page.getByLabel('E-mail address').fill('ada@example.com');
    await page.getByLabel('New password', { exact: true }).fill('six calm badgers');
    await page.getByLabel('Repeat new password').fill('six calm badgers');
    await press('Create account');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await press('Sign out');
    await page.getByLabel('E-mail address').fill('ada@example.com');
    await page.getByLabel('Password').fill('six calm badgers');
    await press('Sign in');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
  });

  test('creates a publisher with User Selected Perks, and an API key', async () => {
    await menu('Publishers');
    await follow('Add publisher');
    await page.getByLabel('Name', { exact: true }).fill('Willow & Wren');
    await page.getByLabel('Time zone').fill('Europe/Berlin');
    await page.getByLabel('User Selected Perks').check();
    await press('Save');
    await message('Willow & Wren created');
    base = new URL(page.url()).pathname.replace('/settings/keys', '');
    await page.getByLabel('Name', { exact: true }).fill('Checkout server');
    await press('Create key');
    key = await page.locator('.copyable code').innerText();
    expect(key).toMatch(/^pk_/);
  });

  test('creates a theme with User Selected Perks, with a live preview', async () => {
    await menu('Themes');
    await follow('Add theme');
    await page.getByLabel('Name', { exact: true }).fill('Perks');
    await page.getByRole('checkbox', { name: 'User Selected Perks' }).check();
    await page
      .locator('main summary')
      .filter({ hasText: /^Text$/ })
      .click();
    await page.getByLabel('Heading', { exact: true }).first().fill('Choose your thank-you');
    await page.frameLocator('iframe').getByText('Choose your thank-you').waitFor();
    await press('Save');
    await message('Perks saved');
  });

  test('creates an advertiser, a campaign and an offer with an image, with a live preview', async () => {
    await menu('Offers');
    await follow('Add offer');
    await page.getByText('Add a campaign first').waitFor();
    await menu('Advertisers');
    await follow('Add advertiser');
    await page.getByLabel('Name', { exact: true }).fill('Bramble Bakery');
    await press('Save');
    await message('Bramble Bakery saved');
    await menu('Campaigns');
    await follow('Add campaign');
    await page.getByLabel('Name', { exact: true }).fill('Sourdough by post');
    await page.getByLabel('Landing page').fill('https://bramble.example/sourdough');
    await page.getByLabel('Amount').fill('1.20');
    await press('Save');
    await message('Sourdough by post saved');
    await page.getByLabel('Headline', { exact: true }).fill('A first loaf on us');
    await page
      .getByLabel('Description', { exact: true })
      .fill('Baked this morning, at your door tomorrow. Skip a week whenever you like.');
    await page.getByLabel('Yes button', { exact: true }).fill('Bake me one');
    const preview = page.frameLocator('iframe');
    await preview.getByText('A first loaf on us').first().waitFor();
    await page.getByRole('button', { name: 'Single', exact: true }).click();
    await preview.getByText('Bake me one').first().waitFor();
    expect(await page.locator('#f-title-count').innerText()).toBe('18 / 90 ideal 40');
    await press('Save');
    await message('Offer saved');
    await page.locator('#creatives').getByLabel('File').setInputFiles('demo/images/basilwick-bowl.jpg');
    await press('Upload');
    await message('Image saved');
    const isSeen = 'document.querySelector("#creatives img").naturalWidth > 0';
    await page.locator('#creatives img').scrollIntoViewIfNeeded();
    await expect.poll(() => page.evaluate(isSeen)).toBe(true);
    await page.getByRole('button', { name: 'Dismiss' }).click();
    await page.evaluate('scrollTo(0, 0); document.activeElement.blur()');
    await expect
      .poll(() =>
        preview
          .locator('img')
          .first()
          .evaluate((image: unknown) => (image as { naturalWidth: number }).naturalWidth > 0),
      )
      .toBe(true);
    await screenshot('dashboard-offer');
  });

  test('tests and saves a webhook endpoint', async () => {
    await menu('Webhooks');
    await page.getByLabel('URL').fill(hook.url);
    await press('Test endpoint');
    await page.getByText('Test delivered.').waitFor();
    expect(hook.requests.at(-1)?.headers['perkwire-test']).toBe('1');
    await press('Save');
    await page.getByText('Signing secret created.').waitFor();
    hook.requests.length = 0;
  });

  test('shows every call live, including rejected ones with a remedy, and can be filtered and paused', async () => {
    await menu('Integration');
    await page.getByText('Waiting for the first API call').waitFor();
    await menu('Live requests');
    await page.getByText('Waiting for the first API call').waitFor();
    answer = (await (
      await fetch(`${demo.url}/native/v4/offers.json?api_key=${key}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'user-agent': userAgent },
        body: JSON.stringify({ placement: 'checkout', pub_user_id: 'shopper-7', ua: userAgent }),
      })
    ).json()) as typeof answer;
    expect(answer.data.offers).toMatchObject([
      { title: 'A first loaf on us', image: expect.stringContaining('/images/') },
    ]);
    const call = page.locator(`#request-${answer.data.session_id}`);
    await call.filter({ hasText: 'checkout' }).waitFor();
    await fetch(answer.data.offers[0]?.pixel ?? '', { headers: { 'user-agent': userAgent } });
    await call.filter({ hasText: '1 impression' }).waitFor();
    const usp = (path: string, body: object) =>
      fetch(`${demo.url}/sdk/v4/usp/${path}?api_key=${key}&pub_user_id=shopper-7`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    expect((await usp(`${answer.data.session_id}/${answer.data.offers[0]?.campaign_id}/select.json`, {})).status).toBe(
      200,
    );
    expect((await usp(`session/${answer.data.session_id}.json`, { action: 'wrap' })).status).toBe(200);
    await call.filter({ hasText: 'confirmed, 1 perk' }).waitFor();
    const refused = await fetch(`${demo.url}/native/v4/offers.json?api_key=${key}&loyaltyboost=7`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ placement: 'checkout' }),
    });
    expect(refused.status).toBe(400);
    const note = page.locator('ol.stream > li').filter({ hasText: 'loyaltyboost' }).filter({ hasText: 'rejected' });
    await note.waitFor();
    await note.getByText('Request and response').click();
    await note.getByText('"code": "invalid_request"').waitFor();
    expect(await note.innerText()).not.toContain(key);
    await page.getByLabel('Result', { exact: true }).selectOption('Rejected');
    await call.waitFor({ state: 'hidden' });
    expect(await note.isVisible()).toBe(true);
    await page.getByLabel('Result', { exact: true }).selectOption('All requests');
    await page.getByLabel('Filter live requests').fill(answer.data.session_id);
    await note.waitFor({ state: 'hidden' });
    await page.getByLabel('Filter live requests').fill('');
    await note.waitFor();
    await press('Pause');
    const later = await fetch(`${demo.url}/native/v4/offers.json?api_key=${key}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ placement: 'checkout', pub_user_id: 'shopper-8' }),
    });
    const { session_id: laterId } = ((await later.json()) as typeof answer).data;
    await page.getByRole('button', { name: /^Continue \(/ }).waitFor();
    expect(await page.locator(`#request-${laterId}`).count()).toBe(0);
    await page.getByRole('button', { name: /^Continue/ }).click();
    await page.locator(`#request-${laterId}`).waitFor();
    await screenshot('dashboard-live');
  });

  test('shows the delivery with its payload, and redelivers it', async () => {
    await menu('Deliveries');
    await page.getByRole('cell', { name: 'usp.selection' }).first().waitFor();
    await page.getByRole('table').getByRole('link').first().click();
    await page.locator('#delivery').getByText('delivered').first().waitFor();
    await page.getByText('"pub_user_id": "shopper-7"').waitFor();
    await press('Redeliver');
    await message('Attempt scheduled');
    await expect.poll(() => page.locator('.timeline li').count()).toBe(2);
    await page.locator('.timeline summary').first().click();
    await screenshot('dashboard-delivery');
    await expect.poll(() => hook.requests.length).toBe(2);
    expect(hook.requests[0]?.body).toEqual(hook.requests[1]?.body);
    expect(hook.requests[0]?.headers['webhook-id']).toBe(hook.requests[1]?.headers['webhook-id']);
  });

  test('delivers all waiting webhooks by one button after the receiver was down for 8 hours', async () => {
    hookStatus = 503;
    hook.requests.length = 0;
    const publisherId = Number(base.split('/').at(-1));
    const { pool } = demo.t;
    const delivery = {
      publisherId,
      event: 'usp.selection',
      sessionId: null,
      pubUserId: null,
      dev: false,
      nowMs: Date.now(),
      payload: () => Buffer.from('{"body":{}}'),
    };
    const ids = await transaction(pool, (executor) =>
      enqueue(
        executor,
        Array.from({ length: 40 }, () => delivery),
      ),
    );
    await expect.poll(() => hook.requests.length).toBeGreaterThan(0);
    // Postpone the next attempts and the next probe, as the retry schedule and the circuit breaker would.
    const waitS = "now() + interval '2 h'";
    await expect
      .poll(async () => {
        const { rowCount } = await pool.query(
          `update delivery_queue set due_at = ${waitS} where delivery_id = any($1) and lease_until is null`,
          [ids],
        );
        return rowCount;
      })
      .toBe(ids.length);
    await pool.query(
      `update endpoint_health set breaker_state = 'open', times_opened = 6, open_until = ${waitS}
      where endpoint_id in (select id from webhook_endpoints where publisher_id = $1)`,
      [publisherId],
    );
    hookStatus = 200;
    hook.requests.length = 0;
    await menu('Webhooks');
    await page.getByText('sending paused').waitFor();
    await page.getByText('40 deliveries').first().waitFor();
    await press('Retry now');
    await page.getByRole('dialog').getByRole('button', { name: 'Retry now' }).click();
    await page.getByText('40 of 40').waitFor();
    const received = () => new Set(hook.requests.map(({ headers }) => headers['webhook-id']));
    await expect.poll(() => received().size).toBe(40);
    expect(hook.requests.length).toBe(40);
    await menu('Webhooks');
    await expect
      .poll(async () => {
        await page.reload();
        return page.getByText('0 deliveries').count();
      })
      .toBe(2);
    expect(await page.getByRole('button', { name: 'Retry now' }).count()).toBe(0);
  });

  test('causes no error in the browser', () => {
    expect(pageErrors).toEqual([]);
    expect(base).toMatch(/^\/dashboard\/p\/\d+$/);
  });
});

const desktop = { width: 1280, height: 860 };
/** With reduced motion, colours don't change over time. */
const phone: BrowserContextOptions = { viewport: { width: 360, height: 740 }, reducedMotion: 'reduce' };

/**
 * Returns the problems of a page that was opened on a phone: on the phone, on a desktop, and in dark mode, which only
 * changes colours.
 * @param without selectors of parts that were checked on another page
 */
async function problemsOn(tab: Page, without: readonly string[]): Promise<string[]> {
  const listProblems = async (device: string, rules?: string[]): Promise<string[]> => {
    const screen = (tab.viewportSize() ?? desktop).width;
    const broken = await violations(tab, { rules, without });
    const width = (await tab.evaluate('document.documentElement.scrollWidth')) as number;
    return [...broken, ...(width > screen ? [`${width} pixels wide`] : [])].map((problem) => `${device}: ${problem}`);
  };
  const narrow = await listProblems('360 pixels wide');
  await tab.setViewportSize(desktop);
  const light = await listProblems('light');
  await tab.emulateMedia({ colorScheme: 'dark' });
  const dark = await listProblems('dark', ['color-contrast', 'link-in-text-block']);
  await tab.emulateMedia({ colorScheme: 'light' });
  await tab.setViewportSize(phone.viewport ?? desktop);
  return [...narrow, ...light, ...dark];
}

describe('the dashboard for all users', () => {
  const paths = [
    '/overview',
    '/reports?range=30d&view=bar&by=offer&placement=checkout',
    '/reports?range=365d&interval=hour',
    '/rows?range=365d&metrics=clicks&status=all',
    '/story',
    '/alerts',
    '/metric-alerts',
    '/metric-alerts/new',
    '/offers',
    '/offers/1',
    '/offers/new',
    '/offers/1/languages?tag=de',
    '/languages?tag=de',
    '/why?offer=1',
    '/why?user=nobody&offer=2',
    '/campaigns',
    '/campaigns/1',
    '/campaigns/1/forecast',
    '/campaigns/1?edit=basics',
    '/campaigns/1?edit=landing',
    '/campaigns/1?edit=payout',
    '/campaigns/1?edit=schedule',
    '/campaigns/1?edit=budget',
    '/campaigns/1?edit=targeting',
    '/campaigns/1?edit=users',
    '/campaigns/1?edit=priority',
    '/campaigns/new',
    '/campaigns/removed',
    '/campaigns/1/publishers',
    '/campaigns/1/publishers?to=1',
    '/advertisers',
    '/advertisers/1',
    '/advertisers/1/users',
    '/drafts',
    '/coupons',
    '/event-types',
    '/event-types/usp.selection',
    '/settings/portal-links',
    '/experiments',
    '/experiments/new',
    '/experiments/new?step=traffic&name=Fewer&arm1.offers_per_response=1',
    '/experiments/new?step=check&name=Fewer&arm1.offers_per_response=1',
    '/integration',
    '/live',
    '/api-log',
    '/data-files',
    '/deliveries',
    '/settings',
    '/settings/themes',
    '/settings/themes/1',
    '/settings/placements',
    '/settings/placements/checkout',
    '/settings/controls',
    '/settings/exchange-rates',
    '/settings/perk-messages',
    '/audiences',
    '/settings/sources',
    '/settings/sequence-rules',
    '/settings/sequence-rules/new',
    '/settings/keys',
    '/settings/webhooks/conversion',
    '/settings/users',
    '/settings/activity',
    '/settings/privacy',
  ].map((path) => `/dashboard/p/1${path}`);
  /** Returns pages of the publisher whose receiver was down. They contain charts, attempts and a redelivery. */
  const pathsOfDeliveries = async (): Promise<string[]> => {
    const { rows } = await demo.t.pool.query<{ publisher: number; job: string; delivery: string }>(
      `select publisher_id as publisher, id as job,
        (select id from deliveries d where d.publisher_id = j.publisher_id order by id limit 1) as delivery
      from redelivery_jobs j order by id limit 1`,
    );
    return rows.flatMap(({ publisher, job, delivery }) =>
      ['/settings/webhooks/usp.selection', `/deliveries/${delivery}`, `/deliveries/replays/${job}`].map(
        (path) => `/dashboard/p/${publisher}${path}`,
      ),
    );
  };
  /** Fragments that htmx and the search dialog load into pages. */
  const fragments = [
    '/find',
    '/find?q=basil',
    '/find?q=shopper-7',
    '/setup',
    '/overview/live',
    '/overview/offers',
    '/reports/funnel',
    '/rows/perk-count',
  ].map((path) => `/dashboard/p/1${path}`);
  const others = [
    '/dashboard/sign-in',
    '/dashboard/account',
    '/dashboard/account/two-factor',
    '/dashboard/account/passkeys',
    '/dashboard/operator/publishers',
    '/dashboard/operator/users',
    '/dashboard/operator/activity',
    '/dashboard/operator/system',
    '/dashboard/operator/data-files',
    '/dashboard/nowhere',
    '/docs/guides/start',
    '/docs/guides/fetch-offers',
  ];

  // Long timeout: every page is checked three times.
  test('has no axe violations and is never wider than the screen at 360 pixels, in light and dark mode', {
    timeout: timeLimit(300_000),
  }, async () => {
    const tabs = {
      signedIn: await (await open({ ...phone, storageState: await context.storageState() })).newPage(),
      anonymous: await (await open(phone)).newPage(),
    };
    const problems: string[] = [];
    // The sidebar is the same on all pages of an area, so it is only checked on the first one.
    const areas = new Set<string>();
    for (const path of [...paths, ...(await pathsOfDeliveries()), ...others]) {
      const area = path.split('/').slice(1, 3).join('/');
      const without = areas.has(area) ? ['#sidebar'] : [];
      areas.add(area);
      const tab = path.endsWith('sign-in') ? tabs.anonymous : tabs.signedIn;
      const answer = await tab.goto(demo.url + path);
      if (![200, 422].includes(answer?.status() ?? 0) && !path.endsWith('nowhere')) problems.push(`${path}: not found`);
      problems.push(...(await problemsOn(tab, without)).map((problem) => `${path}: ${problem}`));
    }
    expect(problems).toEqual([]);
    await Promise.all([tabs.signedIn.context().close(), tabs.anonymous.context().close()]);
  });

  test('takes every text on every page from the message files', async () => {
    const { cookie } = await signInAs(demo.t, 'operator');
    const stored = await storedTexts(demo.t.pool);
    const tab = await context.newPage();
    const untranslatedLines: string[] = [];
    for (const path of [...paths, ...fragments, ...(await pathsOfDeliveries()), ...others]) {
      // Guides are only available in English.
      if (path.startsWith('/docs/')) continue;
      const from = path.endsWith('sign-in') ? '' : cookie;
      const texts = await untranslatedTexts(tab, demo.url + path, from, stored);
      untranslatedLines.push(...texts.map((text) => `${path}: ${text}`));
    }
    expect([...new Set(untranslatedLines)]).toEqual([]);
    await tab.close();
  });

  test('asks before leaving a page with unsaved edits, and not after saving', async () => {
    const signedIn = await open({ storageState: await context.storageState() });
    const tab = await signedIn.newPage();
    const questions: string[] = [];
    tab.on('dialog', (dialog) => {
      questions.push(dialog.type());
      return questions.length === 1 ? dialog.dismiss() : dialog.accept();
    });
    await tab.goto(`${demo.url}/dashboard/p/1/advertisers/1`);
    await tab.getByLabel('Name').fill('Basilwick Kitchens');
    await tab.getByRole('link', { name: 'Offers', exact: true }).first().click();
    await expect.poll(() => questions).toEqual(['beforeunload']);
    expect(await tab.getByLabel('Name').inputValue()).toBe('Basilwick Kitchens');
    await tab.getByRole('button', { name: 'Save' }).first().click();
    await tab.getByRole('status').filter({ hasText: 'saved' }).waitFor();
    await tab.getByRole('link', { name: 'Offers', exact: true }).first().click();
    await tab.waitForURL(/offers$/);
    expect(questions).toEqual(['beforeunload']);
    await signedIn.close();
  });

  test('a manager builds a campaign with a day-part, caps, a condition and an exclusion without JSON', async () => {
    const manager = await signInAs(demo.t, 'manager', 1);
    const tab = await openAs(browser, manager, demo.url, '/dashboard/p/1/campaigns/new');
    const button = (text: string) => tab.getByRole('button', { name: text, exact: true });
    const field = (label: string) => tab.getByLabel(label, { exact: true });
    const edit = (section: string) => tab.getByRole('link', { name: `Edit: ${section}`, exact: true }).click();
    const save = async (section: string) => {
      await button('Save').click();
      await tab.getByRole('region', { name: section }).getByText(`${section} saved.`).waitFor();
    };
    await field('Name').fill('Lunch break');
    await field('Landing page').fill('https://basilwick.example/lunch');
    await field('Amount').fill('0.8');
    await field('Headline').fill('A box for lunch');
    await button('Save').click();
    await tab.getByRole('status').filter({ hasText: 'Lunch break saved' }).waitFor();
    await tab.getByRole('region', { name: 'Offers' }).getByRole('link', { name: 'A box for lunch' }).waitFor();

    await edit('Targeting');
    await field('Countries').fill('germ');
    await tab.getByRole('option', { name: 'Germany DE' }).click();
    await field('Excluded placements').fill('chekout');
    await field('Excluded placements').press('Enter');
    await tab.getByText('chekout (no requests yet)').waitFor();
    await save('Targeting');
    await edit('Schedule');
    for (const hour of ['Monday 12:00', 'Monday 13:00', 'Friday 12:00', 'Friday 13:00']) await field(hour).check();
    await save('Schedule');
    await edit('Users and frequency');
    await button('Add condition').click();
    await field('Attribute').fill('cart_total');
    await field('Comparison').selectOption({ label: 'is at least' });
    await field('Value').fill('50');
    await button('Add frequency cap').click();
    await field('Maximum').fill('3');
    await field('Period').fill('1');
    await button('Add frequency cap').click();
    await button('Remove: Frequency cap 2').click();
    await expect.poll(() => tab.getByLabel('Counted per').count()).toBe(1);
    await save('Users and frequency');
    await edit('Budget and goal');
    await button('Add budget or total cap').click();
    const budget = tab.getByRole('group', { name: 'Budget or total cap 1' });
    await budget.getByLabel('Maximum').fill('0');
    await budget.getByLabel('Metric').selectOption('budget');
    await button('Save').click();
    const summary = tab.getByRole('alert');
    await summary.getByRole('link', { name: 'Budget or total cap 1, maximum' }).waitFor();
    await budget.getByLabel('Maximum').fill('500');
    await save('Budget and goal');
    await edit('Priority and ranking');
    await field('Exclusion groups').fill('lunch');
    await save('Priority and ranking');
    await edit('Landing page');
    await field('URL parameter for the click ID').fill('click id');
    await button('Save').click();
    await summary.getByRole('link', { name: 'URL parameter for the click ID' }).waitFor();
    await field('URL parameter for the click ID').fill('click_id');
    await save('Landing page');
    const { rows } = await demo.t.pool.query("select rules from campaigns where name = 'Lunch break'");
    expect(rows[0].rules).toEqual({
      targeting: { countries: { include: ['DE'] }, placements: { exclude: ['chekout'] } },
      schedule: { hours: [{ days: [1, 5], from: '12:00', to: '14:00' }] },
      conditions: { key: 'cart_total', op: 'gte', value: 50 },
      frequency_caps: [{ scope: 'campaign', event: 'impression', limit: 3, window_minutes: 1440 }],
      total_caps: [{ metric: 'budget', per: 'hour', limit: 500 }],
      exclusion_groups: ['lunch'],
    });
    await tab.context().close();
  });

  test('form errors get the focus, unless the user is already filling in a field', async () => {
    const manager = await signInAs(demo.t, 'manager', 1);
    const tab = await openAs(browser, manager, demo.url, '/dashboard/p/1/campaigns/new');
    const save = tab.getByRole('button', { name: 'Save', exact: true });
    const errors = tab.getByRole('alert').getByRole('link', { name: 'Name', exact: true });
    const focused = () => tab.evaluate('document.activeElement.role ?? document.activeElement.name');
    const hasScript = () => tab.evaluate("typeof message === 'function'").catch(() => null); // null: between pages
    await save.click();
    await errors.waitFor();
    await expect.poll(focused).toBe('alert');
    let load = () => {};
    const isFilledIn = new Promise<void>((resolve) => {
      load = resolve;
    });
    await tab.route(/dashboard[^/]*\.js/, (route) => isFilledIn.then(() => route.continue()));
    await save.click();
    await expect.poll(hasScript).toBe(false);
    await errors.waitFor();
    await tab.getByLabel('Name', { exact: true }).fill('Lunch');
    load();
    await expect.poll(hasScript).toBe(true);
    expect(await focused()).toBe('name');
    await tab.context().close();
  });

  test('a session that expires during editing loses no input and saves nothing by itself', async () => {
    const own = await open({ viewport: { width: 1280, height: 860 } });
    const tab = await own.newPage();
    const signIn = async () => {
      await tab.getByLabel('E-mail address').fill('ada@example.com');
      await tab.getByLabel('Password').fill('six calm badgers');
      await tab.getByRole('button', { name: 'Sign in', exact: true }).click();
    };
    // Use a cheap hash: checking the account's original password takes 250 ms.
    const cheap = await hashPassword('six calm badgers', { cost: { logN: 4, r: 8, p: 1 } });
    await demo.t.pool.query("update users set password_hash = $1 where email = 'ada@example.com'", [cheap]);
    // The estimate request next to the form would also detect that the session has ended, so it is blocked until the
    // test needs it.
    await tab.route('**/campaigns/estimate*', (route) =>
      route.request().postData()?.includes('Overtime') ? route.continue() : route.fulfill({ status: 204 }),
    );
    await tab.goto(`${demo.url}/dashboard/p/1/campaigns/1?edit=users`);
    await signIn();
    const stored = async () => (await demo.t.pool.query('select rules from campaigns where id = 1')).rows;
    const before = await stored();
    const condition = tab.getByLabel('Value', { exact: true });
    const addCondition = tab.getByRole('button', { name: 'Add condition', exact: true });
    await addCondition.click();
    await condition.fill('Typed “for long” & kept');
    await tab.getByRole('button', { name: 'Add frequency cap', exact: true }).click();
    const cap = tab.getByRole('group', { name: /^Frequency cap \d$/ }).last();
    await cap.getByLabel('Maximum').fill('321');
    const endSession = () =>
      demo.t.pool.query('delete from user_sessions where id = (select max(id) from user_sessions)');
    await endSession();
    await tab.getByRole('button', { name: 'Save', exact: true }).first().click();
    await tab.waitForURL(/sign-in/);
    await signIn();
    await tab.getByText('Your input has been restored').waitFor();
    expect(await condition.inputValue()).toBe('Typed “for long” & kept');
    expect(await cap.getByLabel('Maximum').inputValue()).toBe('321');
    expect(await stored()).toEqual(before);
    await tab.getByRole('button', { name: 'Remove: Condition 1' }).click();
    await condition.waitFor({ state: 'detached' });
    await cap.getByRole('button', { name: /^Remove/ }).click();
    await cap.waitFor({ state: 'detached' });
    await tab.getByRole('button', { name: 'Save', exact: true }).first().click();
    await tab.getByRole('status').filter({ hasText: 'saved' }).waitFor();
    await tab.getByRole('link', { name: 'Edit: Users and frequency' }).click();
    await addCondition.click();
    await condition.waitFor();
    await endSession();
    await condition.fill('Overtime');
    await tab.waitForURL(/sign-in/);
    await signIn();
    await tab.getByText('Your input has been restored').waitFor();
    expect(await condition.inputValue()).toBe('Overtime');

    const forms = [
      { path: '/settings', field: 'Privacy policy URL', typed: 'https://basilwick.example/privacy', button: 'Save' },
      { path: '/settings/keys', field: 'Name', typed: 'Till 4', button: 'Create key' },
      { path: '/settings/themes/1', field: 'Name', typed: 'Evening', button: 'Save' },
      { path: '/settings/users', field: 'E-mail address', typed: 'bo@basilwick.example', button: 'Invite' },
      { path: '/settings/webhooks/usp.selection', field: 'Timeout (seconds)', typed: '7', secret: 'Headers' },
      { path: '/alerts', field: 'Name', typed: '#checkout', button: /^Add and send/, secret: 'Webhook URL' },
    ];
    for (const { path, field, typed, button = 'Save', secret } of forms) {
      await tab.goto(`${demo.url}/dashboard/p/1${path}`);
      await tab.evaluate(`for (const part of document.querySelectorAll('main details')) {
        part.removeAttribute('name');
        part.open = true;
      }`);
      await tab.getByLabel(field, { exact: true }).fill(typed);
      const stored = secret === undefined ? '' : await tab.getByLabel(secret, { exact: true }).inputValue();
      if (secret !== undefined) await tab.getByLabel(secret, { exact: true }).fill('https://x.example/T0/s3cret');
      await endSession();
      await tab.getByRole('main').getByRole('button', { name: button, exact: true }).first().click();
      await tab.waitForURL(/sign-in/);
      expect(await tab.evaluate('JSON.stringify(sessionStorage)'), path).not.toContain('s3cret');
      await signIn();
      await tab
        .getByText(`Your input has been restored${secret === undefined ? '' : ' but not saved yet. Enter'}`)
        .waitFor();
      expect(await tab.getByLabel(field, { exact: true }).inputValue(), path).toBe(typed);
      if (secret !== undefined) expect(await tab.getByLabel(secret, { exact: true }).inputValue()).toBe(stored);
    }
    await own.close();
  });

  test('a form that waited for a confirmation is saved, and not restored as unsaved input', async () => {
    const own = await open({ viewport: { width: 1280, height: 860 } });
    const tab = await own.newPage();
    await tab.goto(`${demo.url}/dashboard/p/1/settings/keys`);
    await tab.getByLabel('E-mail address').fill('ada@example.com');
    await tab.getByLabel('Password').fill('six calm badgers');
    await tab.getByRole('button', { name: 'Sign in', exact: true }).click();
    await tab.getByLabel('Name', { exact: true }).fill('Till 5');
    await demo.t.pool.query("update user_sessions set confirmed_at = created_at - interval '1 day'");
    await tab.getByRole('button', { name: 'Create key', exact: true }).click();
    await tab.getByLabel('Current password').fill('six calm badgers');
    await tab.getByRole('button', { name: 'Confirm and continue' }).click();
    await tab.getByText('API key created.').waitFor();
    expect(await tab.getByText('Your input has been restored').count()).toBe(0);
    expect(await tab.getByLabel('Name', { exact: true }).inputValue()).toBe('');
    await own.close();
  });

  test('a manager removes the wrong campaign and restores it', async () => {
    const manager = await signInAs(demo.t, 'manager', 1);
    const countOffers = async () => {
      const fetched = await fetch(`${demo.url}/native/v4/offers.json?api_key=demo-key&campaignId=1`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ placement: 'checkout' }),
      });
      return ((await fetched.json()) as { data: { offers: unknown[] } }).data.offers.length;
    };
    expect(await countOffers()).toBe(1);
    const tab = await openAs(browser, manager, demo.url, '/dashboard/p/1/campaigns/1');
    const title = await tab.getByRole('heading', { level: 1 }).innerText();
    await tab.getByRole('button', { name: 'Remove', exact: true }).click();
    await tab.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await tab.getByRole('status').filter({ hasText: 'removed' }).waitFor();
    expect(await countOffers()).toBe(0);
    await tab.getByRole('link', { name: 'Removed', exact: true }).click();
    await tab.getByRole('row').filter({ hasText: title }).getByRole('button', { name: 'Restore' }).click();
    await tab.getByRole('status').filter({ hasText: 'restored' }).waitFor();
    expect(await tab.getByRole('heading', { level: 1 }).innerText()).toBe(title);
    expect(await countOffers()).toBe(1);
    await tab.context().close();
  });

  test('search, lists and shortcuts work by keyboard, and filters and columns are remembered', async () => {
    const signedIn = await open({ viewport: { width: 1280, height: 860 }, storageState: await context.storageState() });
    const tab = await signedIn.newPage();
    const selectedOption = tab.locator('#found').getByRole('option', { selected: true });
    const search = async (key: string, text: string, result: string) => {
      await tab.keyboard.press(key);
      await tab.getByRole('combobox', { name: 'Search' }).fill(text);
      await tab.getByRole('option', { name: result }).first().waitFor();
      await expect.poll(() => selectedOption.count()).toBe(1);
    };
    await tab.goto(`${demo.url}/dashboard/p/1/overview`);
    await search('/', 'basil', 'Basilwick');
    expect(await violations(tab)).toEqual([]);
    const first = (await selectedOption.getAttribute('href')) ?? '';
    await tab.keyboard.press('ArrowDown');
    await expect.poll(() => selectedOption.getAttribute('href')).not.toBe(first);
    await tab.keyboard.press('ArrowUp');
    await tab.keyboard.press('Enter');
    await tab.waitForURL(demo.url + first);
    await search('/', 'shopper-7', 'Webhook deliveries for user “shopper-7”');
    await tab.keyboard.press('Escape');
    const { rows } = await demo.t.pool.query('select id, publisher_id from deliveries order by id limit 1');
    const home = `${demo.url}/dashboard/p/${rows[0].publisher_id}`;
    await tab.goto(`${home}/deliveries`);
    await search('Control+k', rows[0].id, 'usp.selection delivery');
    await tab.keyboard.press('Enter');
    await tab.waitForURL(`${home}/deliveries/${rows[0].id}`);

    await tab.goto(`${demo.url}/dashboard/p/1/campaigns`);
    const names = tab.locator('main tbody tr a strong');
    await tab.keyboard.press('j');
    await tab.keyboard.press('j');
    await tab.keyboard.press('ArrowDown');
    await tab.keyboard.press('k');
    const second = await names.nth(1).innerText();
    expect(await tab.evaluate('document.activeElement.innerText')).toBe(second);
    await tab.keyboard.press('Enter');
    await tab.getByRole('heading', { level: 1, name: second }).waitFor();
    await tab.keyboard.press('?');
    await tab.getByRole('dialog', { name: 'Keyboard shortcuts' }).getByText('Go to the next or previous row').waitFor();
    await tab.keyboard.press('Escape');

    await tab.goto(`${demo.url}/dashboard/p/1/campaigns?q=pantry`);
    await tab.getByText('Columns', { exact: true }).click();
    await tab.getByLabel('Category').uncheck();
    await openFromNavigation(tab, 'Offers');
    await openFromNavigation(tab, 'Campaigns');
    await tab.waitForURL(/q=pantry/);
    expect(await tab.getByRole('columnheader', { name: 'Category' }).isHidden()).toBe(true);
    await tab.getByRole('link', { name: 'Clear filters' }).click();
    await expect.poll(() => names.count()).toBeGreaterThan(1);

    await tab.getByRole('link', { name: 'Publisher Demo Shop' }).click();
    await tab.getByRole('option', { name: 'Willow & Wren' }).click();
    await tab.waitForURL(`${home}/campaigns`);
    await signedIn.close();
  });

  test('charts are drawn even in a browser with an unknown language', async () => {
    const posix = await open({ storageState: await context.storageState() });
    await posix.addInitScript("Object.defineProperty(Navigator.prototype, 'language', { get: () => 'en-US@posix' })");
    const tab = await posix.newPage();
    const broken: string[] = [];
    tab.on('pageerror', (err) => broken.push(String(err)));
    const body = JSON.stringify({ placement: 'checkout' });
    await fetch(`${demo.url}/native/v4/offers.json?api_key=demo-key`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    await expect
      .poll(async () => {
        await tab.goto(`${demo.url}/dashboard/p/1/overview`);
        return tab.locator('[data-chart] canvas').count();
      })
      .toBeGreaterThan(0);
    expect(broken).toEqual([]);
    await posix.close();
  });

  test('no form field overflows, in any browser language', async () => {
    const american = await open({
      viewport: { width: 1280, height: 800 },
      locale: 'en-US',
      storageState: await context.storageState(),
    });
    const tab = await american.newPage();
    for (const path of ['/deliveries?status=failed', '/settings/keys', '/settings', '/offers', '/campaigns']) {
      await tab.goto(`${demo.url}/dashboard/p/1${path}`);
      const wide = await tab
        .locator('.field')
        .evaluateAll((fields) =>
          fields.flatMap((field) =>
            field.scrollWidth > field.clientWidth ? [field.textContent?.trim().slice(0, 40)] : [],
          ),
        );
      expect(wide, path).toEqual([]);
    }
    await american.close();
  });

  test('the skip link, forms and the confirmation dialog work by keyboard', async () => {
    const tab = await context.newPage();
    await tab.goto(`${demo.url}/dashboard/p/1/advertisers/1`);
    await tab.keyboard.press('Tab');
    expect(await tab.evaluate('document.activeElement.textContent')).toBe('Skip to content');
    await tab.keyboard.press('Enter');
    await tab.getByRole('button', { name: 'Remove' }).focus();
    await tab.keyboard.press('Enter');
    // The destructive button must be unmistakable: it is red in the dialog, too.
    await tab.getByRole('dialog').locator('button.danger', { hasText: 'Remove' }).waitFor();
    await tab.keyboard.press('Escape');
    await tab.getByRole('dialog').waitFor({ state: 'detached' });
    await tab.getByLabel('Name').focus();
    await tab.keyboard.press('Enter');
    await tab.getByRole('status').filter({ hasText: 'saved' }).waitFor();
    await tab.close();
  });
});
