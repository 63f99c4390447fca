import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { slotOf } from '../../src/experiments/assign.ts';
import { createTwins, type TestApp } from '../support/test-app.ts';
import { callsOf } from './support.ts';

let twins: Awaited<ReturnType<typeof createTwins>>;
let t: TestApp;
let api: ReturnType<typeof callsOf>;
beforeAll(async () => {
  twins = await createTwins();
  t = twins.first;
  api = callsOf(t);
});
afterEach(() => api.end());
afterAll(() => twins.close());

const arm = (key: string, share: number, changes: object = {}) => ({ key, share, changes });
const halves = (changes: object) => [arm('control', 0.5), arm('b', 0.5, changes)];
const users = Array.from({ length: 60 }, (_, at) => `user-${at}`);

const armsOf = async (calls: typeof api, body: (user: string) => object = (pub_user_id) => ({ pub_user_id })) =>
  Promise.all(users.map(async (user) => (await calls.fetch({ ...body(user) })).experiments?.[0]?.arm));

describe('the assignment of users to arms', () => {
  test('keeps a user in one arm in every version, device and process', async () => {
    await api.start({ key: 'stable', arms: halves({ offers_per_response: 1 }) });
    await twins.second.deps.catalog.refresh();
    const arms = await armsOf(api);
    expect(new Set(arms)).toEqual(new Set(['control', 'b']));
    expect(await armsOf(callsOf(twins.second))).toEqual(arms);
    expect(await armsOf(api, (user) => ({ pub_user_id: user, ad_fp: `device ${user}` }))).toEqual(arms);
    for (const version of [1, 2]) {
      const { experiments } = await api.fetch({ pub_user_id: users[0] }, version);
      expect(experiments).toEqual([{ key: 'stable', arm: arms[0] }]);
    }
  });

  test('matches the configured shares, and leaves the rest outside', async () => {
    await api.start({ key: 'shares', holdout: 0.1, arms: [arm('control', 0.2), arm('b', 0.3)] });
    const { allocation, salt } = (await api.manage('GET', '/shares')).body.data;
    const counts: Record<string, number> = {};
    for (let at = 0; at < 40_000; at += 1) {
      const slot = slotOf(salt, `user ${at}`);
      const range = allocation.find(({ from, to }: { from: number; to: number }) => slot >= from && slot < to);
      const name = range?.arm ?? 'outside';
      counts[name] = (counts[name] ?? 0) + 1;
    }
    for (const [name, share] of Object.entries({ holdout: 0.1, control: 0.2, b: 0.3, outside: 0.4 }))
      expect(Math.abs((counts[name] ?? 0) / 40_000 - share), name).toBeLessThan(0.01);
  });

  test('is not reported for users outside the experiment', async () => {
    await api.start({ key: 'small', arms: [arm('b', 0.0001, { offers_per_response: 1 })] });
    const arms = await armsOf(api);
    expect(arms.filter((arm) => arm === undefined).length).toBeGreaterThan(55);
    const data = await api.fetch({ pub_user_id: users[arms.indexOf(undefined)] });
    expect(data).not.toHaveProperty('experiments');
  });

  test('ignores experiments on other placements', async () => {
    await api.start({ key: 'cart', placements: ['Cart'], arms: [arm('b', 1)] });
    expect(await api.fetch({ pub_user_id: 'u' })).not.toHaveProperty('experiments');
    expect((await api.fetch({ pub_user_id: 'u', placement: 'CART' })).experiments).toEqual([{ key: 'cart', arm: 'b' }]);
  });

  test('applies independent experiments together, each with its own salt', async () => {
    await api.start({ key: 'number', arms: halves({ offers_per_response: 1 }) });
    await api.start({ key: 'delay', arms: halves({ settings: { delay: 77 } }) });
    const experimentLists = await Promise.all(
      users.map(async (pub_user_id) => (await api.fetch({ pub_user_id })).experiments),
    );
    expect(
      new Set(experimentLists.map((list) => JSON.stringify(list.map((experiment: { arm: string }) => experiment.arm))))
        .size,
    ).toBe(4);
  });

  test('can be chosen by a dev fetch, even for a draft, and by no other fetch', async () => {
    await api.manage('POST', '', { key: 'draft', arms: halves({ offers_per_response: 1 }) });
    const requestedArms = { experiments: { draft: 'b', other: 'x', wrong: 7 } };
    const data = await api.fetch({ pub_user_id: 'u', dev: 1, ...requestedArms });
    expect(data.experiments).toEqual([{ key: 'draft', arm: 'b' }]);
    expect(data.offers).toHaveLength(1);
    expect(await api.fetch({ pub_user_id: 'u', ...requestedArms })).not.toHaveProperty('experiments');
  });

  test('is by session if there is no user', async () => {
    await api.start({ key: 'anonymous', arms: halves({}) });
    expect(new Set(await armsOf(api, () => ({})))).toEqual(new Set(['control', 'b']));
  });

  test('adds users when the experiment grows, and keeps existing users in their arms', async () => {
    const growing = (share: number) => [
      { after_hours: 0, share },
      { after_hours: 24, share: 1 },
    ];
    await api.start({ key: 'grow', arms: halves({ offers_per_response: 1 }), ramp: growing(0.3) });
    const first = await armsOf(api);
    const inIt = (arms: readonly unknown[]) => arms.filter((arm) => arm !== undefined).length;
    expect(inIt(first)).toBeGreaterThan(5);
    expect(inIt(first)).toBeLessThan(35);
    expect((await api.manage('PATCH', '/grow', { ramp: growing(0.7) })).body.data.version).toBe(1);
    const second = await armsOf(api);
    expect(inIt(second)).toBeGreaterThan(inIt(first));
    for (const [at, arm] of first.entries()) if (arm !== undefined) expect(second[at]).toBe(arm);
    await t.pool.query("update experiments set started_at = started_at - interval '25 hours'");
    await t.deps.catalog.refresh();
    const all = await armsOf(api);
    expect(inIt(all)).toBe(users.length);
    for (const [at, arm] of second.entries()) if (arm !== undefined) expect(all[at]).toBe(arm);
    const refused = await api.manage('PATCH', '/grow', { ramp: [{ after_hours: 0, share: 0.5 }] });
    expect([refused.status, refused.body.error.details[0].path]).toEqual([409, '/ramp']);
    expect((await api.manage('PATCH', '/grow', { ramp: null })).status).toBe(200);
    expect(await armsOf(api)).toEqual(all);
  });

  test('leaves users not yet included by the ramp in neither the arm nor the outside control', async () => {
    await api.start({
      key: 'half',
      arms: [arm('b', 0.5, { offers_per_response: 1 })],
      ramp: [{ after_hours: 0, share: 0.5 }],
    });
    for (const pub_user_id of users) await api.fetch({ pub_user_id });
    const { rows } = await t.pool.query(
      `select count(*)::int as n from sessions where decision like '%"half"%' and pub_user_id = any($1)
        and created_at > now() - interval '1 minute'`,
      [users],
    );
    expect(rows[0].n).toBeGreaterThan(10);
    expect(rows[0].n).toBeLessThan(50);
  });

  test('is the same arm for all placements of a call', async () => {
    await api.start({ key: 'call', arms: halves({ settings: { delay: 77 } }) });
    for (let turn = 0; turn < 10; turn += 1) {
      const { placements } = await api.fetch({ placements: [{ name: 'one' }, { name: 'two' }] });
      const [one, two] = placements;
      expect(one.experiments).toEqual(two.experiments);
      expect(one.settings.delay).toBe(two.settings.delay);
    }
  });
});

describe('the changes of an arm', () => {
  const dev = (changes: object, name: string) =>
    api
      .manage('POST', '', { key: name, arms: [arm('b', 1, changes)] })
      .then(() => api.fetch({ pub_user_id: 'u', dev: 1, experiments: { [name]: 'b' } }));

  test('can set the number of offers', async () => {
    expect((await dev({ offers_per_response: 2 }, 'number')).offers).toHaveLength(2);
  });

  test('can set the theme', async () => {
    const response = await api.call('POST', '/manage/v1/themes', {
      name: 'Arm',
      unit: 'mou',
      settings: { delay: 123 },
    });
    expect((await dev({ theme_id: response.body.data.id }, 'theme')).settings).toMatchObject({
      delay: 123,
      multi_offer_unit: true,
    });
  });

  test('can set any nested value in settings and styles', async () => {
    const data = await dev({ settings: { delay: 77, offerText: { textColor: '#010203' } } }, 'settings');
    expect(data.settings.delay).toBe(77);
    expect(data.settings.offerText.textColor).toBe('#010203');
    expect(data.styles.settings.delay).toBe(77);
    expect((await api.fetch({ pub_user_id: 'u', dev: 1 })).settings.delay).not.toBe(77);
  });

  test('can set labels', async () => {
    expect((await dev({ labels: { close: 'Not now' } }, 'labels')).labels).toEqual({ close: 'Not now' });
    expect(await api.fetch({ pub_user_id: 'u' })).not.toHaveProperty('labels');
  });

  test('can set the floor', async () => {
    await api.start({ key: 'floor', arms: [arm('b', 1, { floor: 1_000_000 })] });
    expect((await api.fetch({ pub_user_id: 'u' })).offers).toEqual([]);
  });

  test('can set the ranking', async () => {
    await api.start({ key: 'ranking', arms: [arm('b', 1, { ranking: 'fixed' })] });
    const lists = await Promise.all(
      users.map(async (pub_user_id) => (await api.fetch({ pub_user_id })).offers.map(({ id }: { id: number }) => id)),
    );
    expect(new Set(lists.map(String)).size).toBe(1);
  });
});

describe('hold-outs', () => {
  test('get an empty list and reserve nothing, and the offers they would have seen are recorded', async () => {
    await t.pool.query(
      `update campaigns set rules = '{"total_caps":[{"metric":"impressions","per":"day","limit":1000}]}'`,
    );
    await t.deps.catalog.refresh();
    const before = (await t.pool.query('select count(*)::int as n from cap_reservations')).rows[0].n;
    await api.start({ key: 'out', holdout: 1 });
    const data = await api.fetch({ pub_user_id: 'held' });
    expect(data).toMatchObject({ offers: [], count: 0, experiments: [{ key: 'out', arm: 'holdout' }] });
    const { rows } = await t.pool.query('select offer_ids, empty_reason, decision from sessions where id = $1', [
      data.session_id,
    ]);
    expect(rows[0]).toMatchObject({ offer_ids: [], empty_reason: 'held_out' });
    expect(JSON.parse(rows[0].decision)[3].ghost.offers.length).toBeGreaterThan(0);
    expect((await t.pool.query('select count(*)::int as n from cap_reservations')).rows[0].n).toBe(before);
    expect(
      (await api.call('POST', '/native/v4/any.json', { placement: 'checkout', pub_user_id: 'held' })).body.data,
    ).toEqual({
      count: 0,
    });
    const again = await api.call('GET', `/manage/v1/sessions/${data.session_id}/decision`);
    expect(again.body.data, JSON.stringify(again.body)).toMatchObject({
      identical: true,
      offers: [],
      experiments: [{ key: 'out', arm: 'holdout' }],
      would_have_shown: [expect.any(Number), expect.any(Number), expect.any(Number)],
    });
    await t.pool.query("update campaigns set rules = '{}'");
    await t.deps.catalog.refresh();
  });

  test('get all other campaigns if only one campaign is held out', async () => {
    const all = await api.fetch({ pub_user_id: 'u', dev: 1 });
    const [{ campaign_id }] = all.offers;
    await api.start({ key: 'but', holdout: 1, campaign_id });
    for (const pub_user_id of users.slice(0, 20)) {
      const data = await api.fetch({ pub_user_id });
      expect(data.offers.length).toBeGreaterThan(0);
      expect(data.offers.map((offer: { campaign_id: number }) => offer.campaign_id)).not.toContain(campaign_id);
      const again = await api.call('GET', `/manage/v1/sessions/${data.session_id}/decision`);
      expect(again.body.data.identical).toBe(true);
    }
  });

  test('are decided as if in neither if both the unit and a campaign are held out, even when re-decided', async () => {
    const [{ id, campaign_id }] = (await api.fetch({ pub_user_id: 'u', dev: 1 })).offers;
    await api.start({ key: 'but', holdout: 1, campaign_id });
    await api.start({ key: 'out', holdout: 1 });
    const decisions = await Promise.all(
      users.slice(0, 20).map(async (pub_user_id) => {
        const { session_id } = await api.fetch({ pub_user_id });
        return (await api.call('GET', `/manage/v1/sessions/${session_id}/decision`)).body.data;
      }),
    );
    expect(decisions.map(({ identical }) => identical)).toEqual(decisions.map(() => true));
    expect(decisions.flatMap((decision) => decision.would_have_shown)).toContain(id);
  });

  test('decisions of arms are re-decided bit for bit, even after the experiment was removed', async () => {
    await api.start({ key: 'again', arms: [arm('b', 1, { offers_per_response: 2, ranking: 'fixed', floor: 0 })] });
    const data = await api.fetch({ pub_user_id: 'u' });
    await api.end();
    const again = await api.call('GET', `/manage/v1/sessions/${data.session_id}/decision`);
    expect(again.body.data.identical).toBe(true);
    expect(again.body.data.offers).toHaveLength(2);
  });
});

test('the webhook of confirmed perks includes the arm of the session, and is unchanged without one', async () => {
  const wrapped = async (pub_user_id: string) => {
    const { session_id } = await api.fetch({ pub_user_id });
    const done = await api.call('POST', `/sdk/v4/usp/session/${session_id}.json?pub_user_id=${pub_user_id}`, {
      action: 'wrap',
    });
    expect(done.status, JSON.stringify(done.body)).toBe(200);
    const { rows } = await t.pool.query(
      "select payload from deliveries where event = 'usp.selection' order by created_at",
    );
    return JSON.parse(rows.at(-1).payload).body;
  };
  await api.call('PUT', '/manage/v1/webhook-endpoints/usp.selection', { url: 'http://127.0.0.1:9', method: 'POST' });
  expect(await wrapped('before')).not.toHaveProperty('experiments');
  await api.start({ key: 'told', arms: [arm('b', 1)] });
  expect((await wrapped('in-it')).experiments).toEqual([{ key: 'told', arm: 'b' }]);
});
