import { afterAll, beforeAll, expect, test } from 'vitest';
import { createPublisher } from '../../../bench/catalogue.ts';
import { longestTurnMs, slownessNow } from '../../support/longest-turn.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { timeLimit } from '../../support/time-limit.ts';
import { signInAs, type TestUser } from '../support.ts';

let t: TestApp;
let operator: TestUser;
let publisherId: number;

// Long timeout: 10,000 offers are stored and indexed.
beforeAll(async () => {
  t = await createTestApp();
  publisherId = await createPublisher(t.pool, { key: 'large-catalogue', campaigns: 10_000 });
  await t.deps.catalog.refresh();
  operator = await signInAs(t, 'operator');
}, timeLimit(120_000));
afterAll(() => t?.close());

/** Maximum event loop turn of a page, in milliseconds of CPU time on an idle machine, as for API calls. */
const maxTurnMs = 50;

test.each(['/why', '/why?user=user-7', '/overview', '/reports', '/campaigns', '/settings/controls'])(
  'with 10,000 offers, other requests are served while %s is rendered',
  async (path) => {
    let bestMs = Number.POSITIVE_INFINITY;
    // A turn also includes garbage collection, so pages above the limit are requested again.
    for (let attempt = 0; attempt < 6 && bestMs >= maxTurnMs; attempt++) {
      const turnMs = await longestTurnMs(async () => {
        const { statusCode } = await operator.get(`/dashboard/p/${publisherId}${path}`);
        expect(statusCode).toBe(200);
      });
      bestMs = Math.min(bestMs, turnMs < maxTurnMs ? turnMs : turnMs / slownessNow());
    }
    expect(bestMs).toBeLessThan(maxTurnMs);
  },
);
