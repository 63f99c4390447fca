import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { recordAlerts } from '../../src/alerts/record.ts';
import { writeHistory } from '../../src/demo/write-history.ts';
import { hourMs } from '../../src/platform/lib/time.ts';
import { type DemoServer, startDemoServer } from '../demo/support.ts';
import { rollUpAll } from '../reports/support.ts';
import { openBrowser, userAgent } from '../support/browser.ts';
import { openAs, signInAs, type TestUser } from './support.ts';

/** Image names in docs/images, with the pages they show. */
const pages: Readonly<Record<string, string>> = {
  overview: '/overview',
  reports: '/reports?range=7d&by=placement&metric=revenue',
  alerts: '/alerts',
  why: '/why?offer=1&country=FR&custom=plan%3Dbasic',
  live: '/live',
  offers: '/offers',
  campaigns: '/campaigns',
  campaign: '/campaigns/1',
  webhooks: '/settings/webhooks/usp.selection',
  deliveries: '/deliveries',
  placements: '/settings/placements',
};

const rules = {
  targeting: { countries: { include: ['US', 'GB', 'DE'] }, devices: { include: ['mobile', 'desktop'] } },
  schedule: { time_zone: 'America/New_York', hours: [{ days: [1, 2, 3, 4, 5], from: '08:00', to: '22:00' }] },
  conditions: { key: 'plan', op: 'equals', value: 'plus' },
  frequency_caps: [{ scope: 'campaign', event: 'impression', limit: 3, window_minutes: 1440 }],
  total_caps: [{ metric: 'budget', per: 'day', limit: 250 }],
};

// UPDATE_IMAGES=1 recreates the images of docs/guides/dashboard.md.
describe('screenshots of the dashboard', () => {
  let demo: DemoServer;
  let operator: TestUser;
  beforeAll(async () => {
    demo = await startDemoServer();
    const { t } = demo;
    await t.pool.query(
      `update campaigns set payout_kind = case when id % 4 = 0 then 'cpa' else 'cpc' end,
        payout_amount = 0.25 + (id % 5) * 0.15, payout_currency = 'USD'`,
    );
    await t.deps.catalog.refresh();
    await writeHistory(t.deps);
    await rollUpAll(t);
    await t.pool.query('update campaigns set rules = $1 where id = 1', [JSON.stringify(rules)]);
    await t.deps.catalog.refresh();
    await alerts();
    operator = await signInAs(t, 'operator');
  });
  afterAll(() => demo?.close());

  /** Simulates a shopper who fetches offers, sees them and confirms. */
  async function visit(user: string): Promise<void> {
    const headers = { 'content-type': 'application/json', 'user-agent': userAgent };
    const post = async (path: string, body: object) =>
      (await fetch(demo.url + path, { method: 'POST', headers, body: JSON.stringify(body) })).json();
    const body = { placement: 'checkout', pub_user_id: user, country: 'US', plan: 'plus' };
    const { data } = (await post('/native/v4/offers.json?api_key=demo-key', body)) as {
      data: { session_id: string; offers: { pixel: string; campaign_id: number }[] };
    };
    for (const { pixel } of data.offers) await fetch(pixel, { headers });
    const usp = `/sdk/v4/usp`;
    const caller = `?api_key=demo-key&pub_user_id=${user}`;
    await post(`${usp}/${data.session_id}/${data.offers[0]?.campaign_id}/select.json${caller}`, {});
    await post(`${usp}/session/${data.session_id}.json${caller}`, { action: 'wrap' });
  }

  async function alerts(): Promise<void> {
    const { t } = demo;
    const nowMs = Date.now();
    const publisherId = t.publisher.id;
    const at = (hoursAgo: number): string => new Date(nowMs - hoursAgo * hourMs).toISOString();
    const endpoint = { endpoint_id: 1, url: 'https://shop.example/perks', description: 'Order service' };
    const budget = {
      campaign_id: 1,
      name: 'Basilwick – first box, new cooks',
      limit: 250,
      currency: 'USD',
      per: 'day',
    };
    const fact = { publisherId, subject: '1', cause: 'picture' };
    const drop = { placement: 'checkout', now: 41.2, before: 96.5, hours: 6, until: at(1), currency: 'USD' };
    await recordAlerts(t.pool, [{ ...fact, kind: 'budget.80', data: budget }], nowMs - 9 * hourMs);
    const failing = { ...endpoint, failures: 5, failing_since: at(5) };
    await recordAlerts(t.pool, [{ ...fact, kind: 'endpoint.failing', data: failing }], nowMs - 5 * hourMs);
    await recordAlerts(t.pool, [{ ...fact, kind: 'endpoint.recovered', data: endpoint }], nowMs - 4 * hourMs);
    await recordAlerts(t.pool, [{ ...fact, kind: 'placement.revenue', data: drop }], nowMs - hourMs);
  }

  test.each(['light', 'dark'] as const)('%s', async (colorScheme) => {
    const from = colorScheme === 'light' ? 1 : 21;
    for (let user = from; user < from + 3; user++) await visit(`shopper-${user}`);
    await rollUpAll(demo.t);
    const browser = await openBrowser();
    const base = `${demo.url}/dashboard/p/${demo.t.publisher.id}`;
    const options = { colorScheme, viewport: { width: 1280, height: 900 }, locale: 'en-US' };
    const tab = await openAs(browser, operator, demo.url, '/dashboard/account', options);
    for (const [name, path] of Object.entries(pages)) {
      await tab.goto(base + path);
      if (name === 'live') {
        for (let user = from + 3; user < from + 7; user++) await visit(`shopper-${user}`);
        await tab.locator('ol.stream > li').nth(3).waitFor();
      }
      const charts = await tab.locator('[data-chart]').count();
      await expect.poll(() => tab.locator('[data-chart] canvas').count()).toBe(charts);
      await tab.locator('[hx-trigger="load"]').waitFor({ state: 'detached' });
      await tab.getByText('Counting recent sessions').waitFor({ state: 'detached' });
      const png = await tab.screenshot({ animations: 'disabled' });
      await sharp(png).webp({ quality: 82 }).toFile(`docs/images/dashboard-${name}-${colorScheme}.webp`);
    }
    await tab.context().close();
  });
});
