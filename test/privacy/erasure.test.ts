import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { transaction } from '../../src/platform/db/pool.ts';
import { createUserKeys } from '../../src/platform/security/user-key.ts';
import { eraseDueUsers } from '../../src/privacy/erasure-job.ts';
import { sweepUser } from '../../src/privacy/sweep.ts';
import { enqueue } from '../../src/webhooks/outbox.ts';
import { addPublisher, list, save, saveUrlOf } from '../perks/wallet/support.ts';
import {
  addPostbackEndpoint,
  bookings,
  clickOffer,
  createTimedApp,
  postbacks,
  track,
} from '../tracking/conversions/support.ts';
import { call, fetchOffers, showOffer } from '../tracking/journey.ts';
import { askErasure, erase, eraseNext, erasureStatus, tablesWith } from './support.ts';

let t: Awaited<ReturnType<typeof createTimedApp>>;
beforeAll(async () => {
  t = await createTimedApp();
  await addPostbackEndpoint(t, 'https://publisher.example/hook');
});
afterAll(() => t.close());

const sessionOf = async (id: string) => (await t.pool.query('select * from sessions where id = $1', [id])).rows[0];

describe('an erasure by pub_user_id', () => {
  test('removes everything that identifies the user, keeps counts and amounts, and reports completion', async () => {
    const user = { pub_user_id: 'erase-me-17', ad_fp: 'device-17', first_name: 'Rumpelstilzchen', cart: 'c-17' };
    const click = await clickOffer(t, user);
    await track(t, { click_id: click.clickId, payout: '5', txn_id: 'txn-of-17' });
    await save(t, click);
    await call(t, click.beacons.no_thanks_click);
    expect(await tablesWith(t, 'erase-me-17')).toEqual(['deliveries', 'sessions', 'wallet_items']);
    const response = await askErasure(t, { pub_user_id: ' erase-me-17 ' });
    expect([response.statusCode, response.json().data]).toMatchObject([
      202,
      { status: 'pending', finished_at: null, named_by: 'pub_user_id' },
    ]);
    const { id } = response.json().data;
    expect(await eraseNext(t)).toBe(true);
    expect((await erasureStatus(t, id)).json().data.status).toBe('sweeping');
    for (const trace of ['erase-me-17', 'Rumpelstilzchen', 'txn-of-17', 'c-17'])
      expect([trace, await tablesWith(t, trace)]).toEqual([trace, []]);
    expect(await eraseNext(t)).toBe(false);
    t.clock.ms += 30_000;
    expect(await eraseNext(t)).toBe(true);
    expect((await erasureStatus(t, id)).json().data).toMatchObject({
      status: 'done',
      erased: { sessions: 1, deliveries: 1, wallet_items: 1, histories: 1 },
    });
    expect(await bookings(t, click.sessionId)).toMatchObject([{ payout_micros: '5000000', txn_id: null }]);
    expect(await sessionOf(click.sessionId)).toMatchObject({
      user_key: null,
      pub_user_id: null,
      custom: null,
      placement: 'checkout',
    });
    expect(
      (await t.pool.query('select kind from events where session_id = $1 order by kind', [click.sessionId])).rows.map(
        (row) => row.kind,
      ),
    ).toEqual(['click', 'impression', 'no_thanks', 'save']);
    expect((await t.pool.query('select subject_sealed from erasures where id = $1', [id])).rows).toEqual([
      { subject_sealed: null },
    ]);
  });

  test('erases anonymous sessions on the same devices, but not those of other users', async () => {
    const nameless = await fetchOffers(t, { ad_fp: 'shared', colour: 'teal' });
    const own = await fetchOffers(t, { ad_fp: 'shared', pub_user_id: 'first' });
    const elsewhere = await fetchOffers(t, { ad_fp: 'another', pub_user_id: 'first' });
    const others = await fetchOffers(t, { ad_fp: 'shared', pub_user_id: 'second' });
    expect((await erase(t, { pub_user_id: 'first' })).data.erased.sessions).toBe(3);
    for (const { sessionId } of [nameless, own, elsewhere])
      expect(await sessionOf(sessionId)).toMatchObject({ user_key: null, custom: null });
    expect(await sessionOf(others.sessionId)).toMatchObject({ pub_user_id: 'second', erased_at: null });
  });

  test('erases a user with more sessions than fit into one transaction', async () => {
    await Promise.all(Array.from({ length: 450 }, () => fetchOffers(t, { pub_user_id: 'frequent' })));
    expect((await erase(t, { pub_user_id: 'frequent' })).data.erased.sessions).toBe(450);
    expect(await tablesWith(t, 'frequent')).toEqual([]);
  });
});

test("publishers take turns, so that an erasure does not wait for another publisher's backlog", async () => {
  for (let user = 0; user < 20; user += 1) await askErasure(t, { pub_user_id: `of many ${user}` });
  t.clock.ms += 1000;
  const { publisher: other } = await addPublisher(t);
  const { id } = (await askErasure(t, { pub_user_id: 'only one' }, other.key)).json().data;
  for (let turn = 0; turn < 2; turn += 1) await eraseNext(t);
  expect((await erasureStatus(t, id, other.key)).json().data.status).toBe('sweeping');
  while (await eraseNext(t));
  t.clock.ms += 30_000;
  while (await eraseNext(t));
  expect((await t.pool.query('select 1 from erasures where finished_at is null')).rows).toEqual([]);
});

test('erasures are listed in pages, newest first', async () => {
  const erasureIds: string[] = [];
  for (const user of ['a', 'b', 'c']) {
    erasureIds.unshift((await askErasure(t, { pub_user_id: `listed ${user}` })).json().data.id);
    t.clock.ms += 1000;
  }
  const url = `/manage/v1/privacy/erasure?api_key=${t.publisher.key}`;
  const page = async (query: string) => (await t.app.inject(url + query)).json();
  const first = await page('&limit=2');
  expect(first.data.map(({ id }: { id: string }) => id)).toEqual(erasureIds.slice(0, 2));
  expect((await page(`&limit=1&cursor=${first.next_cursor}`)).data).toMatchObject([{ id: erasureIds[2] }]);
  for (const limit of ['0', '101', 'x', '1.5'])
    expect((await page(`&limit=${limit}`)).error.code).toBe('invalid_request');
});

test('an erasure by ad_fp covers the sessions of the device and the offers saved from them', async () => {
  const onDevice = await showOffer(t, { ad_fp: 'phone-1', pub_user_id: 'owner-1' });
  const elsewhere = await showOffer(t, { ad_fp: 'laptop-1', pub_user_id: 'owner-1' });
  await save(t, onDevice);
  expect((await erase(t, { ad_fp: 'phone-1' })).data.erased).toMatchObject({ sessions: 1, wallet_items: 1 });
  expect(await sessionOf(onDevice.sessionId)).toMatchObject({ pub_user_id: null });
  expect(await sessionOf(elsewhere.sessionId)).toMatchObject({ pub_user_id: 'owner-1' });
});

test('an erasure renews its lease after each batch of any number of webhooks', async () => {
  const delivery = {
    publisherId: t.publisher.id,
    event: 'conversion',
    sessionId: null,
    pubUserId: 'of many webhooks',
    dev: false,
  };
  const payload = () => Buffer.from('{}');
  const events = Array.from({ length: 450 }, () => ({ ...delivery, payload, nowMs: t.clock.ms }));
  await transaction(t.pool, (executor) => enqueue(executor, events));
  const subject = {
    publisherId: t.publisher.id,
    namedBy: 'pub_user_id',
    identifier: delivery.pubUserId,
    userKey: keyOf(delivery.pubUserId),
    userKeys: [keyOf(delivery.pubUserId)],
  } as const;
  const work = { erasureId: keyOf('none'), subject, until: new Date(t.clock.ms), isSecond: false, nowMs: t.clock.ms };
  const pieces: number[] = [];
  const userKeys = createUserKeys(t.deps.config.userPepper);
  await sweepUser(
    { pool: t.pool, userKeys, userData: t.contributions.userData },
    work,
    async ({ deliveries = 0 }) => void pieces.push(deliveries),
  );
  expect(pieces.filter((count) => count > 0)).toEqual([200, 200, 50]);
});

test('pending webhooks of the user fail and are never sent, and the counts stay reconciled', async () => {
  const offer = await showOffer(t, { pub_user_id: 'awaited-77' });
  const delivery = {
    publisherId: t.publisher.id,
    event: 'conversion',
    sessionId: offer.sessionId,
    pubUserId: 'awaited-77',
    dev: false,
  };
  const [pending = '', delivered = '', held = ''] = (
    await Promise.all(
      [1, 2, 3].map(() =>
        transaction(t.pool, (executor) =>
          enqueue(executor, [{ ...delivery, payload: () => Buffer.from('{"u":"awaited-77"}'), nowMs: t.clock.ms }]),
        ),
      ),
    )
  ).flat();
  await t.pool.query("update deliveries set status = 'delivered', finished_at = created_at where id = $1", [delivered]);
  await t.pool.query("update deliveries set status = 'held' where id = $1", [held]);
  await t.pool.query('delete from delivery_queue where delivery_id = any($1)', [[delivered, held]]);
  await t.pool.query(
    `insert into delivery_attempts
      (day, delivery_id, generation, publisher_id, endpoint_id,
        response_body, response_headers, error_message, request)
    select day, id, 1, publisher_id, endpoint_id,
      'hello awaited-77', '{"x-user":"awaited-77"}', 'awaited-77', '{"url":"https://x/?u=awaited-77"}'
    from deliveries where id = $1`,
    [delivered],
  );
  await erase(t, { pub_user_id: 'awaited-77' });
  const { rows } = await t.pool.query(
    'select id, status, finished_at is not null as finished from deliveries where id = any($1)',
    [[pending, delivered, held]],
  );
  expect(new Map(rows.map((row) => [row.id, [row.status, row.finished]]))).toEqual(
    new Map([
      [pending, ['failed', true]],
      [delivered, ['delivered', true]],
      [held, ['failed', true]],
    ]),
  );
  expect((await t.pool.query('select 1 from delivery_queue where delivery_id = $1', [pending])).rowCount).toBe(0);
  expect(await tablesWith(t, 'awaited-77')).toEqual([]);
});

describe('after an erasure', () => {
  test('late beacons, saves and conversions of old sessions do not restore the user', async () => {
    const offer = await showOffer(t, { pub_user_id: 'late-user', ad_fp: 'late-device' });
    const click = await clickOffer(t, { pub_user_id: 'late-user', ad_fp: 'late-device', note: 'late-note' });
    await erase(t, { pub_user_id: 'late-user' });
    expect((await call(t, offer.pixel)).statusCode).toBe(200);
    expect((await call(t, offer.beacons.no_thanks_click)).statusCode).toBe(200);
    expect((await save(t, offer)).statusCode).toBe(403);
    expect((await t.app.inject({ method: 'GET', url: saveUrlOf(offer) })).statusCode).toBe(403);
    const conversion = { click_id: click.clickId, payout: '2', txn_id: 'late-txn' };
    expect((await track(t, conversion)).json()).toMatchObject({ message: 'recorded' });
    expect((await track(t, conversion)).json()).toMatchObject({ message: 'duplicate' });
    expect(await postbacks(t, click.sessionId)).toMatchObject([
      { payout: 2, pub_user_id: '', txn_id: '', payload: {} },
    ]);
    for (const trace of ['late-user', 'late-note', 'late-txn']) expect(await tablesWith(t, trace)).toEqual([]);
    expect(
      (
        await t.pool.query('select count(*)::int as count from user_history where user_key = $1', [
          keyOf('late-device'),
        ])
      ).rows[0].count,
    ).toBe(0);
    const wrap = await t.app.inject({
      method: 'POST',
      url: `/sdk/v4/usp/session/${offer.sessionId}.json?api_key=${t.publisher.key}`,
      payload: { action: 'wrap', pub_user_id: 'late-user' },
    });
    expect(wrap.statusCode).toBeGreaterThanOrEqual(400);
  });

  test('the user may start again, and later sessions are kept', async () => {
    const old = await showOffer(t, { pub_user_id: 'returns' });
    await save(t, old);
    const { id } = (await askErasure(t, { pub_user_id: 'returns' })).json().data;
    t.clock.ms += 10;
    const anew = await showOffer(t, { pub_user_id: 'returns' });
    while (await eraseNext(t));
    await save(t, anew);
    await call(t, anew.beacons.no_thanks_click);
    t.clock.ms += 30_000;
    while (await eraseNext(t));
    expect((await erasureStatus(t, id)).json().data).toMatchObject({
      status: 'done',
      erased: { sessions: 1, wallet_items: 1 },
    });
    expect(await sessionOf(old.sessionId)).toMatchObject({ pub_user_id: null });
    expect(await sessionOf(anew.sessionId)).toMatchObject({ pub_user_id: 'returns' });
    expect((await list(t, 'returns')).json().data.count).toBe(1);
    expect((await fetchOffers(t, { pub_user_id: 'returns' })).offers.map((offer) => offer.campaign_id)).not.toContain(
      anew.campaign_id,
    );
  });

  test('the second sweep erases rows that in-flight requests wrote after the first one', async () => {
    const offer = await showOffer(t, { pub_user_id: 'racing' });
    await askErasure(t, { pub_user_id: 'racing' });
    const lateId = offer.sessionId;
    while (await eraseNext(t));
    await t.pool.query(
      `insert into wallet_items
        (user_key, offer_id, publisher_id, campaign_id, session_id, position, pub_user_id, saved_at)
      values ($1, $2, $3, $4, $5, 1, 'racing', now())`,
      [keyOf('racing'), offer.id, t.publisher.id, offer.campaign_id, lateId],
    );
    await t.pool.query("update sessions set pub_user_id = 'racing', user_key = $2 where id = $1", [
      lateId,
      keyOf('racing'),
    ]);
    t.clock.ms += 30_000;
    while (await eraseNext(t));
    expect(await tablesWith(t, 'racing')).toEqual([]);
  });
});

test.each(['pub_user_id', 'ad_fp'] as const)(
  'by %s, the second sweep erases rows from in-flight requests for a session that was emptied',
  async (namedBy) => {
    const user = {
      pub_user_id: `under way ${namedBy}`,
      ad_fp: `device under way ${namedBy}`,
      cart: `cart under way ${namedBy}`,
    };
    const click = await clickOffer(t, user);
    await askErasure(t, { [namedBy]: user[namedBy] });
    while (await eraseNext(t));
    // Events written by calls that had read the session before the erasure.
    const events = [
      {
        publisherId: t.publisher.id,
        event: 'conversion',
        sessionId: click.sessionId,
        pubUserId: user.pub_user_id,
        dev: false,
        payload: () => Buffer.from(JSON.stringify(user)),
        nowMs: t.clock.ms,
      },
    ];
    const [id] = await transaction(t.pool, (executor) => enqueue(executor, events));
    await track(t, { click_id: click.clickId, payout: '3', txn_id: `txn under way ${namedBy}` });
    await t.pool.query(
      `insert into wallet_items
        (user_key, offer_id, publisher_id, campaign_id, session_id, position, pub_user_id, saved_at)
    values ($1, $2, $3, $4, $5, 1, $6, now())`,
      [keyOf(user.pub_user_id), click.id, t.publisher.id, click.campaign_id, click.sessionId, user.pub_user_id],
    );
    await t.pool.query(
      "insert into user_history (user_key, publisher_id, opt_outs, updated_at) values ($1, $2, '{}', now())",
      [keyOf(user.ad_fp), t.publisher.id],
    );
    t.clock.ms += 30_000;
    while (await eraseNext(t));
    expect(await tablesWith(t, 'under way')).toEqual([]);
    expect((await t.pool.query('select status from deliveries where id = $1', [id])).rows).toEqual([
      { status: 'failed' },
    ]);
    expect(await tablesWith(t, keyOf(user.ad_fp))).toEqual(namedBy === 'ad_fp' ? ['erasures'] : []);
  },
);

test('an erasure that a worker did not finish is continued by another worker', async () => {
  await fetchOffers(t, { pub_user_id: 'halfway' });
  const { id } = (await askErasure(t, { pub_user_id: 'halfway' })).json().data;
  const dying = {
    ...t.deps,
    pool: { connect: () => Promise.reject(new Error('killed')), query: t.pool.query.bind(t.pool) } as never,
  };
  expect(await eraseNext({ ...t, deps: dying })).toBe(true);
  expect(await eraseNext(t)).toBe(false);
  t.clock.ms += 15_001;
  expect(await eraseNext(t)).toBe(true);
  expect(await tablesWith(t, 'halfway')).toEqual([]);
  expect((await erasureStatus(t, id)).json().data.erased.sessions).toBe(1);
});

test('an erasure that keeps failing does not block others', async () => {
  const broken = (await askErasure(t, { pub_user_id: 'of a lost key' })).json().data;
  await t.pool.query("update erasures set subject_sealed = 'no longer readable' where id = $1", [broken.id]);
  t.clock.ms += 1;
  const next = (await askErasure(t, { pub_user_id: 'next in line' })).json().data;
  await eraseDueUsers({ ...t.deps, userData: t.contributions.userData }, () => false);
  expect((await erasureStatus(t, next.id)).json().data.status).toBe('sweeping');
  expect((await erasureStatus(t, broken.id)).json().data.status).toBe('pending');
  await t.pool.query('delete from erasures where id = $1', [broken.id]);
});

describe('a request', () => {
  test('needs the permission and exactly one user identifier', async () => {
    expect((await askErasure(t, { pub_user_id: 'x' }, t.publisher.sdkId)).statusCode).toBe(403);
    expect((await askErasure(t, { pub_user_id: 'x' }, 'nobody')).statusCode).toBe(401);
    for (const body of [
      {},
      { pub_user_id: '  ' },
      { pub_user_id: 'a', ad_fp: 'b' },
      { pub_user_id: 'a\0' },
      { pub_user_id: 'x'.repeat(257) },
      { pub_user_id: ['a'] },
    ])
      expect([body, (await askErasure(t, body)).statusCode]).toEqual([body, 400]);
  });

  test("covers only the publisher's own users and shows only its own jobs", async () => {
    const other = await addPublisher(t);
    await fetchOffers(other, { pub_user_id: 'same-name' });
    const { id } = (await askErasure(t, { pub_user_id: 'same-name' })).json().data;
    while (await eraseNext(t));
    expect(await tablesWith(t, 'same-name')).toEqual(['sessions']);
    expect((await erasureStatus(t, id, other.publisher.key)).statusCode).toBe(404);
    expect((await erasureStatus(t, 'x')).statusCode).toBe(404);
    expect((await erasureStatus(t, '0197a000-0000-7000-8000-000000000001')).json().error.code).toBe(
      'erasure_not_found',
    );
  });
});

const keyOf = (identifier: string): string => createUserKeys(t.deps.config.userPepper).of(t.publisher.id, identifier);
