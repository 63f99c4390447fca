import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Role } from '../../src/shell/context.ts';
import { type DemoServer, startDemoServer } from '../demo/support.ts';
import { closeContexts, openBrowser } from '../support/browser.ts';
import { woff2Of } from '../support/font.ts';
import { openAs, signInAs } from './support.ts';

let demo: DemoServer;
let browser: Browser;

beforeAll(async () => {
  demo = await startDemoServer();
  browser = await openBrowser();
});
afterAll(async () => {
  await closeContexts(browser);
  await demo?.close();
});

const base = () => `/dashboard/p/${demo.t.publisher.id}`;

async function open(role: Role, path: string): Promise<Page> {
  const user = await signInAs(demo.t, role, role === 'operator' ? null : demo.t.publisher.id);
  return openAs(browser, user, demo.url, base() + path);
}

const focused = (page: Page): Promise<string> =>
  page.evaluate('document.activeElement.getAttribute("aria-label") ?? document.activeElement.id') as Promise<string>;
const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).first().click();
const toast = (page: Page, text: string) => page.locator('.toast').filter({ hasText: text }).waitFor();

describe('a combobox', () => {
  test.each([
    ['immediately', async () => {}],
    ['after the options are shown', (page: Page) => page.getByRole('option', { name: /Germany/ }).waitFor()],
  ])('selects the first match when Enter is pressed %s, and keeps the focus', async (_when, wait) => {
    const page = await open('manager', '/campaigns/1?edit=targeting');
    const countries = page.getByRole('combobox', { name: 'Countries', exact: true });
    const id = await countries.getAttribute('id');
    const others = await page.locator('.chip').count();
    await countries.focus();
    await page.keyboard.type('Ger');
    await wait(page);
    await page.keyboard.press('Enter');
    await page.locator('.chip', { hasText: 'Germany' }).waitFor();
    expect(await page.locator('.chip').count()).toBe(others + 1);
    expect(await focused(page)).toBe(id);
    await page.keyboard.type('Fra');
    await page.keyboard.press('Enter');
    await page.locator('.chip', { hasText: 'France' }).waitFor();
    expect(await focused(page)).toBe(id);
    expect(await page.locator('input[name="rules.targeting.countries.include"]').inputValue()).toBe('DE, FR');
    await page.keyboard.press('Backspace');
    expect(await focused(page)).toBe(id);
    expect(page.url()).toMatch(/campaigns\/1\?edit=targeting$/);
    await page.close({ runBeforeUnload: false });
  });

  test('offers the typed text itself if any value is allowed, and accepts it after Escape', async () => {
    const page = await open('manager', '/campaigns/1?edit=basics');
    const tags = page.getByRole('combobox', { name: 'Tags', exact: true });
    await tags.focus();
    await page.keyboard.type('brand new');
    await page.getByRole('option', { name: 'Add “brand new”' }).waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Enter');
    await page.locator('.chip', { hasText: 'brand new' }).waitFor();
    expect(await page.locator('input[name="tags"]').inputValue()).toMatch(/, brand new$/);
    await page.close({ runBeforeUnload: false });
  });
});

test('on a phone, a long form shows its first section, and opens others on request or for an error', async () => {
  const admin = await signInAs(demo.t, 'admin', demo.t.publisher.id);
  const viewport = { width: 390, height: 844 };
  const page = await openAs(browser, admin, demo.url, `${base()}/settings`, { viewport });
  const height = () => page.evaluate<number>('document.documentElement.scrollHeight');
  const policy = page.getByLabel('Privacy policy URL');
  const section = page.getByRole('button', { name: 'Privacy', exact: true });
  expect([await policy.isVisible(), (await height()) < 3000]).toEqual([false, true]);
  await section.click();
  await policy.fill('https://');
  await page.getByRole('button', { name: 'Save', exact: true }).first().click();
  await page.getByRole('alert').waitFor();
  expect(await policy.isVisible()).toBe(true);
  await section.click();
  expect(await policy.isVisible()).toBe(false);
  await page.getByRole('alert').getByRole('link').first().click();
  expect(await policy.isVisible()).toBe(true);
  await page.close({ runBeforeUnload: false });
});

describe('a choice', () => {
  test.each([true, false])('shows only the fields that belong to it (scripts: %s)', async (javaScriptEnabled) => {
    const admin = await signInAs(demo.t, 'admin', demo.t.publisher.id);
    const options = { javaScriptEnabled };
    const page = await openAs(browser, admin, demo.url, `${base()}/offers/1`, options);
    const areVisible = async (): Promise<boolean[]> =>
      Promise.all(
        ['#f-codes-file', '#f-codes', '#f-pattern', '#f-shared'].map((field) => page.locator(field).isVisible()),
      );
    await page.locator('#coupons summary', { hasText: 'Add codes' }).click();
    expect(await areVisible()).toEqual([true, true, false, false]);
    await page.getByLabel('A pattern that creates one code per user').check();
    expect(await areVisible()).toEqual([false, false, true, false]);
    await page.getByLabel('One code for all users').check();
    expect(await areVisible()).toEqual([false, false, false, true]);
    await page.goto(`${demo.url}${base()}/settings/sources`);
    expect(await page.locator('#f-secret').isVisible()).toBe(false);
    await page.getByLabel('By a signature, as sent by Segment').check();
    expect(await page.locator('#f-secret').isVisible()).toBe(true);
  });

  test.each([true, false])('of revenue as metric shows the currency (scripts: %s)', async (javaScriptEnabled) => {
    const admin = await signInAs(demo.t, 'admin', demo.t.publisher.id);
    const page = await openAs(browser, admin, demo.url, `${base()}/metric-alerts/new`, { javaScriptEnabled });
    const currency = page.getByLabel('Currency', { exact: true });
    expect(await currency.isVisible()).toBe(false);
    await page.getByLabel('Metric', { exact: true }).selectOption('revenue');
    expect(await currency.isVisible()).toBe(true);
    await page.getByLabel('Metric', { exact: true }).selectOption('ctr');
    expect(await currency.isVisible()).toBe(false);
    await page.close({ runBeforeUnload: false });
  });

  test('says how easily the codes of a pattern can be guessed while it is typed', async () => {
    const page = await open('manager', '/offers/1');
    await page.locator('#coupons summary', { hasText: 'Add codes' }).click();
    await page.getByLabel('A pattern that creates one code per user').check();
    await page.getByLabel('Number of codes').fill('10');
    await page.getByLabel('Pattern', { exact: true }).pressSequentially('SAVE-###');
    await page.getByText('easy to guess: 1 in 100 random codes').waitFor();
    await page.getByLabel('Pattern', { exact: true }).pressSequentially('********');
    await page.getByText('Hard to guess').waitFor();
    await page.close({ runBeforeUnload: false });
  });
});

test('block rules are edited with pickers, a pasted list and rows', async () => {
  const page = await open('admin', '/settings/controls');
  const words = page.getByRole('combobox', { name: 'Words and phrases' });
  await words.focus();
  await page.evaluate(`(() => {
    const data = new DataTransfer();
    data.setData('text', 'half off\\nfree trial, \\ncash');
    document.activeElement.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, cancelable: true }));
  })()`);
  expect(await page.locator('[name="blocked.words"]').inputValue()).toBe('half off, free trial, cash');
  await page.getByRole('button', { name: 'Add minimum revenue' }).click();
  await page.getByRole('combobox', { name: 'Placement' }).fill('checkout');
  await page.getByLabel('Amount per 1,000 impressions').fill('2.5');
  await page.getByLabel('Only offers on these lists').check();
  const brands = page.getByRole('combobox', { name: 'Brands' }).last();
  await brands.focus();
  const option = page.getByRole('option').first();
  await option.waitFor();
  const brand = await option.getAttribute('data-value');
  await option.click();
  await press(page, 'Save');
  await toast(page, 'Block rules saved');
  const { rows } = await demo.t.pool.query('select controls from publishers where id = $1', [demo.t.publisher.id]);
  expect(rows[0].controls).toMatchObject({
    blocked: { words: ['half off', 'free trial', 'cash'] },
    allowed: { brands: [brand] },
    floors: { checkout: 2.5 },
  });
  await demo.t.pool.query('update publishers set controls = null');
  await demo.t.deps.catalog.refresh();
});

test('the form disables perks for a single offer unit immediately', async () => {
  const page = await open('admin', '/settings/themes/new');
  const perks = page.getByRole('checkbox', { name: 'User Selected Perks' });
  await perks.check();
  await page.locator('#f-unit').selectOption('sou');
  expect(await perks.isDisabled()).toBe(true);
  await page.getByLabel('Name', { exact: true }).fill('Single');
  await press(page, 'Save');
  await toast(page, 'Single saved');
  expect(await page.getByRole('checkbox', { name: 'User Selected Perks' }).isDisabled()).toBe(true);
  expect(await page.getByRole('checkbox', { name: 'User Selected Perks' }).isChecked()).toBe(false);
});

test('a time zone is found by city and has its current name', async () => {
  const page = await open('admin', '/settings');
  const zone = page.getByLabel('Time zone');
  const before = await zone.inputValue();
  const listed = (await page
    .locator('#time-zones option')
    .evaluateAll((all: unknown[]) => all.map((option) => (option as { value: string }).value))) as string[];
  expect(listed).toEqual(expect.arrayContaining(['Asia/Kolkata', 'Europe/Kyiv', 'Asia/Ho_Chi_Minh', 'UTC']));
  expect(listed).not.toContain('Asia/Calcutta');
  expect(new Set(listed).size).toBe(listed.length);
  await zone.fill('new york');
  await press(page, 'Save');
  await expect.poll(() => page.getByLabel('Time zone').inputValue()).toBe('America/New_York');
  await page.getByLabel('Time zone').fill('berl');
  await page.keyboard.press('Enter');
  expect(await page.getByLabel('Time zone').inputValue()).toBe('Europe/Berlin');
  const { rows } = await demo.t.pool.query('select time_zone from publishers where id = $1', [demo.t.publisher.id]);
  expect(rows).toEqual([{ time_zone: 'America/New_York' }]);
  await page.getByLabel('Time zone').fill('Nowhere');
  await press(page, 'Save');
  await page.getByText('Unknown time zone').first().waitFor();
  await page.getByLabel('Time zone').fill(before);
  await press(page, 'Save');
  await toast(page, 'saved');
});

describe('an undo link in a message', () => {
  const rowOf = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name });

  test('restores a removed row', async () => {
    const page = await open('manager', '/campaigns/1');
    const name = await page.getByRole('heading', { level: 1 }).innerText();
    await press(page, 'Remove');
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await toast(page, `${name} removed`);
    await press(page, 'Undo');
    await toast(page, `${name} restored`);
    expect(new URL(page.url()).pathname).toBe(`${base()}/campaigns/1`);
  });

  test('resumes a paused offer', async () => {
    const page = await open('manager', '/offers');
    await page.getByRole('button', { name: 'Pause', exact: true }).last().click();
    await toast(page, 'paused');
    const paused = await page.getByRole('button', { name: 'Resume', exact: true }).count();
    await press(page, 'Undo');
    await expect.poll(() => page.getByRole('button', { name: 'Resume', exact: true }).count()).toBe(paused - 1);
  });

  test('undoes a bulk change only for the rows that it changed', async () => {
    const { pool } = demo.t;
    await pool.query('update campaigns set active = false where id = 2');
    await pool.query(`update campaigns set tags = '{spring}' where id = 3`);
    await demo.t.deps.catalog.refresh();
    const stateOf = async () => {
      const { rows } = await pool.query<{ id: number; active: boolean; tags: string[]; removed: boolean }>(
        `select id, active, tags, deleted_at is not null as removed from campaigns
        where id in (1, 2, 3) order by id`,
      );
      return rows;
    };
    const before = await stateOf();
    const page = await open('manager', '/campaigns');
    const names = (await pool.query<{ name: string }>('select name from campaigns where id in (1, 2, 3)')).rows;
    const doToThree = async (act: (page: Page) => Promise<void>, done: string) => {
      for (const { name } of names) await page.getByRole('checkbox', { name: `Select: ${name}`, exact: true }).check();
      await act(page);
      await toast(page, done);
      expect(await stateOf()).not.toEqual(before);
      await press(page, 'Undo');
      await expect.poll(stateOf).toEqual(before);
      await page.waitForLoadState();
    };
    await doToThree((tab) => press(tab, 'Pause'), 'paused');
    await doToThree(async (tab) => {
      await tab.locator('form.bulk').getByLabel('Tag').fill('spring');
      await press(tab, 'Add tag');
    }, 'Tag added to');
    await doToThree(async (tab) => {
      await press(tab, 'Remove');
      await tab.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    }, 'removed');
    expect(await rowOf(page, names[0]?.name ?? '').count()).toBe(1);
    await pool.query('update campaigns set active = true where id = 2');
    await demo.t.deps.catalog.refresh();
  });

  test('leads only to the dashboard, whatever its cookie contains', async () => {
    const user = await signInAs(demo.t, 'manager');
    const encoded = (text: string) => Buffer.from(text).toString('base64url');
    const pageWith = async (undo: string) => {
      const flash = `perkwire_flash=done.${encoded('Done')}.${encoded(undo)}`;
      return (await user.get(`${base()}/offers`, { cookie: `${user.cookie}; ${flash}` })).body;
    };
    expect(await pageWith(JSON.stringify({ to: `${base()}/offers/1/active` }))).toContain('class="inline undo"');
    for (const to of ['https://evil.test/', '//evil.test/', '/dashboard/../evil', 'javascript:evil()', '/evil'])
      expect(await pageWith(JSON.stringify({ to }))).not.toContain('evil');
    expect(await pageWith('{')).toContain('Done');
  });
});

test('a duplicated campaign or offer is labelled as a copy', async () => {
  for (const path of ['/campaigns/1', '/offers/1']) {
    const page = await open('manager', path);
    const name = await page.getByRole('heading', { level: 1 }).innerText();
    await press(page, 'Duplicate');
    await toast(page, 'This is a copy');
    expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe(`${name} (copy)`);
    await press(page, 'Remove');
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await toast(page, 'removed');
  }
});

test('a new offer is saved with its image, and not saved if the file is not an image', async () => {
  const page = await open('manager', '/offers/new');
  await page.getByLabel('Headline', { exact: true }).fill('With an image');
  await page.getByLabel('Image', { exact: true }).setInputFiles({
    name: 'note.png',
    mimeType: 'image/png',
    buffer: Buffer.from('no image'),
  });
  await press(page, 'Save');
  await page.getByText('Unsupported image type').first().waitFor();
  const saved = () => demo.t.pool.query(`select 1 from offers where title = 'With an image'`);
  expect((await saved()).rowCount).toBe(0);
  await page.getByLabel('Image', { exact: true }).setInputFiles('demo/images/basilwick-bowl.jpg');
  await press(page, 'Save');
  await toast(page, 'With an image saved');
  expect(await page.locator('#creatives img').count()).toBe(1);
});

test('a user without permission to edit a row sees its values and an explanation', async () => {
  const paths = ['/campaigns/1?edit=basics', '/offers/1', '/settings/themes/1', '/settings/placements/checkout'];
  for (const path of paths) {
    const page = await open('analyst', path);
    await page.getByText('To change it, you need the role').waitFor();
    expect(await page.locator('.form :is(input, select, textarea):enabled').count()).toBe(0);
    expect(await page.locator('.form .button:visible').count()).toBe(0);
    const first = `document.querySelector('fieldset.plain :is(input[type="text"], .chips)')`;
    const border = await page.evaluate(`getComputedStyle(${first}).borderTopColor`);
    expect(border).toBe('rgba(0, 0, 0, 0)');
  }
});

test('a long form has an index that links to all its sections', async () => {
  for (const path of ['/settings/themes/1', '/offers/1']) {
    const page = await open('admin', path);
    const links = page.getByRole('navigation', { name: 'Form sections' }).getByRole('link');
    expect(await links.count()).toBeGreaterThanOrEqual(4);
    const targets = (await links.evaluateAll((all: unknown[]) =>
      all.map((link) => decodeURIComponent((link as { hash: string }).hash.slice(1))),
    )) as string[];
    for (const target of targets) expect(await page.locator(`[id="${target}"]`).count()).toBe(1);
    await links.last().click();
    const isCovered = `document.getElementById(${JSON.stringify(targets.at(-1))})
      .querySelector('legend').getBoundingClientRect().top < document.querySelector('.sections').offsetHeight`;
    expect(await page.evaluate(isCovered)).toBe(false);
    await page.close({ runBeforeUnload: false });
  }
});

const openSection = (page: Page, name: string) =>
  page
    .locator('main summary')
    .filter({ hasText: new RegExp(`^${name}$`) })
    .click();

test('the form for a new theme shows the fields that every theme needs, and closes the other sections', async () => {
  const page = await open('admin', '/settings/themes/new');
  const visibleFields = () =>
    page.locator('.form :is(input, select, textarea)[name]:not([type=hidden]):visible').count();
  expect(await visibleFields()).toBe(6);
  await page.getByLabel('Name', { exact: true }).fill('Short');
  await openSection(page, 'Behaviour');
  await page.getByLabel('Delay (ms)').fill('250');
  await press(page, 'Save');
  await toast(page, 'Short saved');
  const { rows } = await demo.t.pool.query("select settings from themes where name = 'Short'");
  expect(rows).toEqual([{ settings: { delay: 250 } }]);
  // On the page of a theme, all sections are open.
  expect(await page.getByLabel('Delay (ms)').inputValue()).toBe('250');
});

test('a closed section with an error is open after the form was rejected', async () => {
  const page = await open('admin', '/settings/themes/new');
  await page.getByLabel('Name', { exact: true }).fill('Wrong');
  await openSection(page, 'Key and default');
  await page.getByLabel('Key', { exact: true }).fill('Not a key!');
  await press(page, 'Save');
  await page.getByRole('alert').getByRole('link', { name: 'Key', exact: true }).waitFor();
  expect(await page.getByLabel('Key', { exact: true }).isVisible()).toBe(true);
  expect(await page.getByLabel('Delay (ms)').isVisible()).toBe(false);
  await page.close({ runBeforeUnload: false });
});

test('an API key is restricted to campaigns by their names', async () => {
  const page = await open('admin', '/settings/keys');
  const { rows } = await demo.t.pool.query<{ id: number; name: string }>(
    'select id, name from campaigns where publisher_id = $1 order by id limit 1',
    [demo.t.publisher.id],
  );
  const [{ id = 0, name = '' } = {}] = rows;
  await page.getByLabel('Name', { exact: true }).fill('One campaign');
  await openSection(page, 'Restrict the key');
  await page.getByLabel('Limit to campaigns', { exact: true }).fill(name.slice(0, 5));
  await page.getByRole('option', { name }).first().click();
  await press(page, 'Create key');
  await page.getByText('API key created.').waitFor();
  await page.getByRole('row').filter({ hasText: 'One campaign' }).getByText(`Campaign: ${name}`).waitFor();
  const stored = await demo.t.pool.query("select campaigns from api_keys where name = 'One campaign'");
  expect(stored.rows).toEqual([{ campaigns: [id] }]);
});

test('one brand colour generates a whole palette, which can still be edited', async () => {
  const page = await open('admin', '/settings/themes/new');
  await page.getByLabel('Name', { exact: true }).fill('Violet');
  const yes = page.locator('input[name="styles.offerText.buttonYes.background"]');
  const dark = page.locator('input[name="appearance.dark.popup.background"]');
  const before = await dark.inputValue();
  await page.getByLabel('Brand colours').fill('no colour');
  await press(page, 'Create palette');
  await page.getByText('Enter a colour, for example').waitFor();
  await page.getByLabel('Brand colours').fill('#6b2fd9');
  await page.keyboard.press('Enter');
  await page.getByText('All light and dark colours below').waitFor();
  expect(await yes.inputValue()).toBe('#6b2fd9');
  expect(await dark.inputValue()).not.toBe(before);
  await openSection(page, 'Colours');
  await page.locator('input[name="styles.footer.textColor"]').fill('#eeeeee');
  await page.getByText('Footer on').first().waitFor();
  const hints = await page.locator('.preview-state li').allInnerTexts();
  expect(new Set(hints).size).toBe(hints.length);
  await press(page, 'Save');
  await toast(page, 'Violet saved');
  expect(await yes.inputValue()).toBe('#6b2fd9');
});

describe('a web font of a theme', () => {
  const file = woff2Of({ family: 'Brand Sans', ascent: 930, descent: 250 });
  const host = createServer(({ url }, response) => {
    if (url === '/brand.woff2') response.writeHead(200, { 'access-control-allow-origin': '*' }).end(file);
    else response.writeHead(404).end();
  });
  beforeAll(() => new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve)));
  afterAll(() => {
    host.close();
    host.closeAllConnections();
  });

  test('is loaded by its URL, shown in the preview, saved, and removed again', async () => {
    const base = `http://127.0.0.1:${(host.address() as AddressInfo).port}`;
    const page = await open('admin', '/settings/themes/new');
    await page.getByLabel('Name', { exact: true }).fill('Branded');
    await openSection(page, 'Typography and shape');
    const url = page.getByLabel('Web font (URL)');
    await url.fill(`${base}/gone.woff2`);
    await press(page, 'Add font');
    await page.getByText('The server responded with status 404 instead of 200.').waitFor();
    await press(page, 'Save');
    await page.getByText('The font metrics are missing.').first().waitFor();
    await url.fill(`${base}/brand.woff2`);
    await page.keyboard.press('Enter');
    await page.getByText('The font was added').waitFor();
    expect(await page.getByLabel('Font name').inputValue()).toBe('Brand Sans');
    const frame = page.frameLocator('.preview iframe');
    await frame.locator('[data-perkwire] .tile').first().waitFor();
    await expect
      .poll(() => frame.locator('html').evaluate(() => [...document.fonts].map(({ status }) => status)))
      .toContain('loaded');
    await press(page, 'Save');
    await toast(page, 'Branded saved');
    const { rows } = await demo.t.pool.query("select appearance from themes where name = 'Branded'");
    expect(rows[0].appearance.web_font).toMatchObject({ url: `${base}/brand.woff2`, ascent: 930, descent: 250 });
    await url.fill('');
    await press(page, 'Save');
    await toast(page, 'Branded saved');
    const after = await demo.t.pool.query("select appearance from themes where name = 'Branded'");
    expect(after.rows[0].appearance).toEqual({});
    await page.close({ runBeforeUnload: false });
  });
});

test('the Back button leads from a saved row to its empty form, even if the form was rejected before', async () => {
  const page = await open('admin', '/advertisers');
  await page.getByRole('link', { name: 'Add advertiser' }).first().click();
  await press(page, 'Save');
  await page.getByText('Not saved').waitFor();
  await page.getByLabel('Name', { exact: true }).fill('Back and forth');
  await press(page, 'Save');
  await toast(page, 'Back and forth saved');
  await page.goBack();
  await page.getByRole('heading', { name: 'New advertiser' }).waitFor();
  expect(page.url()).toMatch(/\/advertisers\/new$/);
});

test('a form that is being sent cannot be sent again, and its button shows it', async () => {
  const page = await open('admin', '/settings/placements');
  await page.clock.install();
  await page.goto(`${demo.url}${base()}/settings/placements/new`);
  const sent: string[] = [];
  // With this status, the browser stays on the page.
  await page.route('**/settings/placements', async (route) => {
    sent.push(route.request().postData() ?? '');
    await route.fulfill({ status: 204 });
  });
  await page.locator('#f-name').fill('slow-network');
  const save = page.getByRole('button', { name: 'Save', exact: true }).last();
  await save.click();
  await page.clock.runFor(1000);
  expect([await save.isDisabled(), await save.getAttribute('data-sending')]).toEqual([true, '']);
  await save.click({ force: true });
  await page.locator('#f-name').press('Enter');
  await page.clock.runFor(8000);
  expect([await save.isDisabled(), await save.getAttribute('data-sending')]).toEqual([false, null]);
  expect(sent).toEqual([expect.stringContaining('slow-network')]);
  await page.close({ runBeforeUnload: false });
});
