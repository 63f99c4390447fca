import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { followRules } from '../../src/audiences/rules/follow.ts';
import { dayMs } from '../../src/platform/lib/time.ts';
import { newUuid7 } from '../../src/platform/lib/uuid7.ts';
import { secondSweepMs } from '../../src/privacy/erasures.ts';
import { continueRestoredRollups } from '../../src/reports/restored.ts';
import { addCatalogue, type Caller, createManagementApp, type ManagementApp } from '../catalog/resources/support.ts';
import { signInAs } from '../dashboard/support.ts';
import { eraseNext } from '../privacy/support.ts';
import { holdTable, untilWaiting } from '../support/locks.ts';
import { moveAhead } from '../support/restored.ts';

let t: ManagementApp;
let me: Caller;
let ids: Record<string, number>;
const clock = { ms: Date.now() };
beforeAll(async () => {
  t = await createManagementApp({ now: () => clock.ms });
});
afterAll(() => t?.close());
beforeEach(async () => {
  me = await t.caller(await t.addPublisher());
  ids = await addCatalogue(me);
});

const follow = (isStopped?: () => boolean) =>
  followRules({ pool: t.pool, url: t.databaseUrl, now: () => clock.ms }, isStopped);

/**
 * Evaluates rules until all rows written so far have been read. Transactions in other databases can delay the point up
 * to which rows are read.
 */
async function followAll(): Promise<void> {
  const { rows } = await t.pool.query<{ id: string }>('select pg_current_xact_id()::text as id');
  const behind = `select 1 from audiences a left join audience_progress p on p.audience_id = a.id
    where a.rule is not null and (p.rule is distinct from a.rule or p.read_until <= $1::xid8)`;
  do await follow();
  while ((await t.pool.query(behind, [rows[0]?.id])).rowCount !== 0);
}

async function fetched(body: object = {}) {
  const answer = await t.app.inject({
    method: 'POST',
    url: `/native/v4/offers.json?api_key=${me.key}`,
    payload: { placement: 'checkout', ip: '203.0.113.9', pub_user_id: 'u1', ...body },
  });
  return answer.json().data as { session_id: string; offers: { pixel: string }[] };
}

test('a user who saw an offer often enough is in the audience at the next fetch, until the period ends', async () => {
  const rule = { event: 'impression', times: 2, within_days: 3 };
  expect((await me.call('POST', '/audiences', { key: 'seen', name: 'Seen', rule })).status).toBe(201);
  await me.call('PATCH', `/campaigns/${ids.campaign}`, { rules: { targeting: { audiences: { exclude: ['seen'] } } } });
  for (const [user, times] of [
    ['u1', 2],
    ['u2', 1],
    [null, 2],
  ] as const)
    for (let time = 0; time < times; time++) {
      const { offers } = await fetched(
        user === null ? { pub_user_id: undefined, ad_fp: 'device' } : { pub_user_id: user },
      );
      await hit(offers[0]?.pixel ?? '');
    }
  await followAll();
  const countOffers = async () => [
    (await fetched()).offers.length,
    (await fetched({ pub_user_id: 'u2' })).offers.length,
    (await fetched({ pub_user_id: undefined, ad_fp: 'device' })).offers.length,
  ];
  expect(await countOffers()).toEqual([0, 1, 0]);
  expect((await me.call('GET', '/audiences/seen')).body.data).toMatchObject({ size: 2, rule });
  clock.ms += 3 * dayMs;
  expect(await countOffers()).toEqual([1, 1, 1]);
});

test('an estimate counts the users that a rule would select, before and after they are members', async () => {
  for (const [user, times] of [
    ['u1', 3],
    ['u2', 1],
  ] as const)
    for (let time = 0; time < times; time++) {
      const { offers } = await fetched({ pub_user_id: user });
      await hit(offers[0]?.pixel ?? '');
    }
  const rule = { event: 'impression', times: 2, within_days: 3, campaign_id: ids.campaign };
  const estimate = async (changes: object = {}) =>
    (await me.call('POST', '/audiences/estimate', { rule: { ...rule, ...changes } })).body.data;
  expect(await estimate()).toEqual({
    users: 1,
    by_times: [
      { times: 1, users: 2 },
      { times: 2, users: 1 },
      { times: 3, users: 1 },
      { times: 5, users: 0 },
      { times: 10, users: 0 },
    ],
  });
  expect(await estimate({ times: 1 })).toMatchObject({ users: 2 });
  expect(await estimate({ event: 'click' })).toMatchObject({ users: 0 });
  expect(await estimate({ campaign_id: 999_999 })).toMatchObject({ users: 0 });
  const stranger = await t.caller(await t.addPublisher());
  const foreign = await stranger.call('POST', '/audiences/estimate', { rule });
  expect(foreign.body.data).toMatchObject({ users: 0 });
  expect((await me.call('POST', '/audiences/estimate', { rule: { event: 'bought', within_days: 1 } })).status).toBe(
    400,
  );

  await me.call('POST', '/audiences', { key: 'seen', name: 'Seen', rule });
  await followAll();
  const check = async (body: object) => (await me.call('POST', '/audiences/seen/members/check', body)).body.data;
  const member = await check({ id: 'u1' });
  expect([member.is_member, (member.events as string[]).length]).toEqual([true, 3]);
  expect(Date.parse(String(member.expires_at))).toBeGreaterThan(clock.ms);
  expect(await check({ id: 'u2' })).toMatchObject({ is_member: false, expires_at: null, events: [expect.any(String)] });
  expect((await me.call('POST', '/audiences/seen/members/check', {})).status).toBe(400);
  expect((await me.call('POST', '/audiences/seen/members/check', { id: 'a@mail.example' })).status).toBe(400);
  expect((await me.call('POST', '/audiences/seen/members/check', { sha256_email: 'x' })).status).toBe(400);

  await me.call('POST', '/audiences', { key: 'list', name: 'List' });
  const hash = 'a'.repeat(64);
  await me.call('PUT', '/audiences/list/members', { ids: ['u9'], sha256_emails: [hash] });
  const mailed = await me.call('POST', '/audiences/list/members/check', { sha256_email: hash });
  expect(mailed.body.data).toMatchObject({ is_member: true, expires_at: null });
  const overlap = await me.call('GET', '/audiences/seen/overlap?with=list');
  expect(overlap.body.data).toEqual({ users: 0, size: 1, other_size: 2 });
  expect((await me.call('GET', '/audiences/seen/overlap?with=missing')).status).toBe(404);
  const admin = await signInAs(t, 'admin', me.publisherId);
  const page = `/dashboard/p/${me.publisherId}/audiences`;
  await me.call('PUT', '/audiences/list/members', { ids: ['u1', 'u9'] });
  const { body } = await admin.post(`${page}/seen/overlap`, { other: '' });
  const cells = [...body.matchAll(/<td[^>]*>([\s\S]*?)<\/td>/g)].map(([, cell = '']) =>
    cell.replaceAll(/<[^>]*>/g, ''),
  );
  expect(cells).toEqual(['List', '1', '100%', '33.33%']);
});

test('the uses of an audience are listed, and an audience that is in use cannot be removed', async () => {
  await me.call('POST', '/audiences', { key: 'vips', name: 'VIPs' });
  const rule = { event: 'click', within_days: 7, audience: 'vips' };
  await me.call('POST', '/audiences', { key: 'active-vips', name: 'Active VIPs', rule });
  await me.call('PATCH', `/campaigns/${ids.campaign}`, { rules: { targeting: { audiences: { exclude: ['vips'] } } } });
  const uses = async () => (await me.call('GET', '/audiences/vips/uses')).body.data;
  expect(await uses()).toEqual([
    { kind: 'campaign', id: ids.campaign, name: expect.any(String), active: true, side: 'exclude' },
    { kind: 'audience', key: 'active-vips', name: 'Active VIPs' },
  ]);
  expect((await me.call('DELETE', '/audiences/vips')).status).toBe(409);
  await me.call('PATCH', `/campaigns/${ids.campaign}`, { rules: {} });
  await me.call('DELETE', '/audiences/active-vips');
  expect(await uses()).toEqual([]);
  expect((await me.call('DELETE', '/audiences/vips')).status).toBeLessThan(300);
});

test('manual members, lists turned into rules, and unknown events are rejected for rule audiences', async () => {
  const rule = { event: 'click', within_days: 7 };
  await me.call('POST', '/audiences', { key: 'clicked', name: 'Clicked', rule });
  await me.call('POST', '/audiences', { key: 'list', name: 'List' });
  expect((await me.call('PUT', '/audiences/clicked/members', { ids: ['u1'] })).status).toBe(409);
  expect((await me.call('PATCH', '/audiences/list', { rule })).status).toBe(400);
  expect((await me.call('PATCH', '/audiences/clicked', { rule: null })).status).toBe(400);
  const wrong = { event: 'bought', within_days: 0, times: 0 };
  expect((await me.call('POST', '/audiences', { key: 'x', name: 'X', rule: wrong })).status).toBe(400);
  const refused = async (changes: object) => {
    const { body } = await me.call('POST', '/audiences', { key: 'x', name: 'X', rule: { ...rule, ...changes } });
    return (body as unknown as { error: { details: object[] } }).error.details;
  };
  expect(await refused({ event: 'own:Bad name' })).toEqual([
    {
      path: '/rule/event',
      message: expect.stringMatching(/^The value must be one of impression, .*, or "own:" followed by the name/),
    },
  ]);
  expect(await refused({ event: 'outcome', category: 'Food' })).toEqual([
    { path: '/rule/category', message: 'A rule that counts outcomes cannot use this field. Remove it.' },
  ]);
});

test('an audience that includes itself, even indirectly, is rejected with an explanation', async () => {
  const ruleOf = (audience?: string) => ({ event: 'click', within_days: 7, ...(audience && { audience }) });
  const createAudience = (key: string, audience?: string) =>
    me.call('POST', '/audiences', { key, name: key, rule: ruleOf(audience) });
  const detailOf = ({ body }: { body: object }) => (body as { error: { details: object[] } }).error.details;
  const path = '/rule/audience';
  expect(detailOf(await createAudience('a', 'a'))).toEqual([
    { path, message: 'The rule must not refer to its own audience.' },
  ]);
  expect(detailOf(await createAudience('a', 'b'))).toEqual([{ path, message: 'There is no audience with the key b.' }]);
  for (const [key, audience] of [['a'], ['b', 'a'], ['c', 'b']] as const)
    expect((await createAudience(key, audience)).status).toBe(201);
  expect(detailOf(await me.call('PATCH', '/audiences/a', { rule: ruleOf('c') }))).toEqual([
    { path, message: 'The rule would refer to its own audience through c, b.' },
  ]);
  const refusal = await me.call('DELETE', '/audiences/a');
  expect(refusal.status).toBe(409);
  expect(detailOf(refusal)).toEqual([{ path: '/key', message: 'The rule of the audience b refers to this audience.' }]);
});

const sizes = async () => {
  const { body } = await me.call('GET', '/audiences?limit=20');
  const rows = body.data as unknown as { key: string; size: number }[];
  return Object.fromEntries(rows.map(({ key, size }) => [key, size]));
};

const hit = async (url: string) => {
  const { pathname, search } = new URL(url);
  expect((await t.app.inject({ url: pathname + search })).statusCode).toBe(200);
};

test("rules follow own events by name, the publisher's outcomes, and members of another audience", async () => {
  await me.call('PATCH', `/publishers/${me.publisherId}`, { own_events: ['video_started', 'quiz'] });
  await me.call('POST', '/audiences', { key: 'vip', name: 'VIP' });
  await me.call('PUT', '/audiences/vip/members', { ids: ['u1'] });
  const rules = {
    video: { event: 'own:video_started', times: 2 },
    quiz: { event: 'own:quiz' },
    orders: { event: 'outcome', outcome: 'order', times: 2 },
    any: { event: 'outcome' },
    'vip-any': { event: 'outcome', audience: 'vip' },
    'vip-video': { event: 'own:video_started', audience: 'vip' },
  };
  for (const [key, rule] of Object.entries(rules))
    expect((await me.call('POST', '/audiences', { key, name: key, rule: { within_days: 7, ...rule } })).status).toBe(
      201,
    );
  for (const [pub_user_id, times] of [
    ['u1', 2],
    ['u2', 1],
  ] as const)
    for (let time = 0; time < times; time++) {
      const { offers } = await fetched({ pub_user_id });
      await hit((offers[0] as unknown as { events: Record<string, string> }).events.video_started as string);
    }
  for (const [pub_user_id, name, id] of [
    ['u1', 'order', '1'],
    ['u2', 'order', '2'],
    ['u2', 'order', '3'],
    ['u3', 'visit', '4'],
  ])
    expect((await me.call('POST', '/outcomes', { pub_user_id, name, id })).status).toBe(202);
  await followAll();
  expect(await sizes()).toEqual({ vip: 1, video: 1, quiz: 0, orders: 1, any: 3, 'vip-any': 1, 'vip-video': 1 });
});

test('the share of traffic is the share of sessions whose user is in the audience under any ID', async () => {
  await me.call('POST', '/audiences', { key: 'vip', name: 'VIP' });
  const email_sha256 = 'a'.repeat(64);
  await me.call('PUT', '/audiences/vip/members', { ids: ['u1'], sha256_emails: [email_sha256] });
  await me.call('PATCH', `/campaigns/${ids.campaign}`, { rules: { targeting: { audiences: { exclude: ['vip'] } } } });
  const shareOf = async () => (await me.call('GET', '/audiences/vip/traffic')).body.data;
  expect(await shareOf()).toEqual({ key: 'vip', share: null, sessions: 0, members: [] });
  const { session_id: byId } = await fetched({ ad_fp: 'device' });
  const { session_id: byEmail } = await fetched({ pub_user_id: 'u2', email_sha256 });
  await fetched({ pub_user_id: 'u3' });
  await fetched({ pub_user_id: undefined });
  await fetched({ dev: 1 });
  const member = (session_id: unknown) => ({
    session_id,
    at: expect.any(String),
    placement: 'checkout',
    expires_at: null,
  });
  const sample = (...ids: unknown[]) => expect.arrayContaining(ids.map(member));
  expect(await shareOf()).toEqual({ key: 'vip', share: 0.5, sessions: 4, members: sample(byEmail, byId) });
  await me.call('DELETE', '/audiences/vip/members', { ids: ['u1'] });
  expect(await shareOf()).toEqual({ key: 'vip', share: 0.25, sessions: 4, members: sample(byEmail) });
  expect((await me.call('GET', '/audiences/none/traffic')).status).toBe(404);
});

test('an audience can be read while its rule is being evaluated, and changed or removed afterwards', async () => {
  await t.pool.query('delete from audiences');
  const rule = { event: 'impression', within_days: 7 };
  for (const key of ['a', 'b']) await me.call('POST', '/audiences', { key, name: key, rule });
  for (const change of [
    () => me.call('PATCH', '/audiences/a', { rule: { ...rule, times: 2 } }),
    () => me.call('DELETE', '/audiences/a'),
  ]) {
    const tableLock = await holdTable(t.pool, 'audience_progress');
    const followed = follow();
    try {
      await tableLock.untilWaitedFor();
      expect((await me.call('GET', '/audiences/a/traffic')).status).toBe(200);
      expect((await me.call('PUT', '/audiences/a/members', { ids: ['u1'] })).status).toBe(409);
      const changed = change();
      await untilWaiting(t.pool, 2);
      await tableLock.release();
      expect((await changed).status).toBeLessThan(300);
    } finally {
      await tableLock.release();
      await followed;
    }
  }
});

type Act = { user: number; kind: 'impression' | 'click'; daysAgo: number; dev: boolean; suspicious: boolean };
const acts = fc.array(
  fc.record<Act>({
    user: fc.integer({ min: 0, max: 3 }),
    kind: fc.constantFrom('impression', 'click'),
    daysAgo: fc.integer({ min: 0, max: 6 }),
    dev: fc.boolean(),
    suspicious: fc.boolean(),
  }),
  { maxLength: 12 },
);

/** Inserts rows as fetches and beacons would, each in a separate session. */
async function write(users: readonly string[], userActs: readonly Act[]): Promise<void> {
  for (const { user, kind, daysAgo, dev, suspicious } of userActs) {
    const at = new Date(clock.ms - daysAgo * dayMs);
    const id = newUuid7(clock.ms);
    await t.pool.query(
      `with session as (
        insert into sessions (day, id, publisher_id, placement, user_key, offer_ids, campaign_ids, dev, usp,
          usp_check_all, created_at)
        values ($1::date, $2, $3, 'checkout', $4, array[$5::int], array[$6::int], $7, false, false, $8)
      ) insert into events (day, session_id, offer_id, kind, publisher_id, campaign_id, position, at, suspicious)
      values ($1::date, $2, $5, $9, $3, $6, 1, $8, $10)`,
      [
        ...[new Date(clock.ms).toISOString().slice(0, 10), id, me.publisherId, users[user], ids.offer, ids.campaign],
        ...[dev, at, kind, suspicious ? 'bot' : null],
      ],
    );
  }
}

test('a rule audience matches a query over raw rows, whatever their source and its previous rules', async () => {
  const rules = fc.record({
    event: fc.constantFrom('impression', 'click'),
    times: fc.integer({ min: 1, max: 3 }),
    within_days: fc.integer({ min: 1, max: 6 }),
  });
  await me.call('POST', '/audiences', { key: 'p', name: 'P', rule: { event: 'click', within_days: 1 } });
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(acts, fc.option(rules)), { minLength: 1, maxLength: 3 }), async (steps) => {
      const users = Array.from({ length: 4 }, () => randomUUID());
      for (const [userActs, rule] of steps) {
        await write(users, userActs);
        if (rule !== null) expect((await me.call('PATCH', '/audiences/p', { rule })).status).toBe(200);
        await Promise.all([follow(), follow()]);
        await followAll();
      }
      const { rows } = await t.pool.query<{ members: string[]; expected: string[] }>(
        `select array(
            select m.user_key::text from audience_members m
            where m.audience_id = a.id and m.user_key = any($2) and m.expires_at > $3 order by 1
          ) as members, array(
            select s.user_key::text from events e join sessions s on s.day = e.day and s.id = e.session_id
            where e.kind = a.rule ->> 'event' and e.suspicious is null and not s.dev and s.user_key = any($2)
              and e.at > $3::timestamptz - make_interval(days => (a.rule ->> 'within_days')::int)
            group by 1 having count(*) >= coalesce((a.rule ->> 'times')::int, 1) order by 1
          ) as expected
        from audiences a where a.publisher_id = $1 and a.key = 'p'`,
        [me.publisherId, users, new Date(clock.ms)],
      );
      expect(rows[0]?.members).toEqual(rows[0]?.expected);
    }),
    { numRuns: 15 },
  );
});

test('an audience is filled by long-running statements, which are cancelled when the process stops', async () => {
  await t.pool.query('delete from audiences');
  await me.call('POST', '/audiences', { key: 'new', name: 'New', rule: { event: 'impression', within_days: 7 } });
  await write([randomUUID()], [{ user: 0, kind: 'impression', daysAgo: 0, dev: false, suspicious: false }]);
  let isStopped = false;
  const tableLock = await holdTable(t.pool, 'audience_facts');
  try {
    const stopped = follow(() => isStopped).catch((err: Error) => err);
    await tableLock.untilWaitedFor();
    const { rows } = await t.pool.query(
      `select application_name as name from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`,
    );
    expect(rows).toEqual([{ name: 'perkwire-audiences' }]);
    isStopped = true;
    expect(await stopped).toBeInstanceOf(Error);
  } finally {
    await tableLock.release();
  }
  await followAll();
  expect((await me.call('GET', '/audiences/new')).body.data.size).toBe(1);
});

test('rules count a single campaign, advertiser or category, and an erased user is in no audience', async () => {
  await me.call('PATCH', `/campaigns/${ids.campaign}`, { category: 'Food' });
  const filters = {
    all: {},
    this: { campaign_id: ids.campaign },
    food: { category: 'food' },
    adv: { advertiser_id: ids.advertiser },
  };
  const others = { no1: { campaign_id: 1_000_000 }, no2: { category: 'Cars' }, no3: { event: 'conversion' as const } };
  for (const [key, filter] of Object.entries({ ...filters, ...others })) {
    const rule = { event: 'impression', within_days: 7, ...filter };
    expect((await me.call('POST', '/audiences', { key, name: key, rule })).status).toBe(201);
  }
  await hit((await fetched()).offers[0]?.pixel ?? '');
  await followAll();
  expect(await sizes()).toEqual({ all: 1, this: 1, food: 1, adv: 1, no1: 0, no2: 0, no3: 0 });
  await me.call('DELETE', '/users/u1');
  while (await eraseNext(t));
  clock.ms += secondSweepMs;
  while (await eraseNext(t));
  await followAll();
  expect(Object.values(await sizes())).toEqual([0, 0, 0, 0, 0, 0, 0]);
});

test('a user who is erased while a rule is evaluated counts only with later events', async () => {
  await t.pool.query('delete from audiences');
  for (const [key, times] of [
    ['twice', 2],
    ['once', 1],
  ] as const) {
    const rule = { event: 'impression', times, within_days: 7 };
    expect((await me.call('POST', '/audiences', { key, name: key, rule })).status).toBe(201);
  }
  const sees = async () => hit((await fetched()).offers[0]?.pixel ?? '');
  await sees();
  await sees();
  const { rows } = await t.pool.query<{ id: string }>('select pg_current_xact_id()::text as id');
  await expect
    .poll(
      async () =>
        (await t.pool.query('select 1 where pg_snapshot_xmin(pg_current_snapshot()) > $1', [rows[0]?.id])).rowCount,
    )
    .toBe(1);
  const tableLock = await holdTable(t.pool, 'audience_progress');
  const followed = follow();
  try {
    await tableLock.untilWaitedFor();
    clock.ms += 1000;
    await me.call('DELETE', '/users/u1');
    while (await eraseNext(t));
  } finally {
    await tableLock.release();
    await followed;
  }
  expect(await sizes()).toEqual({ twice: 1, once: 0 });
  clock.ms += 1000;
  await sees();
  await followAll();
  clock.ms += secondSweepMs;
  while (await eraseNext(t));
  expect(await sizes()).toEqual({ twice: 0, once: 1 });
  expect((await t.pool.query('select from audience_facts')).rowCount).toBe(2);
});

test('after a restore, rules include all events from before the dump and since the restore', async () => {
  await t.pool.query('delete from audiences');
  for (const [key, event] of Object.entries({ seen: 'impression', ordered: 'outcome' }))
    await me.call('POST', '/audiences', { key, name: key, rule: { event, within_days: 7 } });
  const act = async (pub_user_id: string) => {
    await hit((await fetched({ pub_user_id })).offers[0]?.pixel ?? '');
    await me.call('POST', '/outcomes', { pub_user_id, name: 'order', id: pub_user_id });
  };
  await act('u1');
  await followAll();
  await act('u2');
  await moveAhead(t.pool);
  await continueRestoredRollups(t.databaseUrl);
  await act('u3');
  await followAll();
  expect(await sizes()).toEqual({ seen: 3, ordered: 3 });
});
