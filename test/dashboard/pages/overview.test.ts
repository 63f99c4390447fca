import { afterAll, beforeAll, expect, test } from 'vitest';
import { addSums } from '../../reports/support.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { signInAs } from '../support.ts';

let t: TestApp;
let nowMs = 0;
beforeAll(async () => {
  t = await createTestApp({ now: () => nowMs });
  await t.pool.query("update publishers set time_zone = 'Europe/Berlin'");
  await t.deps.catalog.refresh();
  await t.pool.query("select create_report_partitions('2026-03-01', '2026-11-30')");
});
afterAll(() => t?.close());

const sums = (at: string, sessions: number) => ({
  ...{ at: new Date(at), placement: 'checkout', campaignId: 1, offerId: 1, sessions },
});

test('the tables of its charts write days and amounts as the reader does', async () => {
  nowMs = Date.parse('2026-06-10T12:00:00Z');
  await addSums(t, [{ ...sums('2026-06-09T10:00:00Z', 5), revenue_micros: 1_234_567_890 }]);
  const analyst = await signInAs(t, 'analyst');
  const overview = `/dashboard/p/${t.publisher.id}/overview?days=7`;
  const { body } = await analyst.get(overview, { 'accept-language': 'de-DE' });
  expect(body).toMatch(/<td>Di\.?, 9\. Juni?<\/td><td class="numeric">1\.234,57\s\$<\/td>/);
  expect(body).toContain('&quot;style&quot;:{&quot;currency&quot;:&quot;USD&quot;}');
});

test.each([
  ['00:30', 'spring', '2026-04-01T00:30+02:00', '2026-03-25T00:00+01:00', '2026-03-25T01:00+01:00'],
  ['23:30', 'autumn', '2026-10-28T23:30+01:00', '2026-10-21T23:00+02:00', '2026-10-22T00:00+02:00'],
])(
  'at %s in the week after the clocks change in %s, today is compared with the same hours of last week',
  async (_time, _season, now, lastWeek, later) => {
    nowMs = Date.parse(now);
    await addSums(t, [sums(now.replace(':30', ':00'), 150), sums(lastWeek, 100), sums(later, 7000)]);
    const analyst = await signInAs(t, 'analyst');
    const { body } = await analyst.get(`/dashboard/p/${t.publisher.id}/overview?days=7`);
    const text = body.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
    expect(text).toMatch(/Sessions 150 up ▲ 50\.0\s?%/);
  },
);
