import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eraseSessions } from '../../../src/offers/fetch/user-data.ts';
import { transaction } from '../../../src/platform/db/pool.ts';
import { dimensionNames, metricNames } from '../../../src/reports/metrics.ts';
import { explore } from '../../../src/reports/query/explore.ts';
import type { ActivityQuery } from '../../../src/reports/query/types.ts';
import { compactRollups } from '../../../src/reports/rollup/compact.ts';
import { rebucketNext } from '../../../src/reports/rollup/rebucket.ts';
import { verifyRollups } from '../../../src/reports/verify.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { timeLimit } from '../../support/time-limit.ts';
import { activity, rollUpAll } from '../support.ts';

let testApp: TestApp;
beforeAll(async () => {
  testApp = await createTestApp();
  await testApp.pool.query('update offers set campaign_id = id % 2 + 1 where id <= 4');
  await testApp.pool.query(
    "select create_day_partitions('2026-03-01', '2026-04-05'), create_report_partitions('2026-03-01', '2026-04-05')",
  );
});
afterAll(() => testApp.close());

let publisherId = 0;
/** Switches to a new publisher, which has no activity yet. */
async function useNewPublisher(timeZone: string): Promise<void> {
  const { rows } = await testApp.pool.query<{ id: number }>(
    `insert into publishers (name, sdk_id, time_zone)
    values ('P', substr(md5(gen_random_uuid()::text), 1, 16), $1) returning id`,
    [timeZone],
  );
  publisherId = rows[0]?.id as number;
}

/** Rollup time that is later than all activity in these tests, but within the time in which events are counted. */
const rolledUpMs = Date.parse('2026-04-01T00:00:00Z');

/** Changes the publisher's time zone like the settings page, and re-buckets its rollups. */
async function changeZone(timeZone: string): Promise<void> {
  await testApp.pool.query('update publishers set time_zone = $2 where id = $1', [publisherId, timeZone]);
  for (let steps = 0; (await rebucketNext(testApp.pool, rolledUpMs, 30 * 3_600_000)).hasWork; steps += 1) {
    if (steps === 2) expect(await differences()).toEqual([]);
  }
}

/** Returns the differences between the rollups and the raw rows. */
async function differences(): Promise<unknown[]> {
  const client = await testApp.pool.connect();
  try {
    return (await verifyRollups(client, '2026-03-01', '2026-04-04')).differences;
  } finally {
    client.release();
  }
}

type Session = {
  atMs: number;
  placement: string;
  country: string;
  device: string;
  plan: string | null;
  offers: number[];
  seen: number[];
  delayMs: number;
};

/** Inserts sessions with impressions of the offers seen, like the routes do. */
async function insertSessions(sessions: readonly Session[]): Promise<void> {
  for (const { atMs, placement, country, device, plan, offers, seen, delayMs } of sessions) {
    const { rows } = await testApp.pool.query<{ day: string; id: string }>(
      `insert into sessions
        (day, id, publisher_id, placement, country, device, os, offer_ids, campaign_ids, custom,
          dev, usp, usp_check_all, created_at)
      values (($1::timestamptz at time zone 'UTC')::date, gen_random_uuid(), $2, $3, $4, $5, 'ios', $6::integer[],
        array(select o % 2 + 1 from unnest($6::integer[]) o), $7, false, false, false, $1)
      returning day::text, id`,
      [new Date(atMs), publisherId, placement, country, device, offers, plan === null ? null : { plan }],
    );
    await testApp.pool.query(
      `insert into events (day, session_id, offer_id, kind, publisher_id, campaign_id, position, at, revenue_micros)
      select $1, $2, o, 'impression', $3, o % 2 + 1, 1, $4, 1000 + o from unnest($5::integer[]) o`,
      [rows[0]?.day, rows[0]?.id, publisherId, new Date(atMs + delayMs), seen],
    );
  }
}

const ask = (query: Partial<ActivityQuery>) =>
  activity(testApp, { publisherId, from: '2026-03-01', to: '2026-04-04', ...query });

const at = (time: string): Session => ({
  atMs: Date.parse(time),
  placement: 'checkout',
  country: 'DE',
  device: 'mobile',
  plan: null,
  offers: [],
  seen: [],
  delayMs: 0,
});

/** Returns the number of sessions by time. */
const sessionsBy = async (query: Partial<ActivityQuery>): Promise<Record<string, number>> =>
  Object.fromEntries((await ask(query)).map(({ time, metrics }) => [time, metrics.sessions]));

test.each([
  // The day has 23 hours: clocks go forward from 2:00 to 3:00.
  [
    'America/New_York',
    '2026-03-08',
    '2026-03-08T05:00:00Z',
    '2026-03-09T04:00:00Z',
    '2026-03-08T00:00:00-05:00',
    '2026-03-08T23:00:00-04:00',
  ],
  [
    'Europe/Berlin',
    '2026-03-29',
    '2026-03-28T23:00:00Z',
    '2026-03-29T22:00:00Z',
    '2026-03-29T00:00:00+01:00',
    '2026-03-29T23:00:00+02:00',
  ],
  [
    'Asia/Kathmandu',
    '2026-03-15',
    '2026-03-14T18:15:00Z',
    '2026-03-15T18:15:00Z',
    '2026-03-15T00:00:00+05:45',
    '2026-03-15T23:00:00+05:45',
  ],
  [
    'Asia/Kolkata',
    '2026-03-15',
    '2026-03-14T18:30:00Z',
    '2026-03-15T18:30:00Z',
    '2026-03-15T00:00:00+05:30',
    '2026-03-15T23:00:00+05:30',
  ],
  [
    'no/such zone',
    '2026-03-15',
    '2026-03-15T00:00:00Z',
    '2026-03-16T00:00:00Z',
    '2026-03-15T00:00:00Z',
    '2026-03-15T23:00:00Z',
  ],
])('a day in %s begins and ends at its local midnight', async (timeZone, day, begin, end, firstHour, lastHour) => {
  const before = (time: string): string => new Date(Date.parse(time) - 1).toISOString();
  await useNewPublisher(timeZone);
  await insertSessions([at(before(begin)), at(begin), at(before(end)), at(end)]);
  await rollUpAll(testApp, rolledUpMs);
  expect(await sessionsBy({ timeZone, from: day, to: day })).toEqual({ [day]: 2 });
  expect(await sessionsBy({ timeZone, from: day, to: day, aggregatedBy: 'hour' })).toEqual({
    [firstHour]: 1,
    [lastHour]: 1,
  });
});

test('a 25-hour day has two hours with the same name', async () => {
  await testApp.pool.query(
    "select create_day_partitions('2026-10-24', '2026-10-26'), create_report_partitions('2026-10-24', '2026-10-26')",
  );
  await useNewPublisher('Europe/Berlin');
  await insertSessions(
    Array.from({ length: 25 }, (_, hour) =>
      at(new Date(Date.parse('2026-10-24T22:30:00Z') + hour * 3_600_000).toISOString()),
    ),
  );
  await rollUpAll(testApp, rolledUpMs);
  const day = { timeZone: 'Europe/Berlin', from: '2026-10-25', to: '2026-10-25' };
  expect(await sessionsBy(day)).toEqual({ '2026-10-25': 25 });
  const hours = await sessionsBy({ ...day, aggregatedBy: 'hour' });
  expect(Object.values(hours)).toEqual(Array.from({ length: 25 }, () => 1));
  expect(hours).toMatchObject({ '2026-10-25T02:00:00+02:00': 1, '2026-10-25T02:00:00+01:00': 1 });
});

const session: fc.Arbitrary<Session> = fc
  .record({
    atMs: fc.integer({ min: Date.parse('2026-03-27T00:00:00Z'), max: Date.parse('2026-03-31T00:00:00Z') }),
    placement: fc.constantFrom('checkout', 'cart', 'home'),
    country: fc.constantFrom('DE', 'US'),
    device: fc.constantFrom('mobile', 'desktop'),
    plan: fc.constantFrom('gold', 'silver', null),
    offers: fc.uniqueArray(fc.integer({ min: 1, max: 4 }), { maxLength: 3 }),
    delayMs: fc.integer({ min: 0, max: 20 * 3_600_000 }),
    share: fc.integer({ min: 0, max: 3 }),
  })
  .map(({ share, ...rest }) => ({ ...rest, seen: rest.offers.slice(0, share) }));

const groupings = fc.record({
  groupBy: fc.uniqueArray(fc.constantFrom(...dimensionNames, 'custom' as const), { maxLength: 3 }),
  filters: fc.record(
    {
      placement: fc.constant(['cart', 'home']),
      country: fc.constant(['US']),
      device: fc.constant(['mobile']),
      offer: fc.constant([1, 2]),
      campaign: fc.constant([1]),
    },
    { requiredKeys: [] },
  ),
  aggregatedBy: fc.constantFrom('day' as const, 'hour' as const),
});

/** Report queries that are answered from the custom attribute rollups. */
const byKey: Question[] = (['day', 'hour'] as const).map((aggregatedBy) => ({
  groupBy: ['custom'],
  filters: {},
  aggregatedBy,
}));

type Question = Pick<ActivityQuery, 'groupBy' | 'filters' | 'aggregatedBy'>;

/** Sessions, filled sessions, impressions and revenue, by time and group. */
type Expected = Record<string, number[]>;

const added = (sum: readonly number[] | undefined, amounts: readonly number[]): number[] =>
  amounts.map((amount, index) => amount + (sum?.[index] ?? 0));

/** Computes the reference report by counting each session. */
function count(sessions: readonly Session[], { groupBy, filters, aggregatedBy }: Question, timeZone: string): Expected {
  const sums: Expected = {};
  const byOffer = [...groupBy, ...Object.keys(filters)].some((name) => name === 'offer' || name === 'campaign');
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' });
  const add = (atMs: number, of: Session, offer: number | null, amounts: readonly number[]): void => {
    const values = { ...of, offer, campaign: offer === null ? null : (offer % 2) + 1, os: 'ios', custom: of.plan };
    if (groupBy.includes('custom') && of.plan === null) return;
    for (const [name, filterValues] of Object.entries(filters))
      if (!(filterValues as unknown[]).includes(values[name as 'os'])) return;
    const local = format.format(atMs);
    const key = [local.slice(0, aggregatedBy === 'day' ? 10 : 13), ...groupBy.map((name) => values[name])].join(' ');
    sums[key] = added(sums[key], amounts);
  };
  for (const session of sessions) {
    if (byOffer) for (const offer of session.offers) add(session.atMs, session, offer, [1, 1, 0, 0]);
    else add(session.atMs, session, null, [1, session.offers.length > 0 ? 1 : 0, 0, 0]);
    for (const offer of session.seen) add(session.atMs + session.delayMs, session, offer, [0, 0, 1, 1000 + offer]);
  }
  return sums;
}

/** First and last day of date ranges: whole weeks, partial weeks, and both. */
const ranges = [
  ['2026-03-20', '2026-04-04'],
  ['2026-03-22', '2026-03-28'],
  ['2026-03-26', '2026-03-30'],
  ['2026-03-28', '2026-03-29'],
  ['2026-03-29', '2026-03-31'],
] as const;
type Range = (typeof ranges)[number];

/**
 * Returns totals per offer or campaign over several days, which are read from weekly rollups and from daily rollups for
 * the remaining days.
 */
async function explored(by: 'offer' | 'campaign', filters: Question['filters'], timeZone: string, [from, to]: Range) {
  const question = { publisherId, timeZone, by, filters, aggregatedBy: 'day', metrics: metricNames } as const;
  const range = { also: [], days: { from, to }, before: null, beforeUntilMs: null };
  const { groups } = await explore(testApp.pool, { ...question, ...range, customKey: null, customValues: null });
  const sums = groups.map(({ value, now }) => [
    value,
    [now.sessions, now.filled_sessions, now.impressions, now.revenue_micros],
  ]);
  return Object.fromEntries(sums);
}

/** Computes the same totals from a daily report. */
function overDays(byDay: Expected, [from, to]: Range): Expected {
  const sums: Expected = {};
  for (const [key, amounts] of Object.entries(byDay)) {
    const [day = '', value = ''] = key.split(' ');
    if (day >= from && day <= to) sums[value] = added(sums[value], amounts);
  }
  return sums;
}

// Long timeout: hundreds of reports are generated and counted.
test('a report of random activity in several time zones equals a count of individual rows', {
  timeout: timeLimit(240_000),
}, async () => {
  const zones = ['Europe/Berlin', 'Asia/Kathmandu', 'America/New_York', 'UTC'];
  let round = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(session, { minLength: 1, maxLength: 12 }),
      fc.array(groupings, { minLength: 8, maxLength: 8 }),
      async (sessions, questions) => {
        const timeZone = zones[round++ % zones.length] as string;
        await useNewPublisher(zones[(round * 3) % zones.length] as string);
        for (const session of sessions) {
          await insertSessions([session]);
          if (session.atMs % 3 === 0) await rollUpAll(testApp, rolledUpMs);
          if (session.atMs % 5 === 0) await compactRollups(testApp.pool, session.atMs + 2 * 86_400_000);
        }
        await rollUpAll(testApp, rolledUpMs);
        await changeZone(timeZone);
        await compactRollups(testApp.pool, rolledUpMs);
        expect(await differences()).toEqual([]);
        for (const by of ['offer', 'campaign'] as const)
          for (const filters of [{}, { country: ['US'] }])
            for (const range of ranges) {
              const expected = count(sessions, { groupBy: [by], filters, aggregatedBy: 'day' }, timeZone);
              expect(await explored(by, filters, timeZone, range)).toEqual(overDays(expected, range));
            }
        for (const question of [...questions, ...byKey]) {
          const usesKey = question.groupBy.includes('custom');
          const rows = await ask({ ...question, timeZone, from: '2026-03-20', customKey: usesKey ? 'plan' : null });
          const actual: Expected = {};
          for (const { time, group, metrics } of rows) {
            // The repeated hour can only be told apart by its UTC offset, which the reference count does not include.
            const key = [time.slice(0, question.aggregatedBy === 'day' ? 10 : 13).replace('T', ' '), ...group].join(
              ' ',
            );
            actual[key] = added(actual[key], [
              metrics.sessions,
              metrics.filled_sessions,
              metrics.impressions,
              metrics.revenue_micros,
            ]);
          }
          expect(actual, JSON.stringify(question)).toEqual(count(sessions, question, timeZone));
        }
      },
    ),
    { numRuns: 10 },
  );
});

test('totals that one job is compacting are not moved to new days by another, and neither job waits', async () => {
  await useNewPublisher('Europe/Berlin');
  await insertSessions([at('2026-03-20T22:30:00Z')]);
  await rollUpAll(testApp, rolledUpMs);
  await testApp.pool.query("update publishers set time_zone = 'Asia/Kathmandu' where id = $1", [publisherId]);
  const compacting = await testApp.pool.connect();
  await compacting.query('begin');
  await compacting.query('select from rollup_publishers where publisher_id = $1 for update', [publisherId]);
  expect(await rebucketNext(testApp.pool, rolledUpMs, 30 * 86_400_000)).toEqual({ hasWork: false });
  await compacting.query('rollback');
  compacting.release();
  await changeZone('Asia/Kathmandu');
  expect(await differences()).toEqual([]);
  expect(await sessionsBy({ timeZone: 'Asia/Kathmandu' })).toEqual({ '2026-03-21': 1 });
});

test('after a change of the time zone, counts of erased users move to their new days like all others', async () => {
  await useNewPublisher('Asia/Kathmandu');
  const gold = { ...at('2026-03-20T10:20:00Z'), plan: 'gold' };
  await insertSessions([
    gold,
    { ...gold, plan: 'silver', offers: [1], seen: [1] },
    { ...gold, atMs: Date.parse('2026-03-20T19:00:00Z') },
  ]);
  await rollUpAll(testApp, rolledUpMs);
  const { rows: sessions } = await testApp.pool.query<{ id: string }>(
    `select id from sessions
    where publisher_id = $1 and (custom ->> 'plan' = 'silver' or created_at > '2026-03-20 12:00+0')`,
    [publisherId],
  );
  const subject = { publisherId, namedBy: 'ad_fp', identifier: '', userKey: '', userKeys: [] } as const;
  const sweep = { subject, until: new Date(rolledUpMs), isSecond: false, nowMs: rolledUpMs };
  await transaction(testApp.pool, async (executor) => {
    const erased = sessions.map(({ id }) => ({ day: '2026-03-20', id, userKey: null, pubUserKeys: [] }));
    await eraseSessions(executor, erased, sweep);
  });
  const byPlan = async (timeZone: string) =>
    (await ask({ timeZone, aggregatedBy: 'day', groupBy: ['custom'], customKey: 'plan' })).map(
      ({ time, group, metrics }) => [time, ...group, metrics.sessions, metrics.impressions],
    );
  expect(await byPlan('Asia/Kathmandu')).toEqual([
    ['2026-03-20', 'gold', 1, 0],
    ['2026-03-20', 'other', 1, 1],
    ['2026-03-21', 'other', 1, 0],
  ]);
  await changeZone('America/New_York');
  expect(await byPlan('America/New_York')).toEqual([
    ['2026-03-20', 'gold', 1, 0],
    ['2026-03-20', 'other', 2, 1],
  ]);
  const rows = await ask({ timeZone: 'America/New_York', groupBy: ['custom', 'country'], customKey: 'plan' });
  expect(rows.map(({ group, metrics }) => [...group, metrics.sessions])).toEqual([
    ['gold', 'DE', 1],
    ['other', 'DE', 2],
  ]);
});

test('hours of an old time zone without raw rows are added to the hours in which they begin', async () => {
  await useNewPublisher('Asia/Kathmandu');
  await insertSessions([
    at('2026-03-20T10:20:00Z'),
    { ...at('2026-03-20T10:20:00Z'), country: 'US' },
    { ...at('2026-03-20T11:20:00Z'), country: 'FR' },
  ]);
  await rollUpAll(testApp, rolledUpMs);
  await testApp.pool.query('delete from sessions where publisher_id = $1', [publisherId]);
  await testApp.pool.query("update publishers set time_zone = 'UTC' where id = $1", [publisherId]);
  while ((await rebucketNext(testApp.pool, rolledUpMs, 30 * 86_400_000)).hasWork);
  await insertSessions([at('2026-03-20T10:05:00Z'), { ...at('2026-03-20T11:05:00Z'), country: 'AT' }]);
  await rollUpAll(testApp, rolledUpMs);
  const rows = await ask({ timeZone: 'UTC', aggregatedBy: 'hour', groupBy: ['country'] });
  expect(rows.map(({ time, group, metrics }) => [time, ...group, metrics.sessions])).toEqual([
    ['2026-03-20T10:00:00Z', 'DE', 2],
    ['2026-03-20T10:00:00Z', 'US', 1],
    ['2026-03-20T11:00:00Z', 'AT', 1],
    ['2026-03-20T11:00:00Z', 'FR', 1],
  ]);
});
