import { afterEach, beforeEach, expect, test } from 'vitest';
import { emptySessions } from '../../../src/offers/sessions.ts';
import { dayOf } from '../../../src/platform/lib/time.ts';
import { reconcile } from '../../../src/reports/reconcile/reconcile.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { fetchOffers } from '../../tracking/journey.ts';
import { activity, byGroup, differences, nonZero, rollUpAll } from '../support.ts';

let t: TestApp;
beforeEach(async () => {
  t = await createTestApp();
});
afterEach(() => t.close());

const today = () => dayOf(Date.now());

test('sessions that were emptied at their deadline are empty in reports, even if counted before', async () => {
  const counted = await fetchOffers(t, { plan: 'gold' });
  await rollUpAll(t);
  const fresh = await fetchOffers(t, { plan: 'gold' });
  const filledSession = await fetchOffers(t, { plan: 'gold' });
  await emptySessions(t.pool, [counted.sessionId, fresh.sessionId]);
  await rollUpAll(t);
  expect(await differences(t)).toEqual([]);
  expect(nonZero((await activity(t))[0]?.metrics)).toEqual({ sessions: 3, filled_sessions: 1 });
  expect(byGroup(await activity(t, { groupBy: ['custom'], customKey: 'plan' }))).toEqual({
    gold: { sessions: 3, filled_sessions: 1 },
  });
  const offers = byGroup(await activity(t, { groupBy: ['offer'] }));
  expect(offers).toEqual(
    Object.fromEntries(filledSession.offers.map(({ id }) => [id, { sessions: 1, filled_sessions: 1 }])),
  );
  expect(await reconcile(t.pool, t.publisher.id, today(), today())).toMatchObject({
    sessions: 3,
    filled_sessions: 1,
    empty_reasons: { deadline: 2 },
    offers_served: filledSession.offers.length,
  });
});
