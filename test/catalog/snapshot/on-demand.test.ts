import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isLoaded as isPublisherLoaded, startCatalogStore } from '../../../src/catalog/store.ts';
import type { Snapshot } from '../../../src/catalog/types.ts';
import { buildIndex } from '../../../src/decision/build-index.ts';
import { transaction } from '../../../src/platform/db/pool.ts';
import { hashKey } from '../../../src/platform/http/auth.ts';
import { createLogger } from '../../../src/platform/logger.ts';
import { startProxy } from '../../support/proxy.ts';
import { createTestModules, type TestModules } from '../../support/test-modules.ts';
import { timeLimit } from '../../support/time-limit.ts';

/** Two processes share one database: one loads publishers on first use, the other keeps all of them loaded. */
let lazy: TestModules<'offers' | 'tracking'>;
let whole: TestModules<'offers' | 'tracking'>;
let proxy: Awaited<ReturnType<typeof startProxy>>;
let nowMs = Date.now();
beforeAll(async () => {
  whole = await createTestModules(['offers', 'tracking'], { now: () => nowMs });
  proxy = await startProxy(whole.databaseUrl);
  lazy = await createTestModules(['offers', 'tracking'], {
    databaseUrl: proxy.url,
    now: () => nowMs,
    config: { catalogueMemoryMb: 1 },
  });
});
afterAll(async () => {
  await lazy?.close();
  proxy?.close();
  await whole?.close();
});

/** Changes become visible within a second, or later on a busy machine, so tests poll for them. */
const patiently = { interval: 25 };
const residence = () => lazy.deps.catalog.residence() as NonNullable<ReturnType<typeof lazy.deps.catalog.residence>>;

let publishers = 0;
/** Creates a publisher whose campaigns have one offer each. Its key is also its name. */
async function createPublisher(offers = 3): Promise<{ id: number; key: string }> {
  publishers += 1;
  const key = `on-demand-${publishers}`;
  const id = await transaction(whole.pool, async (executor) => {
    const { rows } = await executor.query<{ id: number }>(
      `insert into publishers (name, sdk_id, default_placement) values ($1, substr(md5($1), 1, 16), 'checkout')
      returning id`,
      [key],
    );
    const publisherId = rows[0]?.id as number;
    await executor.query(
      `with theme as (insert into themes (publisher_id, name, unit, is_default) values ($1, 'Perks', 'mou', true)),
        api_key as (insert into api_keys (publisher_id, name, key_hash, permissions)
          values ($1, $2, decode($3, 'hex'), '{ads/offers}')),
        advertiser as (
          insert into advertisers (publisher_id, name) select $1, 'Shop ' || n from generate_series(1, $4) n
          returning id)
      insert into campaigns (publisher_id, advertiser_id, name, landing_url)
      select $1, id, 'Campaign ' || id, 'https://shop.example/' || id from advertiser`,
      [publisherId, key, hashKey(key), offers],
    );
    await executor.query(
      `insert into offers (publisher_id, campaign_id, title)
      select publisher_id, id, 'Offer of ' || id from campaigns where publisher_id = $1`,
      [publisherId],
    );
    return publisherId;
  });
  await isKnown(id);
  return { id, key };
}

/** Waits until both processes know a publisher. */
const isKnown = (id: number): Promise<void> =>
  expect.poll(() => [lazy, whole].every(({ deps }) => deps.catalog.current().publishers.has(id)), patiently).toBe(true);

const fetchOffers = ({ app }: Pick<typeof lazy, 'app'>, key: string) =>
  app.inject({ method: 'POST', url: `/native/v4/offers.json?api_key=${key}`, payload: { placement: 'checkout' } });

type ShownOffer = { id: number; title: string; campaign_id: number; pixel: string; click_url: string };
async function offersOf(key: string): Promise<ShownOffer[]> {
  const answer = await fetchOffers(lazy, key);
  expect(answer.statusCode).toBe(200);
  return answer.json().data.offers;
}

const offerIdsOf = ({ offers }: Snapshot): number[] => [...offers.keys()];
const isLoaded = (id: number): boolean =>
  [...lazy.deps.catalog.current().offers.values()].some(({ publisherId }) => publisherId === id);

/** Moves the clock until a publisher that exceeds the memory limit has been idle for long enough to be dropped. */
const untilDropped = (id: number): Promise<void> =>
  expect
    .poll(
      () => {
        nowMs += 31_000;
        return isLoaded(id);
      },
      { interval: 1200 },
    )
    .toBe(false);

describe('a process that loads publishers on first use', () => {
  test('has no offers of publishers that it never served', async () => {
    const [served, other] = [await createPublisher(), await createPublisher()];
    expect(offerIdsOf(lazy.deps.catalog.current())).toEqual([]);
    expect(residence()).toMatchObject({ publishers: 0, bytes: 0 });
    expect((await offersOf(served.key)).length).toBe(3);
    expect([isLoaded(served.id), isLoaded(other.id)]).toEqual([true, false]);
    expect(residence().publishers).toBe(1);
  });

  test('has the same catalogue for a publisher as a process that loads everything', async () => {
    const [owner, other] = [await createPublisher(), await createPublisher()];
    await whole.pool.query(
      `insert into campaign_publishers (campaign_id, publisher_id)
      select id, $2 from campaigns where publisher_id = $1`,
      [owner.id, other.id],
    );
    await whole.pool.query(
      'update offers set deleted_at = now() where id = (select min(id) from offers where publisher_id = $1)',
      [owner.id],
    );
    for (const { key } of [owner, other]) await offersOf(key);
    const versions = () => [lazy, whole].map(({ deps }) => deps.catalog.current().version);
    await expect.poll(() => new Set(versions()).size, patiently).toBe(1);
    for (const { id } of [owner, other]) {
      const [loaded, complete] = [lazy, whole].map(({ deps }) => deps.catalog.current().publishers.get(id));
      expect({ ...loaded, index: { ...loaded?.index, isUsed: undefined } }).toEqual(complete);
    }
    expect(lazy.deps.catalog.current().publishers.get(other.id)?.index.offers.length).toBe(5);
  });

  test('loads a publisher once for many requests at a time', async () => {
    const { key } = await createPublisher();
    const before = residence().loads;
    const answers = await Promise.all(Array.from({ length: 20 }, () => fetchOffers(lazy, key)));
    expect(answers.map(({ statusCode }) => statusCode)).toEqual(Array.from({ length: 20 }, () => 200));
    expect(residence().loads - before).toBe(1);
  });

  test('serves a change that was made while the publisher was not loaded', async () => {
    const { id, key } = await createPublisher();
    await whole.pool.query(`update offers set title = 'Changed before' where publisher_id = $1`, [id]);
    expect((await offersOf(key)).map(({ title }) => title)).toEqual(Array(3).fill('Changed before'));
    await whole.pool.query('update campaigns set active = false where publisher_id = $1', [id]);
    await expect.poll(async () => (await offersOf(key)).length, patiently).toBe(0);
  });

  test('serves a change that is made while the publisher is being loaded', async () => {
    const { id, key } = await createPublisher();
    const blocker = await whole.pool.connect();
    try {
      await blocker.query('begin; lock table creatives in access exclusive mode');
      const answer = fetchOffers(lazy, key);
      await expect.poll(() => waitingBackends('creatives'), patiently).toHaveLength(1);
      await blocker.query(`update offers set title = 'Changed meanwhile' where publisher_id = ${id}; commit`);
      expect((await answer).statusCode).toBe(200);
    } finally {
      blocker.release();
    }
    await expect.poll(async () => (await offersOf(key))[0]?.title, patiently).toBe('Changed meanwhile');
  });

  test('answers 503 if its connection is killed during a load, and then loads the publisher', async () => {
    const { key } = await createPublisher();
    const blocker = await whole.pool.connect();
    try {
      await blocker.query('begin; lock table creatives in access exclusive mode');
      const answer = fetchOffers(lazy, key);
      await expect.poll(() => waitingBackends('creatives'), patiently).toHaveLength(1);
      const [pid] = await waitingBackends('creatives');
      await whole.pool.query('select pg_terminate_backend($1)', [pid]);
      expect((await answer).statusCode).toBe(503);
    } finally {
      await blocker.query('rollback');
      blocker.release();
    }
    await expect.poll(async () => (await fetchOffers(lazy, key)).statusCode, patiently).toBe(200);
  });

  test('drops the least recently used publishers when its memory limit is exceeded', async () => {
    const [first, second, third] = [await createPublisher(60), await createPublisher(60), await createPublisher(60)];
    for (const { key } of [first, second, third]) await offersOf(key);
    expect(residence().bytes).toBeGreaterThan(2 ** 20);
    const loaded = () => [first, second, third].map(({ id }) => isLoaded(id));
    expect(loaded()).toEqual([true, true, true]);
    nowMs += 60_000;
    for (const { key } of [second, third]) await offersOf(key);
    await expect.poll(loaded, patiently).toEqual([false, true, true]);
    expect(residence().bytes).toBeLessThan(2 ** 20);
    expect((await offersOf(first.key)).length).toBe(3);
  });

  test('never drops a publisher that was just used, even if its memory limit is exceeded', async () => {
    nowMs += 60_000;
    const large = await createPublisher(150);
    await offersOf(large.key);
    expect(residence().bytes).toBeGreaterThan(2 ** 20);
    const other = await createPublisher();
    await offersOf(other.key);
    expect([large, other].map(({ id }) => isLoaded(id))).toEqual([true, true]);
  });

  test('stays below twice its memory limit if all publishers are requested at once, and serves them', async () => {
    const all: { key: string }[] = [];
    for (let number = 0; number < 15; number += 1) all.push(await createPublisher(40));
    nowMs += 60_000;
    const clock = setInterval(() => {
      nowMs += 6000;
    }, 500);
    const { drops } = residence();
    let mostBytes = 0;
    try {
      await Promise.all(
        all.map(async ({ key }) => {
          expect(await offersOf(key)).toHaveLength(3);
          mostBytes = Math.max(mostBytes, residence().bytes);
        }),
      );
    } finally {
      clearInterval(clock);
    }
    expect(mostBytes).toBeLessThan(2 * 2 ** 20);
    expect(residence().drops - drops).toBeGreaterThan(5);
  });

  test('keeps the caps of each publisher in a batch whose snapshots contain different publishers', async () => {
    nowMs += 60_000;
    const [large, first, second] = [await createPublisher(150), await createPublisher(1), await createPublisher(1)];
    await whole.pool.query('update campaigns set rules = $2 where publisher_id = any($1)', [
      [first.id, second.id],
      {
        total_caps: [{ metric: 'impressions', limit: 1, per: 'lifetime' }],
        frequency_caps: [{ scope: 'campaign', event: 'impression', limit: 5, window_minutes: null }],
      },
    ]);
    await expect.poll(async () => (await offersOf(first.key)).length, patiently).toBe(0);
    await offersOf(large.key);
    let users = 0;
    const ask = ({ key }: { key: string }) => {
      users += 1; // different users, whose histories don't wait for each other
      const payload = { placement: 'checkout', pub_user_id: `capped-${users}` };
      return lazy.app.inject({ method: 'POST', url: `/native/v4/offers.json?api_key=${key}`, payload });
    };
    await ask(first);
    const isCurrent = async (): Promise<boolean> => {
      const { rows } = await whole.pool.query<{ version: string }>('select version from catalog_version');
      return lazy.deps.catalog.current().version === Number(rows[0]?.version);
    };
    await expect.poll(isCurrent, patiently).toBe(true);
    const blocker = await whole.pool.connect();
    const answers: Promise<{ statusCode: number }>[] = [];
    try {
      await blocker.query('begin; lock table sessions in share mode');
      // Two batches run at a time. Later fetches are queued, and committed together.
      for (const batches of [1, 2]) {
        answers.push(ask(first));
        await expect.poll(() => waitingBackends('sessions'), patiently).toHaveLength(batches);
      }
      answers.push(ask(first));
      nowMs += 10_000;
      await expect.poll(() => isLoaded(large.id), { timeout: timeLimit(5000) }).toBe(false);
      answers.push(ask(second));
      await expect.poll(() => isLoaded(second.id), patiently).toBe(true);
    } finally {
      await blocker.query('rollback');
      blocker.release();
    }
    expect((await Promise.all(answers)).map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200]);
    expect(await offersOf(second.key)).toEqual([]);
  });

  test('records beacons and clicks for a publisher that was dropped, and counts them for caps', async () => {
    const { id, key } = await createPublisher(300);
    await whole.pool.query(
      `update campaigns set rules = '{"total_caps":[{"metric":"clicks","limit":5,"per":"lifetime"}]}'
      where publisher_id = $1`,
      [id],
    );
    await expect.poll(async () => (await offersOf(key)).length, patiently).toBe(3);
    const [offer] = await offersOf(key);
    await lazy.app.inject({ url: (offer as ShownOffer).pixel.replace('http://perks.test', '') });
    await untilDropped(id);
    const click = await lazy.app.inject({ url: (offer as ShownOffer).click_url.replace('http://perks.test', '') });
    expect(click.statusCode).toBe(302);
    const { rows } = await whole.pool.query<{ clicks: string }>(
      `select clicks from campaign_usage where campaign_id = $1 and period = 'lifetime'`,
      [offer?.campaign_id],
    );
    expect(rows.map(({ clicks }) => Number(clicks))).toEqual([1]);
  });

  test('gives background jobs the campaigns with limits from all publishers, loaded or not', async () => {
    const { id } = await createPublisher(2);
    const { rows } = await whole.pool.query<{ id: number }>(
      `update campaigns set rules = '{"total_caps":[{"metric":"budget","limit":5,"per":"day"}]}'
      where id = (select min(id) from campaigns where publisher_id = $1) returning id`,
      [id],
    );
    const checkedIds = async () =>
      [...(await lazy.deps.catalog.checked()).offers.values()]
        .filter(({ campaign }) => campaign.publisherId === id)
        .map(({ campaign }) => campaign.id);
    await expect.poll(checkedIds, patiently).toEqual([rows[0]?.id]);
    expect(isLoaded(id)).toBe(false);
  });
});

test('a publisher that is used during a refresh stays loaded', async () => {
  const [used, unused, last] = [await createPublisher(), await createPublisher(), await createPublisher()];
  let onLastIndex = (): void => {};
  const store = await startCatalogStore({
    pool: whole.pool,
    databaseUrl: whole.databaseUrl,
    logger: createLogger('silent'),
    buildIndex: function* (source) {
      if (source.publisher.id === last.id) onLastIndex();
      return yield* buildIndex(source);
    },
    now: () => nowMs,
    limitBytes: 1,
  });
  const isInMemory = ({ id }: { id: number }): boolean => {
    const publisher = store.current().publishers.get(id);
    return publisher !== undefined && isPublisherLoaded(publisher);
  };
  try {
    await store.readyAll([used.id, unused.id, last.id]);
    const ended = new Promise<void>((resolve) => {
      onLastIndex = () => {
        nowMs += 40_000;
        expect(store.ready(used.id)).toBeNull();
        resolve();
      };
    });
    await whole.pool.query(`update offers set title = 'Changed' where publisher_id = any($1)`, [[used.id, last.id]]);
    await ended;
    await expect.poll(() => isInMemory(unused), patiently).toBe(false);
    expect(isInMemory(used)).toBe(true);
  } finally {
    await store.stop();
  }
});

test('operators can manage the block rules of a publisher that is not loaded, and others do not load it', async () => {
  const [operator, publisher] = [await createPublisher(1), await createPublisher()];
  const admin = await createTestModules(['catalog-admin'], {
    databaseUrl: whole.databaseUrl,
    config: { catalogueMemoryMb: 1 },
  });
  const call = async (method: 'GET' | 'PUT' | 'POST', path: string, payload?: object) => {
    const url = `/manage/v1/publishers/${publisher.id}/controls${path}`;
    const headers = { authorization: `Bearer ${operator.key}` };
    const answer = await admin.app.inject({ method, url, headers, ...(payload !== undefined && { payload }) });
    return { status: answer.statusCode, data: answer.json().data };
  };
  const permit = (permission: string) =>
    whole.pool.query('update api_keys set permissions = $2 where publisher_id = $1', [operator.id, [permission]]);
  const loads = () => admin.deps.catalog.residence()?.loads;
  try {
    await permit('configurations');
    await expect.poll(async () => (await call('GET', '')).status, patiently).toBe(404);
    expect(loads()).toBe(1);
    await permit('accounts');
    await expect.poll(async () => (await call('GET', '')).status, patiently).toBe(200);
    expect((await call('GET', '')).data.offers).toEqual({ total: 3, blocked: 0 });
    expect((await call('PUT', '', { blocked: { domains: ['shop.example'] } })).data.offers).toMatchObject({
      blocked: 3,
    });
    await expect.poll(async () => (await call('GET', '/blocked')).data.length, patiently).toBe(3);
    expect((await call('POST', '/test', { landing_url: 'https://shop.example/' })).data.blocked).toBe(true);
  } finally {
    await admin.close();
  }
});

test('without the database, a loaded publisher is served and any other gets 503', async () => {
  const [loaded, cold] = [await createPublisher(), await createPublisher()];
  const list = (key: string) => lazy.app.inject({ url: `/native/v3/catalog.json?api_key=${key}` });
  expect((await list(loaded.key)).statusCode).toBe(200);
  proxy.cut();
  try {
    await expect.poll(() => lazy.deps.dbHealth.isUp(), patiently).toBe(false);
    expect((await list(loaded.key)).statusCode).toBe(200);
    const answer = await list(cold.key);
    expect(answer.statusCode).toBe(503);
    expect(answer.headers['retry-after']).toBe('1');
  } finally {
    proxy.heal();
  }
  await expect.poll(async () => (await list(cold.key)).statusCode, patiently).toBe(200);
});

/** Returns the IDs of the backends that wait for a lock on a table. */
async function waitingBackends(table: string): Promise<number[]> {
  const { rows } = await whole.pool.query<{ pid: number }>(
    `select pid from pg_locks where relation = $1::regclass and not granted
      and database = (select oid from pg_database where datname = current_database())`,
    [table],
  );
  return rows.map(({ pid }) => pid);
}
