import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { lacks } from '../../support/browser.ts';
import { type PageSetup, type Stage, serveAdvertisers, startStage, storedKinds } from './support.ts';

const sdkId = '0123456789abcdef';

let stage: Stage;
beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage?.close());
afterEach(async () => {
  await stage.t.pool.query('delete from events; delete from sessions');
});

const open = (setup: PageSetup) =>
  stage.open({
    script: '/launcher.perkswall.js',
    body: '<div id="perks"></div>',
    viewport: { width: 1200, height: 900 },
    ...setup,
  });

type Session = {
  placement: string;
  custom: Record<string, string> | null;
  country: string | null;
  theme: string | null;
};

const sessions = async (): Promise<Session[]> =>
  (
    await stage.t.pool.query<Session>(
      `select s.placement, s.custom, s.country, t.key as theme
      from sessions s left join themes t on t.id = s.theme_id order by s.id`,
    )
  ).rows;

describe('launcher.perkswall.js', () => {
  test.each(['perks', '#perks', 'main > div'])('draws the offerwall in the container %j', async (containerId) => {
    const { page, until, names, problems } = await open({ config: { containerId } });
    const payload = await until('ads_found');
    expect(payload.offerCount).toBeGreaterThan(3);
    await page.locator('#perks .tile').first().waitFor();
    expect(await page.locator('#perks .tile').count()).toBeGreaterThan(3);
    expect(await names()).toEqual(['ads_found']);
    expect(problems).toEqual([]);
  });

  test('reads from right to left in a right-to-left language, even if the texts are in English', async () => {
    const { page, until } = await open({ config: { containerId: 'perks', language: 'fa' } });
    await until('ads_found');
    const wall = page.locator('#perks #wall');
    expect(await wall.evaluate((element) => getComputedStyle(element).direction)).toBe('rtl');
    expect(await wall.textContent()).toContain('(opens in a new tab)');
  });

  test('accepts the theme key, the country and the click ID, which is returned with conversions', async () => {
    const user = { c_id: 'click-77', country: 'deu', pub_user_id: 'perks-1' };
    const { page, until } = await open({ config: { containerId: 'perks', themeId: 'Single Offer' }, user });
    await until('ads_found');
    expect(await sessions()).toEqual([
      { placement: 'offerwall', custom: { c_id: 'click-77' }, country: 'DE', theme: 'single-offer' },
    ]);
    await expect.poll(() => storedKinds(stage)).toContain('impression');
    const link = page.locator('#perks .tile a.main').first();
    await Promise.all([page.waitForEvent('popup'), link.click()]);
    const url = await link.getAttribute('href');
    expect(await until('url_clicked')).toEqual({ target_url: url, url });
    await expect.poll(async () => (await storedKinds(stage)).filter((kind) => kind === 'click').length).toBe(1);
  });

  test('looks the same with any page styles, and under a policy with hosts and no inline styles', async () => {
    const csp = `default-src 'none'; script-src 'self' ${stage.url}; connect-src ${stage.url} https:; img-src *`;
    const { page, until, problems } = await open({ config: { containerId: 'perks' }, csp });
    await until('ads_found');
    const tile = page.locator('#perks .tile').first();
    await tile.waitFor();
    expect(await tile.evaluate((element) => getComputedStyle(element).display)).toBe('flex');
    expect(await page.evaluate(() => getComputedStyle(document.body).margin)).toBe('8px');
    await tile.getByRole('button').last().click();
    await page.getByRole('dialog').waitFor();
    expect(problems).toEqual([]);
  });

  test.skipIf(lacks('dark mode'))("uses the theme's colours for the device's light or dark mode", async () => {
    const { page, until } = await open({ config: { containerId: 'perks' } });
    await until('ads_found');
    const link = page.locator('#perks .tile a.main').first();
    await link.waitFor();
    const colours = () => link.evaluate((a) => [getComputedStyle(a).backgroundColor, getComputedStyle(a).color]);
    await expect.poll(colours).toEqual(['rgb(31, 95, 74)', 'rgb(255, 255, 255)']);
    await page.emulateMedia({ colorScheme: 'dark' });
    await expect.poll(colours).toEqual(['rgb(143, 214, 184)', 'rgb(13, 42, 31)']);
  });

  test('reports all configuration problems in one error and still draws the offerwall', async () => {
    const config = { containerId: 'perks', colour: 'red', country: 5 };
    const { page, until, names } = await open({ config, before: 'AdUser = "text";' });
    await until('ads_found');
    await page.locator('#perks .tile').first().waitFor();
    const { kind, message } = await until('error');
    expect([kind, message]).toEqual([
      'invalid_parameter',
      'AdConfig.colour is unknown. AdConfig.country must be a string. AdUser is not an object.',
    ]);
    expect(await names()).toEqual(['error', 'ads_found']);
  });

  test('reports one error and draws nothing without a container or an account', async () => {
    const wrongConfigs = [
      { containerId: 'nowhere' },
      { containerId: '<<<' },
      { containerId: 'perks', accountId: '' },
      { containerId: 'perks', apiUrl: 'nowhere' },
    ];
    // Open the pages concurrently: each one waits several seconds for its container.
    await Promise.all(
      wrongConfigs.map(async (config) => {
        const { until, names, problems } = await open({ config });
        await until('error');
        expect(await names()).toEqual(['error']);
        expect(problems).toEqual([]);
      }),
    );
    expect(await sessions()).toEqual([]);
  });
});

describe('the hosted page /offerwall/v2/', () => {
  async function visit(query: string) {
    const context = await stage.newContext();
    await serveAdvertisers(context);
    const page = await context.newPage();
    const problems: string[] = [];
    page.on('pageerror', (err) => problems.push(String(err)));
    page.on('console', (message) => {
      if (/Content Security Policy|Refused/.test(message.text())) problems.push(message.text());
    });
    await page.goto(`${stage.url}/offerwall/v2/?accountId=${sdkId}&${query}`);
    await page.locator('.tile').first().waitFor();
    return { page, problems };
  }

  test('passes on theme, country, click ID and other valid parameters, and omits invalid ones', async () => {
    const hostile = encodeURIComponent('"><img src=x onerror=alert(1)>');
    const { page, problems } = await visit(
      `themeId=single-offer&country=fr&c_id=${hostile}&pub_user_id=perks-2&plan=gold&a%20b=1&__proto__=1` +
        `&long=${'x'.repeat(600)}`,
    );
    expect(await sessions()).toEqual([
      {
        placement: 'offerwall',
        custom: { c_id: '"><img src=x onerror=alert(1)>', plan: 'gold' },
        country: 'FR',
        theme: 'single-offer',
      },
    ]);
    expect(await page.locator('img[src=x]').count()).toBe(0);
    expect(problems).toEqual([]);
    expect(await page.getByRole('heading', { level: 1 }).count()).toBe(1);
  });

  test('has no heading of its own with standalone=0', async () => {
    const { page } = await visit('standalone=0');
    expect(await page.getByRole('heading', { level: 1 }).count()).toBe(0);
  });

  test('counts one session, impressions and the click', async () => {
    const { page } = await visit('c_id=k-1');
    await expect.poll(() => storedKinds(stage)).toContain('impression');
    await Promise.all([page.waitForEvent('popup'), page.locator('.tile a.main').first().click()]);
    await expect.poll(async () => (await storedKinds(stage)).filter((kind) => kind === 'click').length).toBe(1);
    expect(await sessions()).toHaveLength(1);
  });
});
