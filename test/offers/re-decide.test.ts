import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLearner } from '../../src/learning/reading/learner.ts';
import { minuteMs } from '../../src/platform/lib/time.ts';
import { requestOver } from '../support/request.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { timeLimit } from '../support/time-limit.ts';

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp();
});
afterAll(() => t.close());

async function fetchOffers(
  body: object,
  query = '',
): Promise<{ session_id: string; offers: { id: number; pixel: string }[] }> {
  const answer = await t.app.inject({
    method: 'POST',
    url: `/native/v4/offers.json?api_key=demo-key${query}`,
    payload: { placement: 'checkout', ...body },
  });
  expect(answer.statusCode, answer.body).toBe(200);
  return answer.json().data;
}

async function decisionOf(sessionId: string, key = 'demo-key') {
  const answer = await t.app.inject({ url: `/manage/v1/sessions/${sessionId}/decision?api_key=${key}` });
  return { status: answer.statusCode, body: answer.json() };
}

const rules = [
  { frequency_caps: [{ scope: 'campaign', event: 'impression', limit: 2, window_minutes: 60 }] },
  { total_caps: [{ metric: 'impressions', per: 'day', limit: 300 }], pacing: 'even' },
  { targeting: { countries: { include: ['US', 'DE'] } } },
  { conditions: { key: 'basket', op: 'gt', value: 50 } },
  { total_caps: [{ metric: 'budget', per: 'lifetime', limit: 3 }] },
  { targeting: { audiences: { include: ['vip', 'lapsed'] } } },
  { targeting: { audiences: { exclude: ['vip'] } }, conditions: { key: 'plan', op: 'equals', value: 'gold' } },
];

/** Changes audiences and attributes halfway through the test. Fetches are for users 0 to 8. */
async function changeAudiences(vip: readonly string[], lapsed: readonly string[]): Promise<void> {
  const call = async (method: 'PUT' | 'DELETE' | 'POST', path: string, payload: object) => {
    const answer = await t.app.inject({ method, url: `/manage/v1/${path}?api_key=demo-key`, payload });
    expect(answer.statusCode, answer.body).toBeLessThan(300);
  };
  for (const [key, ids] of Object.entries({ vip, lapsed })) {
    const all = Array.from({ length: 9 }, (_, index) => `user ${index}`);
    await call('DELETE', `audiences/${key}/members`, { ids: all });
    await call('PUT', `audiences/${key}/members`, { ids });
    for (const id of all)
      await call('PUT', `users/${encodeURIComponent(id)}`, {
        attributes: { plan: vip.includes(id) ? 'basic' : 'gold' },
      });
  }
}

const agents = [
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) ' +
    'Version/18.1 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/147.0.0.0 Safari/537.36',
  '',
];

type Fetched = Awaited<ReturnType<typeof fetchOffers>>;

/**
 * Records views of the first offers, and clicks for users of the gold tier. Clicks are inserted, because real ones
 * would come too soon after the impression.
 */
async function seeAndClick(answers: readonly Fetched[]): Promise<void> {
  for (const [index, { session_id, offers }] of answers.entries()) {
    if (offers[0] === undefined) continue;
    await requestOver(t.app, { url: offers[0].pixel });
    if (index % 2 === 0) await t.pool.query(clickSql, [session_id]);
  }
}

const clickSql = `insert into events (day, session_id, offer_id, kind, publisher_id, campaign_id, position, at)
  select day, session_id, offer_id, 'click', publisher_id, campaign_id, position, at + interval '3 seconds'
  from events where session_id = $1`;

/** Learns until there is a newer model version that the app then uses. */
async function learnNewVersion(learn: () => Promise<unknown>): Promise<void> {
  const { version } = t.deps.model.current();
  const next = async (): Promise<number> => {
    await learn();
    await t.deps.model.refresh();
    return t.deps.model.current().version;
  };
  await expect.poll(next).toBeGreaterThan(version);
}

describe('a stored decision', () => {
  // Long timeout: 1,000 decisions are made and replayed.
  test('is identical when it is repeated, for 1,000 decisions of all kinds and many model versions', {
    timeout: timeLimit(240_000),
  }, async () => {
    for (const key of ['vip', 'lapsed']) {
      const payload = { key, name: key };
      const response = await t.app.inject({ method: 'POST', url: '/manage/v1/audiences?api_key=demo-key', payload });
      expect(response.statusCode, response.body).toBe(201);
    }
    await changeAudiences(['user 1', 'user 2', 'user 3'], ['user 4']);
    const { rows } = await t.pool.query<{ id: number }>('select id from campaigns order by id');
    for (const [index, { id }] of rows.entries()) {
      await t.pool.query(
        'update campaigns set rules = $2, payout_kind = $3, payout_amount = $4, priority = 100 where id = $1',
        [id, rules[index % 9] ?? {}, ['cpc', 'cpm', 'cpa'][index % 3], 1 + (index % 5) / 7],
      );
    }
    await t.deps.catalog.refresh();
    const ids: string[] = [];
    const learner = createLearner({ ...t.deps, now: () => Date.now() + 2 * minuteMs });
    for (let round = 0; round < 10; round += 1) {
      // The model and the catalogue change, which must not affect replays of earlier decisions.
      if (round > 1) await learnNewVersion(learner.learn);
      if (round === 5) {
        await t.pool.query('update campaigns set weight = weight + 1, payout_amount = payout_amount * 2');
        await t.deps.catalog.refresh();
        await changeAudiences(['user 3', 'user 5'], ['user 1', 'user 8']);
      }
      const answers = await Promise.all(
        Array.from({ length: 100 }, (_, index) =>
          fetchOffers(
            {
              ip: ['8.8.8.8', '203.0.113.1', '1.1.1.1'][index % 3],
              ua: agents[index % 3],
              basket: String(index),
              tier: ['gold', 'free'][index % 2],
              ...(index % 4 === 0 ? {} : { pub_user_id: `user ${index % 9}` }),
              ...(index % 11 === 0 ? { dev: 1 } : {}),
              ...(index % 13 === 0 ? { country: 'DE', creative: 1 } : {}),
              placement: ['checkout', 'order status', `new "${index % 3}"`][index % 3],
            },
            index % 5 === 0 ? '&loyaltyboost=1' : '',
          ),
        ),
      );
      ids.push(...answers.map((answer) => answer.session_id));
      await seeAndClick(answers);
    }
    await learner.stop();
    const { priors } = t.deps.model.current().click.effects;
    expect([...priors].some(([group, prior]) => group.includes('tier') && prior > 0.001)).toBe(true);
    let filled = 0;
    for (const id of ids) {
      const { status, body } = await decisionOf(id);
      expect(status, JSON.stringify(body)).toBe(200);
      expect(body.data, JSON.stringify(body.data)).toMatchObject({ identical: true, session_id: id });
      expect(body.data.replayed).toEqual({ offers: body.data.offers, empty_reason: body.data.empty_reason });
      filled += body.data.offers.length > 0 ? 1 : 0;
    }
    expect(filled).toBeGreaterThan(500);
    const { rows: inputs } = await t.pool.query<{ audiences: string }>(
      `select distinct decision::json -> 3 ->> 'audiences' as audiences from sessions
      where decision::json -> 3 ->> 'audiences' is not null order by 1`,
    );
    expect(inputs.map(({ audiences }) => audiences)).toEqual(['["lapsed"]', '["vip"]']);
    const { rows: versions } = await t.pool.query(
      "select distinct decision::json -> 3 ->> 'modelVersion' as version from sessions",
    );
    expect(versions.length).toBeGreaterThan(7);
    const { rows: stateCounts } = await t.pool.query(
      "select count(*)::int as count from decision_states where id like 'catalog %'",
    );
    expect(stateCounts[0].count).toBeLessThan(20);
  });

  test('is not identical if a stored score differs by 1e-9', async () => {
    const { session_id } = await fetchOffers({});
    const changed = `jsonb_set(decision::jsonb, '{2,0}', to_jsonb((decision::jsonb -> 2 ->> 0)::float8 + 1e-9))::text`;
    await t.pool.query(`update sessions set decision = ${changed} where id = $1`, [session_id]);
    expect((await decisionOf(session_id)).body.data.identical).toBe(false);
  });

  test('gets 404 when its catalogue is no longer stored', async () => {
    const { session_id } = await fetchOffers({});
    await decisionOf(session_id);
    const changed = `jsonb_set(decision::jsonb, '{3,catalogue}', '"catalog 1"')::text`;
    await t.pool.query(
      `update sessions set created_at = created_at - interval '8 days', decision = ${changed} where id = $1`,
      [session_id],
    );
    expect(await decisionOf(session_id)).toMatchObject({ status: 404, body: { error: { code: 'decision_not_kept' } } });
  });
});

describe('access is denied to', () => {
  test("another publisher's decision, as if it did not exist", async () => {
    const { session_id } = await fetchOffers({});
    await t.pool.query("insert into publishers (name, sdk_id) values ('Other', 'ffffffffffffffff')");
    await t.pool.query(
      "update sessions set publisher_id = (select id from publishers where name = 'Other') where id = $1",
      [session_id],
    );
    for (const id of [
      session_id,
      '019a0000-0000-7000-8000-000000000000',
      'ffffffff-ffff-7fff-bfff-ffffffffffff',
      'nonsense',
      "'",
    ])
      expect(await decisionOf(encodeURIComponent(id))).toMatchObject({
        status: 404,
        body: { error: { code: 'session_not_found' } },
      });
  });

  test('a decision for a key without the permission', async () => {
    const { session_id } = await fetchOffers({});
    expect((await decisionOf(session_id, t.publisher.sdkId)).status).toBe(403);
    expect((await decisionOf(session_id, 'made-up')).status).toBe(401);
  });
});
