import { afterAll, beforeAll, expect, test } from 'vitest';
import { hashKey } from '../../../src/platform/http/auth.ts';
import { dayOf } from '../../../src/platform/lib/time.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { call, fetchOffers } from '../../tracking/journey.ts';
import { rollUpAll } from '../support.ts';

const names = ['placement', 'campaign', 'offer', 'country', 'device', 'os', 'custom.plan'];
const sessions = ['checkout', 'cart'].flatMap((placement) =>
  ['DE', 'US'].flatMap((country) => ['gold', 'silver'].map((plan) => ({ placement, country, plan }))),
);

let testApp: TestApp;
beforeAll(async () => {
  testApp = await createTestApp();
  for (const session of sessions) {
    const { offers } = await fetchOffers(testApp, session);
    for (const offer of offers) await call(testApp, offer.pixel);
    await call(testApp, offers[0]?.beacons.no_thanks_click as string);
    await call(testApp, offers[1]?.beacons.close as string);
  }
  await testApp.pool.query(
    `insert into api_keys (publisher_id, name, key_hash, permissions)
    values ($1, 'k', decode($2, 'hex'), '{reports}')`,
    [testApp.publisher.id, hashKey('reports')],
  );
  await testApp.deps.catalog.refresh();
  await rollUpAll(testApp);
});
afterAll(() => testApp.close());

/** All combinations of up to four dimensions. */
const choices = Array.from({ length: 2 ** names.length }, (_, bits) =>
  names.filter((_name, at) => bits & (1 << at)),
).filter((choice) => choice.length <= 4);

type MetricRow = Record<string, number>;

test.each(['day', 'hour'])('rows by %s add up to the activity in any grouping', async (unit) => {
  const [from, to] = [-86_400_000, 86_400_000].map((offsetMs) => dayOf(testApp.deps.now() + offsetMs)) as [
    string,
    string,
  ];
  for (const choice of choices) {
    const groupBy = choice.join(',');
    const parameters = { api_key: 'reports', from, to, aggregated_by: unit, group_by: groupBy };
    const answer = await testApp.app.inject({ url: `/native/activity.json?${new URLSearchParams(parameters)}` });
    expect(answer.statusCode, `${groupBy} ${answer.body}`).toBe(200);
    const { rows, totals } = answer.json().data as { rows: MetricRow[]; totals: MetricRow };
    const sum = (name: string): number => rows.reduce((total, row) => total + (row[name] as number), 0);
    const counts = { impressions: 24, no_thanks: 8, closes: 8, clicks: 0 };
    expect(totals, groupBy).toMatchObject({ sessions: 8, filled_sessions: 8, fill_rate: 1, ...counts });
    expect({
      impressions: sum('impressions'),
      no_thanks: sum('no_thanks'),
      closes: sum('closes'),
      clicks: sum('clicks'),
    }).toEqual(counts);
    expect(sum('sessions'), groupBy).toBe(/offer|campaign/.test(groupBy) ? 24 : 8);
    const places = rows.map((row) => JSON.stringify([row.hour ?? row.date, ...choice.map((name) => row[name])]));
    expect(new Set(places).size, groupBy).toBe(rows.length);
  }
});
