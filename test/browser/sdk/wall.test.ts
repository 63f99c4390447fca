import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { violations } from '../../support/axe.ts';
import { lacks } from '../../support/browser.ts';
import { type Stage, serveAdvertisers, startStage } from './support.ts';

const sdkId = '0123456789abcdef';

let stage: Stage;
beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage?.close());
afterEach(async () => {
  await stage.t.pool.query('delete from events');
});

type Wall = { page: Page; problems: string[] };

async function openWall(query: string, { width = 1200, height = 900, before = '' } = {}): Promise<Wall> {
  const context = await stage.newContext();
  await serveAdvertisers(context);
  if (before !== '') await context.addInitScript(before);
  const page = await context.newPage();
  await page.setViewportSize({ width, height });
  const problems: string[] = [];
  page.on('pageerror', (err) => problems.push(String(err)));
  page.on('console', (message) => {
    if (/Content Security Policy|Refused/.test(message.text())) problems.push(message.text());
  });
  await page.goto(`${stage.url}/offerwall?${query}`);
  return { page, problems };
}

const tiles = (page: Page) => page.locator('.tile');

async function linkOfUnit(body: object = {}): Promise<{ query: string; title: string; sessionId: string }> {
  const response = await stage.t.app.inject({
    method: 'POST',
    url: `/native/v4/offers.json?api_key=${sdkId}`,
    payload: { placement: 'checkout', pub_user_id: 'wall-1', ...body },
  });
  const { offers, session_id } = response.json().data;
  return { query: new URL(offers[1].offerwall_url).search.slice(1), title: offers[1].title, sessionId: session_id };
}

const impressions = async (): Promise<number[]> => {
  const { rows } = await stage.t.pool.query<{ offer_id: number }>(
    "select offer_id from events where kind = 'impression'",
  );
  return rows.map(({ offer_id }) => offer_id);
};

describe('the hosted offerwall', () => {
  test('shows the offer that it was opened from first, with no violation of its content security policy', async () => {
    const { query, title } = await linkOfUnit();
    const { page, problems } = await openWall(query);
    await tiles(page).first().waitFor();
    expect(await tiles(page).first().locator('h2').textContent()).toBe(title);
    await page.waitForFunction(() =>
      [...document.images].slice(0, 4).every((image) => image.complete && image.naturalWidth > 0),
    );
    expect(problems).toEqual([]);
  });

  test.each([
    ['en', 'left'],
    ['ar', 'right'],
  ])('aligns the heading, the tiles and their titles on one edge, in %s', async (language, align) => {
    const { page } = await openWall(`sdk_id=${sdkId}&placement=wall&language=${language}`);
    await tiles(page).first().waitFor();
    const layout = await page.evaluate((side) => {
      const all = ['h1', '.featured .tile', '.grid .tile'].map((name) => document.querySelector(name) as Element);
      const edges = all.map((element) => Math.round(element.getBoundingClientRect()[side as 'left' | 'right']));
      const titles = [...document.querySelectorAll('.name')].map((title) => getComputedStyle(title).textAlign);
      return { edges: new Set(edges).size, titles: [...new Set(titles)] };
    }, align);
    expect(layout).toEqual({ edges: 1, titles: [align] });
  });

  test('counts impressions of visible offers only, and of more offers after scrolling', async () => {
    const { page } = await openWall(`sdk_id=${sdkId}&placement=wall`, { width: 400, height: 600 });
    await tiles(page).first().waitFor();
    await expect.poll(impressions).not.toEqual([]);
    const total = await tiles(page).count();
    const before = await impressions();
    expect(before.length).toBeLessThan(total);
    const last = tiles(page).last();
    const lastId = Number(await last.getAttribute('data-offer-id'));
    expect(before).not.toContain(lastId);
    await last.scrollIntoViewIfNeeded();
    await expect.poll(impressions).toContain(lastId);
  });

  test('counts one close when the user leaves the page, even after a search without results', async () => {
    const { query } = await linkOfUnit({ pub_user_id: 'leaver-1' });
    const { page } = await openWall(query);
    await expect.poll(async () => (await impressions()).length).toBeGreaterThan(0);
    await page.getByRole('searchbox').fill('nothing is called that');
    await page.getByText('No matching offers.').waitFor();
    await page.goto('about:blank');
    const closes = `select 1 from events join sessions on sessions.id = session_id
      where kind = 'close' and pub_user_id = 'leaver-1'`;
    await expect.poll(async () => (await stage.t.pool.query(closes)).rowCount).toBe(1);
  });

  test('loads more offers once each on scrolling', async () => {
    await stage.t.pool.query(`
      insert into campaigns (publisher_id, advertiser_id, name, landing_url, category)
      select c.publisher_id, a.id, 'More ' || n, 'https://more.example/', 'more'
      from (select * from campaigns order by id limit 1) c,
        generate_series(1, 40) n,
        (select min(id) as id from advertisers) a`);
    await stage.t.pool.query(`
      insert into offers (publisher_id, campaign_id, title, short_headline, cta_yes)
      select publisher_id, id, name, name, 'Take it' from campaigns where name like 'More %'`);
    await stage.t.deps.catalog.refresh();
    const { page } = await openWall(`sdk_id=${sdkId}&placement=wall`);
    await expect.poll(() => tiles(page).count()).toBeGreaterThan(20);
    const scrollToEnd = async (): Promise<boolean> => {
      await page.mouse.wheel(0, 5000);
      return page.getByText('You have seen all offers.').isVisible();
    };
    await expect.poll(scrollToEnd).toBe(true);
    const ids = await tiles(page).evaluateAll((elements) =>
      elements.map((element) => (element as HTMLElement).dataset.offerId),
    );
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBeGreaterThan(24);
  });

  test('searches and filters within the same session', async () => {
    const { page } = await openWall(`sdk_id=${sdkId}&placement=searched`);
    await tiles(page).first().waitFor();
    const title = (await tiles(page).nth(1).locator('h2').textContent()) ?? '';
    await page.getByRole('searchbox').fill(title);
    await expect.poll(() => tiles(page).count()).toBe(1);
    await page.getByRole('searchbox').fill('nothing is called this');
    await page.getByText('No matching offers.').waitFor();
    await page.getByRole('searchbox').fill('');
    const chips = page.getByRole('navigation', { name: 'Categories' }).getByRole('button');
    await chips.nth(1).click();
    await expect.poll(() => chips.nth(1).getAttribute('aria-pressed')).toBe('true');
    const { rows } = await stage.t.pool.query("select count(*)::int from sessions where placement = 'searched'");
    expect(rows).toEqual([{ count: 1 }]);
  });

  test('opens the offer details with open=1 and closes them on Escape', async () => {
    const { query, title } = await linkOfUnit();
    const { page } = await openWall(`${query}&open=1`);
    const dialog = page.getByRole('dialog');
    await dialog.waitFor();
    expect(await dialog.locator('h2').textContent()).toBe(title);
    expect(await page.evaluate(() => document.activeElement?.textContent), 'its title has the focus').toBe(title);
    await page.keyboard.press('Escape');
    await expect.poll(() => dialog.count()).toBe(0);
  });

  test('saves an offer to the wallet from its details', async () => {
    const { query } = await linkOfUnit({ pub_user_id: 'saver-9' });
    const { page } = await openWall(`${query}&open=1`);
    await page.getByRole('dialog').getByRole('button', { name: 'Save For Later' }).click();
    await page.getByRole('button', { name: 'Saved' }).waitFor();
    const { rows } = await stage.t.pool.query("select count(*)::int from wallet_items where pub_user_id = 'saver-9'");
    expect(rows).toEqual([{ count: 1 }]);
  });

  test('shows the button labels in the details on one line on a phone', async () => {
    const { query } = await linkOfUnit({ pub_user_id: 'saver-10' });
    const { page } = await openWall(`${query}&open=1`, { width: 375, height: 740 });
    const buttons = page.getByRole('dialog').locator('.actions .button');
    await expect.poll(() => buttons.count()).toBe(3);
    for (const button of await buttons.all()) expect((await button.boundingBox())?.height).toBeLessThan(60);
  });

  test('reports each event once in a web view, and clicks navigate like links', async () => {
    const before = `window.posted = [];
      window.ReactNativeWebView = { postMessage: (text) => window.posted.push(JSON.parse(text)) };`;
    const { page } = await openWall(`sdk_id=${sdkId}&placement=wall`, { before });
    const link = tiles(page).first().locator('a.main');
    await Promise.all([page.waitForEvent('popup'), link.click()]);
    const posted = await page.evaluate(() => (window as unknown as { posted: Record<string, unknown>[] }).posted);
    const href = await link.getAttribute('href');
    expect(posted).toEqual([
      { name: 'ads_found', offerCount: expect.any(Number), total: expect.any(Number) },
      { name: 'url_clicked', target_url: href, url: href },
    ]);
    const clicks = "select 1 from events where kind = 'click'";
    await expect.poll(async () => (await stage.t.pool.query(clicks)).rowCount).toBe(1);
  });

  test.skipIf(lacks('frames'))('can be framed only by an allowed host, and posts url_clicked to it', async () => {
    const { origin } = new URL(stage.pageUrl);
    await stage.t.pool.query('update publishers set frame_hosts = $1 where sdk_id = $2', [[origin], sdkId]);
    await stage.t.deps.catalog.refresh();
    const src = `${stage.url}/offerwall?sdk_id=${sdkId}&placement=framed`;
    const frame = `<iframe id="wall" width="900" height="700" src="${src}"></iframe>`;
    const before = "window.messages = []; addEventListener('message', ({ data }) => window.messages.push(data));";
    const opened = await stage.open({ body: frame, before, config: { autoLoad: false } });
    await opened.page.frameLocator('#wall').locator('.tile a.main').first().click();
    await expect
      .poll(() =>
        opened.page.evaluate(() =>
          (window as unknown as { messages: { name: string }[] }).messages.map(({ name }) => name),
        ),
      )
      .toEqual(['ads_found', 'url_clicked']);
    await stage.t.pool.query("update publishers set frame_hosts = '{https://elsewhere.example}' where sdk_id = $1", [
      sdkId,
    ]);
    await stage.t.deps.catalog.refresh();
    const refused = await stage.open({ body: frame, config: { autoLoad: false } });
    await expect.poll(() => refused.problems.join()).toMatch(/frame-ancestors/);
  });

  test.each([
    [1200, 900],
    [360, 640],
  ])('has no accessibility violations and no overflow at %i × %i pixels', async (width, height) => {
    const { query } = await linkOfUnit();
    const { page } = await openWall(`${query}&open=1`, { width, height });
    await page.getByRole('dialog').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press('Escape');
    expect(await violations(page)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)).toBe(true);
  });
});
