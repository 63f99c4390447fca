import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { loadDemoCatalogue, randomDemoIds } from '../../../src/demo/catalogue.ts';
import { transaction } from '../../../src/platform/db/pool.ts';
import { dayMs } from '../../../src/platform/lib/time.ts';
import { newUuid7 } from '../../../src/platform/lib/uuid7.ts';
import { askErasure, eraseNext } from '../../privacy/support.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { deliveriesOf, insertSession, type UspCalls, uspCalls } from './calls.ts';

let t: TestApp;
let usp: UspCalls;
let aheadMs = 0;
beforeAll(async () => {
  t = await createTestApp({ now: () => Date.now() + aheadMs });
  usp = uspCalls(t);
});
afterAll(() => t.close());
afterEach(() => {
  aheadMs = 0;
});

/** Runs `work` with a changed configuration, and undoes the change afterwards. */
async function withConfig(change: string, undo: string, work: () => Promise<void>): Promise<void> {
  await t.pool.query(change);
  await t.deps.catalog.refresh();
  try {
    await work();
  } finally {
    await t.pool.query(undo);
    await t.deps.catalog.refresh();
  }
}

describe('a new session', () => {
  test('is open with nothing selected', async () => {
    const { id, ids } = await usp.fetch();
    const { status, data, headers } = await usp.get(id);
    expect(status).toBe(200);
    expect(data).toEqual({
      session_id: id,
      pub_user_id: 'u-1',
      status: 'open',
      selected: [],
      unselected: ids,
      wrapped_at: null,
    });
    expect(headers['cache-control']).toBe('no-store');
  });

  test('starts with all offers selected if the theme checks all', async () => {
    await withConfig(
      'update themes set usp_check_all = (unit = $$mou$$)',
      'update themes set usp_check_all = false',
      async () => {
        const { id, ids } = await usp.fetch();
        expect((await usp.get(id)).data).toMatchObject({ selected: ids, unselected: [] });
        expect((await usp.unselect(id, ids[1])).data).toMatchObject({
          selected: [ids[0], ids[2]],
          unselected: [ids[1]],
        });
      },
    );
  });

  test('keeps its initial selection when the theme changes later', async () => {
    const { id, ids } = await usp.fetch();
    await withConfig(
      'update themes set usp_check_all = (unit = $$mou$$)',
      'update themes set usp_check_all = false',
      async () => {
        expect((await usp.select(id, ids[0])).data.selected).toEqual([ids[0]]);
      },
    );
  });
});

describe('select and unselect', () => {
  test('change one offer and return the whole session', async () => {
    const { id, ids } = await usp.fetch();
    const selected = await usp.select(id, ids[1]);
    expect(selected).toMatchObject({
      status: 200,
      data: { status: 'open', selected: [ids[1]], unselected: [ids[0], ids[2]] },
    });
    const unselected = await usp.unselect(id, ids[1]);
    expect(unselected).toMatchObject({ status: 200, data: { selected: [], unselected: ids } });
    expect((await usp.get(id)).data).toEqual(unselected.data);
  });

  test('have no further effect when repeated', async () => {
    const { id, ids } = await usp.fetch();
    await usp.select(id, ids[2]);
    expect((await usp.select(id, ids[2])).data.selected).toEqual([ids[2]]);
    await usp.unselect(id, ids[2]);
    expect((await usp.unselect(id, ids[2])).data.selected).toEqual([]);
  });

  test('return the IDs in display order, whatever the order of the changes', async () => {
    const { id, ids } = await usp.fetch();
    for (const campaign of [ids[2], ids[0], ids[1]]) await usp.select(id, campaign);
    expect((await usp.get(id)).data.selected).toEqual(ids);
  });

  test('also accept pub_user_id in the body', async () => {
    const { id, ids } = await usp.fetch();
    expect(await usp.select(id, ids[0], { body: { pub_user_id: 'u-1' } })).toMatchObject({
      status: 200,
      data: { selected: [ids[0]] },
    });
  });

  test('accept a number as the user ID that fetch-offers stored as text', async () => {
    const { id, ids } = await usp.fetch({ pub_user_id: 42 });
    const answer = { status: 200, data: { pub_user_id: '42' } };
    expect(await usp.select(id, ids[0], { body: { pub_user_id: 42 } })).toMatchObject(answer);
    expect(await usp.select(id, ids[0], { user: '42' })).toMatchObject(answer);
  });

  test('recognise a user ID that was sent with surrounding spaces', async () => {
    const { id, ids } = await usp.fetch({ pub_user_id: ' u-9 ' });
    expect(await usp.select(id, ids[0], { user: ' u-9 ' })).toMatchObject({
      status: 200,
      data: { pub_user_id: 'u-9' },
    });
  });

  test('accept the SDK ID, and a session ID in upper case', async () => {
    const { id, ids } = await usp.fetch({}, t.publisher.sdkId);
    const answer = await usp.select(id.toUpperCase(), ids[0], { user: 'u-1', key: t.publisher.sdkId });
    expect(answer).toMatchObject({ status: 200, data: { session_id: id, selected: [ids[0]] } });
  });
});

describe('PUT of the selection', () => {
  test('applies changes and leaves the other offers unchanged', async () => {
    const { id, ids } = await usp.fetch();
    await usp.select(id, ids[0]);
    expect((await usp.put(id, { selected: [ids[2], ids[1]], unselected: [ids[0]] })).data).toMatchObject({
      selected: [ids[1], ids[2]],
    });
    expect((await usp.put(id, { unselected: [ids[1]] })).data.selected).toEqual([ids[2]]);
    expect((await usp.put(id, { selected: [ids[0]] }, { user: 'u-1' })).data.selected).toEqual([ids[0], ids[2]]);
  });

  test('changes nothing without lists or without a body', async () => {
    const { id, ids } = await usp.fetch();
    await usp.select(id, ids[0]);
    expect(await usp.put(id, {})).toMatchObject({ status: 200, data: { selected: [ids[0]] } });
    expect(await usp.put(id)).toMatchObject({ status: 200, data: { selected: [ids[0]] } });
  });

  test('applies no change if one of its campaigns is not in the session', async () => {
    const { id, ids } = await usp.fetch();
    expect(await usp.put(id, { selected: [ids[0], 999_999] })).toMatchObject({
      status: 404,
      code: 'campaign_not_in_session',
    });
    expect(await usp.put(id, { selected: [ids[0]], unselected: [2 ** 40] })).toMatchObject({
      status: 404,
      code: 'campaign_not_in_session',
    });
    expect((await usp.get(id)).data.selected).toEqual([]);
  });

  test.each([
    ['a campaign in both lists', (a: number, b: number) => ({ selected: [a, b], unselected: [b] })],
    ['ids that are not integers', (a: number) => ({ selected: [String(a)] })],
    ['a list that is not an array', (a: number) => ({ selected: a })],
    ['more than 100 ids', (a: number) => ({ selected: Array(101).fill(a) })],
    ['a body that is not an object', (a: number) => [a]],
  ])('responds with 400 to %s', async (_what, bodyOf) => {
    const { id, ids } = await usp.fetch();
    expect(await usp.put(id, bodyOf(ids[0], ids[1]))).toMatchObject({ status: 400, code: 'invalid_request' });
    expect((await usp.get(id)).data.selected).toEqual([]);
  });

  test('gives the same result as a simple set after any sequence of changes', async () => {
    const campaigns = fc.uniqueArray(fc.nat(2), { maxLength: 3 });
    const put = fc
      .tuple(campaigns, campaigns)
      .map(([on, off]) => ({ on, off: off.filter((index) => !on.includes(index)) }));
    await fc.assert(
      fc.asyncProperty(fc.array(put, { minLength: 1, maxLength: 8 }), async (changes) => {
        const { id, ids } = await usp.fetch();
        const model = new Set<number>();
        for (const { on, off } of changes) {
          const [selected, unselected] = [on, off].map((indexes) => indexes.map((index) => ids[index] as number)) as [
            number[],
            number[],
          ];
          for (const campaign of selected) model.add(campaign);
          for (const campaign of unselected) model.delete(campaign);
          const { data } = await usp.put(id, { selected, unselected });
          expect(data.selected).toEqual(ids.filter((campaign) => model.has(campaign)));
          expect(data.unselected).toEqual(ids.filter((campaign) => !model.has(campaign)));
        }
      }),
      { numRuns: 40 },
    );
  });
});

describe('call validation', () => {
  const credentials = (user?: string, key?: string) => ({
    ...(user !== undefined && { user }),
    ...(key !== undefined && { key }),
  });
  const calls = {
    select: (id: string, campaign: number, user?: string, key?: string) =>
      usp.select(id, campaign, credentials(user, key)),
    unselect: (id: string, campaign: number, user?: string, key?: string) =>
      usp.unselect(id, campaign, credentials(user, key)),
    get: (id: string, _campaign: number, user?: string, key?: string) => usp.get(id, credentials(user, key)),
    put: (id: string, _campaign: number, user?: string, key?: string) => usp.put(id, {}, credentials(user, key)),
    wrap: (id: string, _campaign: number, user?: string, key?: string) => usp.wrap(id, credentials(user, key)),
  };
  const all = Object.entries(calls);
  const refusal = (status: number, code: string) => expect.objectContaining({ status, code });

  test.each(all)('404 session_not_found: %s of a session that does not exist', async (_name, call) => {
    const unknownId = newUuid7(Date.now());
    for (const id of [
      unknownId,
      unknownId.replace(/^(.{14})7/, '$14'),
      'x',
      "'; select 1",
      '%00',
      'ffffffff-ffff-7fff-bfff-ffffffffffff',
      '00000000-0000-7000-8000-000000000000',
    ])
      expect(await call(id, 1, 'u-1'), id).toEqual(refusal(404, 'session_not_found'));
  });

  test.each(all)("404 session_not_found: %s of another publisher's session", async (_name, call) => {
    const others = randomDemoIds();
    await transaction(t.pool, (executor) => loadDemoCatalogue(executor, others));
    await t.deps.catalog.refresh();
    const { id, ids } = await usp.fetch({}, others.key);
    expect(await call(id, ids[0], 'u-1')).toEqual(refusal(404, 'session_not_found'));
  });

  test('each of many concurrent calls sees its own session and none of another publisher', async () => {
    const others = randomDemoIds();
    await transaction(t.pool, (executor) => loadDemoCatalogue(executor, others));
    await t.deps.catalog.refresh();
    const mine = await Promise.all(Array.from({ length: 8 }, () => usp.fetch()));
    const theirs = await Promise.all(Array.from({ length: 8 }, () => usp.fetch({}, others.key)));
    const requests = [...mine, ...theirs].flatMap(({ id }) => [
      { id, key: 'demo-key' },
      { id, key: others.key },
    ]);
    const answers = await Promise.all(requests.map(({ id, key }) => usp.get(id, { user: 'u-1', key })));
    for (const [at, { id, key }] of requests.entries()) {
      const isOwn = (key === others.key ? theirs : mine).some((session) => session.id === id);
      if (isOwn) expect(answers[at]).toMatchObject({ status: 200, data: { session_id: id } });
      else expect(answers[at]).toEqual(refusal(404, 'session_not_found'));
    }
  });

  test.each(all)('404 session_not_found: %s with the pub_user_id of another user', async (_name, call) => {
    const { id, ids } = await usp.fetch();
    for (const user of ['u-2', 'U-1', 'u-1\0', 'u-1\0x'])
      expect(await call(id, ids[0], user)).toEqual(refusal(404, 'session_not_found'));
  });

  test.each(all)('400 pub_user_id_required: %s with the SDK ID but without a user', async (_name, call) => {
    const { id, ids } = await usp.fetch();
    const key = t.publisher.sdkId;
    expect(await call(id, ids[0], undefined, key)).toEqual(refusal(400, 'pub_user_id_required'));
    expect(await call(id, ids[0], ' ', key)).toEqual(refusal(400, 'pub_user_id_required'));
    // The response does not reveal whether the session exists.
    expect(await call(newUuid7(Date.now()), 1, undefined, key)).toEqual(refusal(400, 'pub_user_id_required'));
    expect(await call(id, ids[0], 'u-2', key)).toEqual(refusal(404, 'session_not_found'));
    expect(await call(id, ids[0], 'u-1', key)).toMatchObject({ status: 200, data: { pub_user_id: 'u-1' } });
  });

  test.each(all)('allows %s without a user if an API key is used', async (_name, call) => {
    const { id, ids } = await usp.fetch();
    expect(await call(id, ids[0])).toMatchObject({ status: 200, data: { session_id: id, pub_user_id: 'u-1' } });
    expect((await call(id, ids[0], ' ')).status).toBe(200);
  });

  test.each(all)(
    '404 session_not_found: %s of a session whose user has been erased, for any user',
    async (name, call) => {
      const erased = `erased before ${name}`;
      const { id, ids } = await usp.fetch({ pub_user_id: erased });
      await askErasure(t, { pub_user_id: erased });
      while (await eraseNext(t));
      for (const user of [erased, 'u-2'])
        expect(await call(id, ids[0], user, t.publisher.sdkId)).toEqual(refusal(404, 'session_not_found'));
      expect(await call(id, ids[0])).toEqual(refusal(404, 'session_not_found'));
    },
  );

  test.each(all)('400 pub_user_id_required: %s if the fetch had no user', async (_name, call) => {
    const { id, ids } = await usp.fetch({ pub_user_id: '' });
    expect(await call(id, ids[0], 'u-1')).toEqual(refusal(400, 'pub_user_id_required'));
  });

  test.each(all)('403 usp_not_enabled: %s of a session of a single offer unit', async (_name, call) => {
    const { rows } = await t.pool.query("select id from themes where unit = 'sou' and publisher_id = $1", [
      t.publisher.id,
    ]);
    const { id, ids } = await usp.fetch({ themeId: rows[0].id });
    expect(await call(id, ids[0], 'u-1')).toEqual(refusal(403, 'usp_not_enabled'));
  });

  test.each(all)("404 session_not_found: %s of another user's session, with or without perks", async (_name, call) => {
    const { rows } = await t.pool.query("select id from themes where unit = 'sou' and publisher_id = $1", [
      t.publisher.id,
    ]);
    for (const fields of [{}, { themeId: rows[0].id }]) {
      const { id, ids } = await usp.fetch(fields);
      expect(await call(id, ids[0], 'u-2')).toEqual(refusal(404, 'session_not_found'));
    }
  });

  test.each(all)('403 usp_not_enabled: %s after the operator has turned perks off', async (_name, call) => {
    const { id, ids } = await usp.fetch();
    await withConfig(
      'update publishers set usp_enabled = false',
      'update publishers set usp_enabled = true',
      async () => {
        expect(await call(id, ids[0], 'u-1')).toEqual(refusal(403, 'usp_not_enabled'));
      },
    );
  });

  test('404 campaign_not_in_session: select or unselect of an invalid or unseen campaign', async () => {
    const { id, ids } = await usp.fetch();
    for (const campaign of [999_999, 'x', `${ids[0]}x`, `0${ids[0]}`, '1e1', '-1', '99999999999999999999', '%00']) {
      expect(await usp.select(id, campaign)).toEqual(refusal(404, 'campaign_not_in_session'));
      expect(await usp.unselect(id, campaign)).toEqual(refusal(404, 'campaign_not_in_session'));
    }
  });

  test('409 session_wrapped: every change after the wrap, even a day later', async () => {
    const { id, ids } = await usp.fetch();
    await usp.wrap(id);
    for (aheadMs of [0, dayMs + 1000])
      for (const name of ['select', 'unselect', 'put'] as const)
        expect(await calls[name](id, ids[0], 'u-1'), name).toEqual(refusal(409, 'session_wrapped'));
    expect((await usp.get(id)).data).toMatchObject({ status: 'wrapped', selected: [] });
  });

  test('409 session_expired: every change and the wrap 24 hours after the fetch, while GET shows expired', async () => {
    const { id, ids } = await usp.fetch();
    await usp.select(id, ids[0]);
    aheadMs = dayMs - 60_000;
    expect((await usp.select(id, ids[1])).status).toBe(200);
    aheadMs = dayMs + 1000;
    for (const name of ['select', 'unselect', 'put', 'wrap'] as const)
      expect(await calls[name](id, ids[0], 'u-1'), name).toEqual(refusal(409, 'session_expired'));
    expect(await usp.get(id)).toMatchObject({
      status: 200,
      data: { status: 'expired', selected: [ids[0], ids[1]], wrapped_at: null },
    });
    expect(await deliveriesOf(t, id)).toEqual([]);
  });

  test.each([{}, { action: 'open' }, { action: 1 }, { action: ['wrap'] }, undefined])(
    '400 invalid_request: an action other than wrap (%j)',
    async (body) => {
      const { id } = await usp.fetch();
      expect(await usp.call('POST', `session/${id}.json`, { body })).toEqual(refusal(400, 'invalid_request'));
      expect((await usp.get(id)).data.status).toBe('open');
    },
  );

  test('400 invalid_request: a pub_user_id that is too long or neither text nor a number', async () => {
    const { id, ids } = await usp.fetch();
    expect(await usp.select(id, ids[0], { body: { pub_user_id: ['u-1'] } })).toEqual(refusal(400, 'invalid_request'));
    expect(await usp.select(id, ids[0], { body: { pub_user_id: 'u'.repeat(257) } })).toEqual(
      refusal(400, 'invalid_request'),
    );
  });

  test('401 and 403: no key, an invalid key or one without ads/offers', async () => {
    const { id } = await usp.fetch();
    await t.pool.query(
      `insert into api_keys (publisher_id, name, key_hash, permissions)
      values ($1, 'r', sha256('reports-only'), '{reports}')`,
      [t.publisher.id],
    );
    await t.deps.catalog.refresh();
    for (const [key, status, code] of [
      ['', 401, 'missing_key'],
      ['nope', 401, 'unknown_key'],
      ['reports-only', 403, 'permission_denied'],
    ] as const)
      expect(await usp.get(id, { user: 'u-1', key })).toEqual(refusal(status, code));
  });

  test('checks user, session, USP, campaign and state in the documented order', async () => {
    const { id } = await usp.fetch();
    await usp.wrap(id);
    expect(await usp.select(id, 999_999)).toEqual(refusal(404, 'campaign_not_in_session'));
    const key = t.publisher.sdkId;
    expect(await usp.select(id, 999_999, { key })).toEqual(refusal(400, 'pub_user_id_required'));
    const off = newUuid7(Date.now());
    await insertSession(t, { id: off, offerIds: [1], campaignIds: [1], pubUserId: 'u-1', usp: false });
    expect(await usp.select(off, 999_999, {})).toEqual(refusal(403, 'usp_not_enabled'));
  });
});

describe('browsers', () => {
  test.each(['PUT', 'POST', 'GET'])('may call from pages of any origin with %s', async (method) => {
    const answer = await t.app.inject({
      method: 'OPTIONS',
      url: '/sdk/v4/usp/session/x.json',
      headers: {
        origin: 'https://shop.test',
        'access-control-request-method': method,
        'access-control-request-headers': 'content-type',
      },
    });
    expect(answer.statusCode).toBe(204);
    expect(answer.headers['access-control-allow-origin']).toBe('*');
    expect(answer.headers['access-control-allow-methods']).toContain(method);
  });
});
