import { afterAll, beforeAll, expect, test } from 'vitest';
import { periodName } from '../../../src/offers/caps/usage.ts';
import { dayMs } from '../../../src/platform/lib/time.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { call, fetchOffers, type ShownOffer } from '../../tracking/journey.ts';
import { signInAs, type TestUser } from '../support.ts';

let t: TestApp;
let support: TestUser;
beforeAll(async () => {
  t = await createTestApp();
  support = await signInAs(t, 'analyst');
});
afterAll(() => t.close());

async function setRules(campaignId: number, rules: object): Promise<void> {
  const { version } = t.deps.catalog.current();
  await t.pool.query('update campaigns set rules = $2 where id = $1', [campaignId, JSON.stringify(rules)]);
  await expect.poll(() => t.deps.catalog.current().version).toBeGreaterThan(version);
}

/** What the page says: the verdict, and all rules that fail. */
async function ask(query: Record<string, string>): Promise<{ verdict: string; rules: string[]; body: string }> {
  const path = `/dashboard/p/${t.publisher.id}/why?${new URLSearchParams(query)}`;
  const { statusCode, body } = await support.get(path);
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

test('support answers why a user does not get an offer, now and in the session in which they did', async () => {
  const { sessionId, offers } = await fetchOffers(t, { pub_user_id: 'mia', country: 'DE', plan: 'plus' });
  const [offer] = offers as [ShownOffer];
  await setRules(offer.campaign_id, {
    frequency_caps: [{ scope: 'campaign', event: 'impression', limit: 1, window_minutes: 1440 }],
    targeting: { countries: { include: ['DE', 'FR'] } },
  });
  const asked = { offer: String(offer.id), user: 'mia' };
  expect((await ask(asked)).verdict).toMatch(/^Shown at position \d/);

  const again = await fetchOffers(t, { pub_user_id: 'mia', country: 'DE' });
  const shown = again.offers.find(({ id }) => id === offer.id) as ShownOffer;
  await call(t, shown.pixel);
  const capped = await ask(asked);
  expect(capped.verdict).toBe('Not shown: The user saw the campaign once within 1 day; the cap is 1.');
  expect(capped.rules).toHaveLength(1);

  await call(t, shown.beacons.no_thanks_click);
  expect((await ask(asked)).rules).toEqual([
    'opted out The user declined the campaign.',
    'frequency cap The user saw the campaign once within 1 day; the cap is 1.',
  ]);
  expect((await ask({ ...asked, user: 'noah' })).body).toContain('No session of this user is known');

  const link = `/why?session=${sessionId}&amp;offer=${offer.id}`;
  expect(capped.body).toContain(link);
  // What a decision was made with is stored beside the requests.
  await expect.poll(async () => (await ask({ session: sessionId, offer: asked.offer })).verdict).toMatch(/^Shown at/);
});

test('a made-up visitor gets every reason at once, with the use of real caps', async () => {
  await setRules(2, {
    targeting: { countries: { include: ['FR'] } },
    schedule: { end_at: '2026-01-01T00:00:00Z' },
    conditions: { key: 'plan', op: 'equals', value: 'pro' },
    total_caps: [{ metric: 'impressions', per: 'day', limit: 5 }],
  });
  await t.pool.query(
    'insert into campaign_usage (campaign_id, publisher_id, period, impressions) select 2, 0, unnest($1::text[]), 5',
    [[0, dayMs].map((laterMs) => periodName('day', 'UTC', t.deps.now() + laterMs))],
  );
  const offerId = String([...t.deps.catalog.current().offers.values()].find(({ campaign }) => campaign.id === 2)?.id);
  await expect.poll(async () => (await ask({ offer: offerId })).body).toContain('Daily cap used: 5 of 5 impressions');
  const { verdict, rules } = await ask({ offer: offerId, country: 'US', custom: 'plan=basic' });
  expect(verdict).toBe("Not shown: Country US is not in the campaign's list (FR).");
  expect(rules.map((text) => text.split(' ')[0])).toEqual(['targeting', 'ended', 'conditions', 'total']);
});

test('a session of another publisher, or none, is not found; hostile text stays text', async () => {
  const other = await ask({ session: '01890000-0000-7000-8000-000000000000', offer: '1' });
  expect(other.body).toContain('There is no such session.');
  expect((await ask({ session: 'x' })).body).toContain('There is no such session.');
  const hostile = '"><script>alert(1)</script>';
  const { body } = await ask({ user: hostile, custom: `${hostile}=${hostile}`, country: hostile, offer: hostile });
  expect(body).not.toContain('<script>alert');
});
