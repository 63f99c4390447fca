import { afterAll, beforeAll, expect, test } from 'vitest';
import { periodNames } from '../../../src/budgets/usage/usage.ts';
import { signInAs, type TestUser } from '../../dashboard/support.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

const noon = Date.parse('2026-11-23T12:00:00Z');
let t: TestApp;
let viewer: TestUser;
beforeAll(async () => {
  t = await createTestApp({ now: () => noon });
  viewer = await signInAs(t, 'analyst');
  await t.pool.query("update publishers set time_zone = 'UTC'");
});
afterAll(() => t.close());

test('the campaign page shows spent, reserved and unbilled amounts and the state of its plan', async () => {
  await t.pool.query(
    "update campaigns set rules = $1, activated_at = '2026-11-01', payout_currency = 'EUR' where id = 2",
    [{ pacing: 'even', total_caps: [{ metric: 'budget', per: 'day', limit: 99 }] }],
  );
  await t.deps.catalog.refresh();
  const day = periodNames('UTC', noon).find((name) => name.startsWith('day'));
  await t.pool.query(
    `insert into campaign_usage (campaign_id, publisher_id, period, micros, spent_micros, unbilled_micros)
    values (2, 0, $1, 30e6, 20.5e6, 1.25e6)`,
    [day],
  );
  const { body } = await viewer.get(`/dashboard/p/${t.publisher.id}/campaigns/2`, { 'accept-language': 'en-GB' });
  const page = body.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ');
  expect(page).toMatch(/€99\.00 today.* 20\.71% €20\.50 €9\.50 €1\.25 €50\.00 behind plan/);
  expect(page).toContain('€20.00 behind plan: €30.00 used, €50.00 planned by now.');
  expect(page).toContain('takes part in 100% of the decisions, so pacing does not slow it down.');
  expect(page).toContain('The period ends on 24 Nov 2026, 00:00 (UTC).');
  expect(page).toMatch(/At the current rate, €\d\d\.\d\d of €99\.00 will have been used by then\./);
});
