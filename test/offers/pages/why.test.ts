import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { periodName } from '../../../src/budgets/usage/usage.ts';
import { dayMs } from '../../../src/platform/lib/time.ts';
import { openAs, signInAs, type TestUser } from '../../dashboard/support.ts';
import { closeContexts, openBrowser } from '../../support/browser.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { call, fetchOffers, type ShownOffer } from '../../tracking/journey.ts';

let t: TestApp;
let support: TestUser;
let browser: Browser;
let base: string;
beforeAll(async () => {
  t = await createTestApp();
  support = await signInAs(t, 'analyst');
  base = await t.app.listen({ port: 0, host: '127.0.0.1' });
  browser = await openBrowser();
});
afterAll(async () => {
  await closeContexts(browser);
  await t.close();
});

async function setRules(campaignId: number, rules: object): Promise<void> {
  const { version } = t.deps.catalog.current();
  await t.pool.query('update campaigns set rules = $2 where id = $1', [campaignId, JSON.stringify(rules)]);
  await expect.poll(() => t.deps.catalog.current().version).toBeGreaterThan(version);
}

/** Returns the verdict and all failing rules from the page. */
async function ask(
  query: Record<string, string>,
  language = 'en',
): Promise<{ verdict: string; rules: string[]; body: string }> {
  const path = `/dashboard/p/${t.publisher.id}/why?${new URLSearchParams(query)}`;
  const { statusCode, body } = await support.get(path, { 'accept-language': language });
  expect(statusCode, body).toBe(200);
  const plain = (markup: string): string =>
    markup
      .replace(/<[^>]+>/g, ' ')
      .replaceAll('&#39;', "'")
      .replace(/\s+/g, ' ')
      .trim();
  return {
    verdict: plain(/class="notice verdict[^>]*>(.*?)<\/div>/s.exec(body)?.[1] ?? ''),
    rules: [...(/<ol class="reasons">(.*?)<\/ol>/s.exec(body)?.[1] ?? '').matchAll(/<li>(.*?)<\/li>/gs)].map(
      ([, item = '']) => plain(item),
    ),
    body,
  };
}

test('support can find out why user X did not get offer Y', async () => {
  const { sessionId, offers } = await fetchOffers(t, { pub_user_id: 'mia', country: 'DE', plan: 'plus' });
  const [offer] = offers as [ShownOffer];
  await setRules(offer.campaign_id, {
    frequency_caps: [{ scope: 'campaign', event: 'impression', limit: 1, window_minutes: 1440 }],
    targeting: { countries: { include: ['DE', 'FR'] } },
  });
  const again = await fetchOffers(t, { pub_user_id: 'mia', country: 'DE' });
  const offerAgain = again.offers.find(({ id }) => id === offer.id) as ShownOffer;
  await call(t, offerAgain.pixel);

  // A shopper asks why an offer has disappeared. Support only knows the shopper's ID.
  const page = await openAs(browser, support, base, `/dashboard/p/${t.publisher.id}/overview`);
  const verdict = page.locator('.verdict');
  const explain = async (): Promise<void> => {
    const answered = page.waitForResponse((response) => response.url().includes('/why?'));
    await page.getByRole('button', { name: 'Explain' }).click();
    await answered;
    await page.waitForLoadState();
  };
  await page.keyboard.press('/');
  await page.getByRole('combobox', { name: 'Search' }).fill('mia');
  await page.getByRole('option', { name: 'Why user “mia” sees or doesn’t see an offer' }).click();
  await page.getByRole('heading', { name: 'Offer diagnostics' }).waitFor();
  await page.getByLabel('Offer', { exact: true }).selectOption(String(offer.id));
  await explain();
  expect(await verdict.innerText()).toBe(
    'Not shown: The user saw the campaign once within 1 day; the frequency cap is 1.',
  );
  const reasons = page.locator('ol.reasons li');
  // The verdict already contains the only reason.
  expect(await reasons.count()).toBe(0);

  await call(t, offerAgain.beacons.no_thanks_click);
  await explain();
  expect((await reasons.allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' '))).toEqual([
    'declined by user The user declined the campaign.',
    'frequency cap The user saw the campaign once within 1 day; the frequency cap is 1.',
  ]);

  await page.getByLabel('User', { exact: true }).fill('noah');
  await explain();
  await page.getByText('No session of this user is known').waitFor();

  // Find the session in which the shopper got the offer. Its decision data is stored outside of requests.
  await page.getByLabel('User', { exact: true }).fill('mia');
  const first = page.locator(`a[href*="session=${sessionId}"]`);
  await expect
    .poll(async () => {
      await explain();
      return first.count();
    })
    .toBe(1);
  await first.click();
  await page.getByText('Stored decision,').waitFor();
  expect(await verdict.innerText()).toMatch(/^Shown at position \d/);
});

test('a simulated visitor gets every exclusion reason in one answer, with the usage of real caps', async () => {
  await setRules(2, {
    targeting: { countries: { include: ['FR'] } },
    schedule: { end_at: '2026-01-01T00:00:00Z' },
    conditions: { key: 'plan', op: 'equals', value: 'pro' },
    total_caps: [{ metric: 'impressions', per: 'day', limit: 5 }],
  });
  await t.pool.query(
    `insert into campaign_usage (campaign_id, publisher_id, period, impressions, counted_impressions)
    select 2, 0, unnest($1::text[]), 5, 5`,
    [[0, dayMs].map((laterMs) => periodName('day', 'UTC', t.deps.now() + laterMs))],
  );
  const offerId = String([...t.deps.catalog.current().offers.values()].find(({ campaign }) => campaign.id === 2)?.id);
  await expect
    .poll(async () => (await ask({ offer: offerId })).body)
    .toContain('Daily cap reached: 5 of 5 impressions');
  const { verdict, rules } = await ask({ offer: offerId, country: 'US', custom: 'plan=basic' });
  expect(verdict).toBe('Not shown: Country US is not targeted by the campaign (FR).');
  expect(rules.map((text) => text.split(' ')[0])).toEqual(['targeting', 'ended', 'conditions', 'total']);

  const german = await ask({ offer: offerId, country: 'US', custom: 'plan=basic' }, 'de-DE');
  expect(german.verdict).toBe('Nicht gezeigt: Land US gehört nicht zum Targeting der Kampagne (FR).');
  expect(german.rules).toEqual([
    'Targeting Land US gehört nicht zum Targeting der Kampagne (FR).',
    'beendet Die Kampagne endete am 1. Jan. 2026, 00:00.',
    'Bedingungen Die eigenen Attribute erfüllen die Bedingung der Kampagne nicht: plan ist pro.',
    'Kampagnenlimit Tageslimit erreicht: 5 von 5 Impressions der Kampagne seit 00:00 Uhr (UTC).',
  ]);
});

test('a simulated visitor is parsed like a fetch, including long values and three-letter countries', async () => {
  const offer = [...t.deps.catalog.current().offers.values()].find(({ campaign }) => campaign.id === 2);
  await setRules(2, {
    targeting: { countries: { include: ['DE'] } },
    conditions: { key: 'plan', op: 'equals', value: 'pro' },
  });
  const custom = `${Array.from({ length: 30 }, (_, index) => `attribute_${index}=some text`).join('\n')}\nplan=pro`;
  const { rules, body } = await ask({ offer: String(offer?.id), country: 'deu', custom });
  expect(rules.map((text) => text.split(' ')[0]).filter((rule) => /targeting|conditions/.test(rule ?? ''))).toEqual([]);
  expect(body.includes('plan=pro')).toBe(true);
  const user = `user-${'7'.repeat(251)}`;
  await fetchOffers(t, { pub_user_id: user, country: 'DE', plan: 'pro' });
  expect((await ask({ user })).body.includes('No session of this user is known')).toBe(false);
});

test('an unknown session or one of another publisher is not found, and hostile text is escaped', async () => {
  const other = await ask({ session: '01890000-0000-7000-8000-000000000000', offer: '1' });
  expect(other.body).toContain('There is no session with this ID.');
  expect((await ask({ session: 'x' })).body).toContain('There is no session with this ID.');
  const hostile = '"><script>alert(1)</script>';
  const { body } = await ask({ user: hostile, custom: `${hostile}=${hostile}`, country: hostile, offer: hostile });
  expect(body).not.toContain('<script>alert');
});
