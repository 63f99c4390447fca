import pg from 'pg';
import { expect, test } from 'vitest';
import { secondSweepMs } from '../../src/privacy/erasures.ts';
import { rollUp } from '../../src/reports/rollup/roll-up.ts';
import { eraseNext, tablesWith } from '../privacy/support.ts';
import { cloneDatabase } from '../support/database.ts';
import { requestOver } from '../support/request.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { timeLimit } from '../support/time-limit.ts';

const userAgent =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/147.0.0.0 Safari/537.36';

type Offer = {
  campaign_id: number;
  pixel: string;
  click_url: string;
  save_for_later_url: string;
  beacons: { no_thanks_click: string };
};

const clock = { ms: Date.now() };
const lastRound = 3;
const users = Array.from({ length: 6 }, (_, index) => `racer-${index}`);
/** Prefixes of values by which a user could be found. */
const traces = ['racer-', 'cart-of-', 'txn-of-'];

/**
 * Makes every kind of call that takes locks, for the same few users and campaigns. The order differs from call to call.
 */
async function storm(apps: readonly TestApp[], round: number, erased: readonly string[]): Promise<number[]> {
  let count = round;
  const pick = <T>(from: readonly T[]): T => from[count++ % from.length] as T;
  const call = async (method: 'GET' | 'POST' | 'PUT', url: string, payload?: object) => {
    const answer = await requestOver(pick(apps).app, {
      method,
      url,
      payload,
      headers: { authorization: 'Bearer demo-key', 'user-agent': userAgent },
    });
    statuses.push(answer.statusCode);
    return answer;
  };
  const statuses: number[] = [];
  const fetchOne = async () =>
    (
      await call('POST', '/native/v4/offers.json', {
        placement: 'checkout',
        pub_user_id: pick(users),
        plan: pick(['a', 'b']),
        cart: `cart-of-${count}`,
      })
    ).json().data as {
      session_id: string;
      offers: Offer[];
    };
  const sessions = await Promise.all(Array.from({ length: 12 }, fetchOne));
  const offers = sessions.flatMap(({ offers }) => offers);
  await Promise.all([...offers, ...offers.toReversed()].map(({ pixel }) => call('GET', pixel)));
  clock.ms += 1000; // sooner, no person could have clicked
  const clicks = await Promise.all([...offers, ...offers.toReversed()].map(({ click_url }) => call('GET', click_url)));
  const clickIds = clicks.flatMap(
    ({ headers }) => /[?&][\w.-]+=([\w-]{51})(?:&|$)/.exec(String(headers.location))?.[1] ?? [],
  );
  await Promise.all(
    clickIds.map((click_id) => call('POST', '/track', { click_id, payout: '1.5', txn_id: 'txn-of-first' })),
  );
  await Promise.all([
    ...offers.map(({ beacons }) => call('GET', beacons.no_thanks_click)),
    ...offers.map(({ save_for_later_url: url }) => call('POST', url)),
    ...sessions.map(({ session_id: id }) => call('POST', `/sdk/v4/usp/session/${id}.json`, { action: 'wrap' })),
    ...clickIds.flatMap((click_id) => [
      call('POST', '/track', { click_id, payout: '1.5', txn_id: 'txn-of-first', void: true }),
      call('POST', '/track', { click_id, payout: '1.5', txn_id: 'txn-of-second' }),
    ]),
    ...erased.map((user) => call('POST', '/manage/v1/privacy/erasure', { pub_user_id: user })),
    ...apps.flatMap((app) => [eraseNext(app), rollUp(app.pool, clock.ms, 1e6), fetchOne()]),
    ...Array.from({ length: 12 }, fetchOne),
  ]);
  await Promise.all(apps.map((app) => eraseNext(app)));
  return statuses;
}

// Long timeout: the test makes hundreds of concurrent calls.
test('concurrent calls, rollups and erasures never deadlock, and leave no data of erased users', {
  timeout: timeLimit(120_000),
}, async () => {
  const clone = await cloneDatabase();
  const first = await createTestApp({ databaseUrl: clone.url, now: () => clock.ms });
  const second = await createTestApp({ databaseUrl: clone.url, now: () => clock.ms });
  try {
    await first.pool.query(
      `update campaigns set payout_kind = case when id % 2 = 0 then 'cpa' else 'cpc' end, payout_amount = 1,
        rules = '{"frequency_caps":[{"scope":"campaign","event":"click","limit":500,"window_minutes":60}],
          "total_caps":[{"metric":"budget","per":"day","limit":100000}]}'`,
    );
    await first.pool.query('update campaigns set opt_out_days = 1');
    for (const { deps } of [first, second]) await deps.catalog.refresh();
    for (let round = 0; round <= lastRound; round++) {
      const erased = round === lastRound ? users : users.slice(round, round + 1);
      const statuses = await storm([first, second], round * 5, erased);
      // A status of 503 is accepted: on an overloaded machine, the database may respond too late.
      expect(statuses.filter((status) => status >= 500 && status !== 503)).toEqual([]);
      expect(statuses.filter((status) => status < 400).length).toBeGreaterThan(100);
      await first.pool.query("update user_history set opt_outs = '{}'");
      clock.ms += 1000;
    }
    const { rows: voids } = await first.pool.query(
      'select count(*)::int as n from conversions where void and payout_micros < 0',
    );
    expect(voids[0].n).toBeGreaterThan(10);
    expect(await tablesWith(first, 'racer-')).toContain('sessions');
    while (await eraseNext(first));
    clock.ms += secondSweepMs;
    while (await eraseNext(first));
    for (const trace of traces) expect([trace, await tablesWith(first, trace)]).toEqual([trace, []]);
  } finally {
    await second.close();
    await first.close();
  }
  // The server updates its statistics when connections end.
  const client = new pg.Client({ connectionString: clone.url });
  await client.connect();
  const { rows } = await client.query('select deadlocks::int from pg_stat_database where datname = current_database()');
  await client.end();
  await clone.drop();
  expect(rows).toEqual([{ deadlocks: 0 }]);
});
