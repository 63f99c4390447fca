import { afterAll, beforeAll, expect, test } from 'vitest';
import { createPublisher } from '../../../bench/catalogue.ts';
import { addWeeks } from '../../../bench/weeks.ts';
import { metricColumns, metricNames } from '../../../src/reports/metrics.ts';
import { dayBit, dimensionBits } from '../../../src/reports/rollup/grains.ts';
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
  await addRollups();
  await t.deps.catalog.refresh();
  operator = await signInAs(t, 'operator');
}, timeLimit(120_000));
afterAll(() => t?.close());

/** Adds rollups of every offer for today and yesterday. */
async function addRollups(): Promise<void> {
  const values = metricNames.map((_, index) => `1 + (id * ${index + 3}) % 97`);
  await t.pool.query('select create_report_partitions(current_date - 14, current_date + 1)');
  await t.pool.query(
    `insert into rollups (publisher_id, grain, bucket, placement, offer_id, country, device, os, campaign_id,
      ${metricColumns})
    select publisher_id, ${dimensionBits.offer | dayBit}, (current_date - days)::timestamp at time zone 'UTC', '', id,
      '', '', '', campaign_id, ${values.join(', ')}
    from offers, generate_series(0, 1) days where publisher_id = $1`,
    [publisherId],
  );
  await addWeeks(t.pool);
}

/** Maximum event loop turn of a page, in milliseconds of CPU time on an idle machine, as for API calls. */
const maxTurnMs = 30;

const pages = [
  '/why',
  '/why?user=user-7',
  '/overview',
  '/reports',
  '/reports?by=offer&compare=none',
  '/reports?by=campaign&sort=name',
  '/reports?by=advertiser',
  '/campaigns',
  '/offers',
  '/settings/controls',
];
test.each(pages)('with 10,000 offers, other requests are served while %s is rendered', async (path) => {
  let bestMs = Number.POSITIVE_INFINITY;
  // A turn also includes garbage collection, so pages above the limit are requested again.
  for (let attempt = 0; attempt < 6 && bestMs >= maxTurnMs; attempt++) {
    const turnMs = await longestTurnMs(async () => {
      const { statusCode } = await operator.get(`/dashboard/p/${publisherId}${path}`);
      expect(statusCode).toBe(200);
    });
    bestMs = Math.min(bestMs, turnMs < maxTurnMs ? turnMs : turnMs / slownessNow());
  }
  if (process.env.PRINT) console.log(path, bestMs, slownessNow());
  expect(bestMs).toBeLessThan(maxTurnMs);
});

test.each(['offer', 'campaign'])('a report by %s shows the first of 10,000 rows', async (by) => {
  const { body } = await operator.get(`/dashboard/p/${publisherId}/reports?by=${by}&metrics=impressions,clicks`);
  expect(body).toContain('Show all 10,000 rows');
});
