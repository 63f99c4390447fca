import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createPool } from '../../../src/platform/db/pool.ts';
import { cloneDatabase } from '../../support/database.ts';
import { followHealth } from '../../support/health.ts';
import { type DatabaseProxy, startProxy } from '../../support/proxy.ts';
import { requestOver } from '../../support/request.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let proxy: DatabaseProxy;
beforeAll(async () => {
  database = await cloneDatabase();
  proxy = await startProxy(database.url);
});
afterEach(() => proxy.heal());
afterAll(async () => {
  proxy?.close();
  await database?.drop();
});

/** Opens a separate connection to observe the database. */
async function observe() {
  const pool = createPool({ url: database.url, size: 1, applicationName: 'perkwire-test', onError: () => {} });
  return { pool, close: () => pool.end() };
}

/** Polling interval for conditions, in milliseconds. */
const often = { interval: 20 };

describe('the health of the database', () => {
  const follow = () => followHealth(proxy.url);
  /** Follows the health until the database is up. A busy machine may report it as down at first. */
  async function followUp() {
    const followed = await follow();
    await expect.poll(followed.dbHealth.isUp, often).toBe(true);
    return followed;
  }

  test('is known from the start', async () => {
    const atStart = async () => {
      const { dbHealth, changes } = await follow();
      const states = [dbHealth.isUp(), ...changes];
      await dbHealth.stop();
      return states;
    };
    await expect.poll(atStart, often).toEqual([true, true]);
  });

  test('is down from the start if the database does not respond, and recovers automatically', async () => {
    proxy.cut();
    const { dbHealth, changes } = await follow();
    expect(dbHealth.isUp()).toBe(false);
    proxy.heal();
    await expect.poll(dbHealth.isUp, often).toBe(true);
    expect(changes).toEqual([true]);
    await dbHealth.stop();
  });

  test.each(['cut', 'freeze'] as const)(
    'is down after a connection %s, reports it once, and recovers each time',
    async (kind) => {
      const { dbHealth, changes } = await followUp();
      let reports = 0;
      dbHealth.onDown(() => reports++);
      for (const round of [1, 2, 3]) {
        proxy[kind]();
        await expect.poll(dbHealth.isUp, often).toBe(false);
        expect(reports).toBe(round);
        proxy.heal();
        await expect.poll(dbHealth.isUp, often).toBe(true);
      }
      expect(changes).toEqual([true, false, true, false, true, false, true]);
      await dbHealth.stop();
    },
  );

  test('stays up while other statements are answered, and is down when none are', async () => {
    const { dbHealth, changes } = await followUp();
    proxy.freeze();
    const others = setInterval(dbHealth.sawAnswer, 5);
    await expect.poll(proxy.heldConnections, often).toBeGreaterThan(0);
    const heldMs = performance.now();
    await expect.poll(() => performance.now() - heldMs, often).toBeGreaterThan(600);
    expect(changes).toEqual([true]);
    clearInterval(others);
    await expect.poll(dbHealth.isUp, often).toBe(false);
    await dbHealth.stop();
  });

  test('stays up while this process is too busy to read the responses of the database', async () => {
    const { dbHealth, changes } = await followUp();
    for (let round = 0; round < 8; round++) {
      const endMs = performance.now() + 400;
      while (performance.now() < endMs);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await new Promise((resolve) => setImmediate(resolve));
    expect(changes).toEqual([true]);
    await dbHealth.stop();
  });

  test('stays up when one of its connections is terminated, and probes over a new one', async () => {
    const { dbHealth, changes } = await followUp();
    const { pool, close } = await observe();
    const ofName = 'from pg_stat_activity where datname = current_database() and application_name = $1';
    // Simulate answers on other connections, because a new connection may take longer than the permitted silence on a
    // busy machine.
    const others = setInterval(dbHealth.sawAnswer, 5);
    for (const name of ['perkwire-health', 'perkwire-commit']) {
      const pids = async () =>
        (await pool.query<{ pid: number }>(`select pid ${ofName}`, [name])).rows.map(({ pid }) => pid);
      // The proxy may still keep connections of earlier tests.
      const before = await pids();
      await pool.query(`select pg_terminate_backend(pid) ${ofName}`, [name]);
      const replaced = async () => {
        const after = await pids();
        return after.length === 1 && !before.includes(after[0] as number);
      };
      await expect.poll(replaced, often).toBe(true);
    }
    clearInterval(others);
    expect(changes).toEqual([true]);
    await dbHealth.stop();
    await close();
  });

  test('can be stopped while the database is unavailable', async () => {
    const { dbHealth } = await followUp();
    proxy.freeze();
    await expect.poll(dbHealth.isUp, often).toBe(false);
    // The last probe and the startup of the next connection are held.
    await expect.poll(proxy.heldConnections, often).toBeGreaterThan(1);
    await dbHealth.stop();
  });

  test('reports no change after a stop, even if its last probe is never answered', async () => {
    const { dbHealth, changes } = await followUp();
    proxy.freeze();
    await expect.poll(proxy.heldConnections, often).toBeGreaterThan(0);
    await dbHealth.stop();
    proxy.cut();
    proxy.heal();
    // By the time a second instance gets an answer, the first one would have reported a change.
    await (await followUp()).dbHealth.stop();
    expect(changes).toEqual([true]);
  });
});

type ShownOffer = { pixel: string; click_url: string; beacons: { close: string; no_thanks_click: string } };

describe('while the database is unavailable', () => {
  let t: TestApp;
  let shownOffer: ShownOffer;
  beforeEach(async () => {
    // Long query timeout: a request that waited for a dead connection would never be answered.
    t ??= await createTestApp({ databaseUrl: proxy.url, queryTimeoutMs: 3_600_000 });
    await expect.poll(t.deps.dbHealth.isUp, often).toBe(true);
    await expect.poll(async () => (await fetchOffers()).status, often).toBe(200);
    shownOffer = (await fetchOffers()).offers[0] as ShownOffer;
  });
  afterAll(async () => {
    proxy.heal();
    await t?.close();
  });

  type CallResult = { status: number; retryAfter: unknown; code: string | undefined; offers: ShownOffer[] };

  async function send(method: 'GET' | 'POST', url: string, payload?: object): Promise<CallResult> {
    const answer = await requestOver(t.app, { method, url, payload });
    const json = String(answer.headers['content-type']).includes('json') ? answer.json() : {};
    return {
      status: answer.statusCode,
      retryAfter: answer.headers['retry-after'],
      code: json.error?.code,
      offers: json.data?.offers,
    };
  }

  const fetchOffers = (body: object = {}): Promise<CallResult> =>
    send('POST', '/native/v4/offers.json?api_key=demo-key', { placement: 'checkout', ...body });

  /** Makes one call of each kind that needs the database. */
  const calls = (): Promise<CallResult[]> =>
    Promise.all([
      fetchOffers(),
      fetchOffers({ pub_user_id: 'u-1' }),
      fetchOffers({ dev: '1' }),
      fetchOffers({ placement: `never-seen-${performance.now()}` }),
      send('GET', shownOffer.pixel),
      send('GET', shownOffer.beacons.close),
      send('GET', shownOffer.beacons.no_thanks_click),
      send('GET', shownOffer.click_url),
    ]);

  const refused: CallResult = { status: 503, retryAfter: '1', code: 'unavailable', offers: undefined as never };

  /**
   * Checks that all calls are rejected as soon as the database is known to be unavailable, including calls that are
   * already waiting for it.
   */
  async function expectRefusedOnceDown(answers: Promise<CallResult[]>): Promise<void> {
    let done: CallResult[] | null = null;
    void answers.then((all) => {
      done = all;
    });
    await expect.poll(t.deps.dbHealth.isUp, often).toBe(false);
    await expect.poll(() => done).not.toBeNull();
    expect(done).toEqual((await answers).map(() => refused));
  }

  const settled = async (): Promise<number[]> => (await calls()).map(({ status }) => status);

  describe.each(['cut', 'freeze'] as const)('after a connection %s', (kind) => {
    test('offers and beacons respond with 503 and retry-after, and work again after the recovery', async () => {
      proxy[kind]();
      // Calls fail both before the outage is known and afterwards.
      await expectRefusedOnceDown(calls());
      for (const answer of await calls()) expect(answer).toEqual(refused);
      proxy.heal();
      await expect.poll(settled, often).toEqual([200, 200, 200, 200, 200, 200, 200, 302]);
    });

    test('the process is live but not ready, and ready again after the recovery', async () => {
      expect(await send('GET', '/health/ready')).toMatchObject({ status: 200 });
      proxy[kind]();
      await expect.poll(async () => (await send('GET', '/health/ready')).status, often).toBe(503);
      expect(await send('GET', '/health/ready')).toMatchObject({ status: 503, retryAfter: '1' });
      expect((await t.app.inject('/health/ready')).json()).toMatchObject({ status: 'unavailable', database: false });
      expect(await send('GET', '/health/live')).toMatchObject({ status: 200 });
      proxy.heal();
      await expect.poll(async () => (await send('GET', '/health/ready')).status, often).toBe(200);
    });

    test('requests that need no database work as usual', async () => {
      proxy[kind]();
      await expect.poll(t.deps.dbHealth.isUp, often).toBe(false);
      expect(await send('POST', '/native/v4/offers.json?api_key=nope', { placement: 'p' })).toMatchObject({
        status: 401,
      });
      expect(await send('POST', '/native/v4/offers.json?api_key=demo-key', {})).toMatchObject({ status: 400 });
      expect(await send('GET', '/docs/json')).toMatchObject({ status: 200 });
    });
  });

  test('connections that hang forever do not delay requests after the recovery', async () => {
    const size = t.deps.config.databasePoolSize;
    await Promise.all(Array.from({ length: size }, () => t.pool.query('select pg_sleep(0.1)')));
    expect(t.pool.totalCount).toBe(size);
    proxy.freeze();
    const first = calls();
    await expect.poll(proxy.heldConnections, often).toBeGreaterThan(2);
    // The second round of calls uses the batchers that are still free.
    await expectRefusedOnceDown(Promise.all([first, calls()]).then((rounds) => rounds.flat()));
    proxy.strand();
    await expect.poll(t.deps.dbHealth.isUp, often).toBe(true);
    await expect.poll(settled, often).toEqual([200, 200, 200, 200, 200, 200, 200, 302]);
  });

  test('a catalogue change made during the outage is served after the recovery', async () => {
    proxy.freeze();
    await expect.poll(t.deps.dbHealth.isUp, often).toBe(false);
    const direct = await createTestApp({ databaseUrl: database.url });
    await direct.pool.query("update offers set title = 'Changed meanwhile'");
    await direct.close();
    proxy.heal();
    await expect.poll(async () => JSON.stringify((await fetchOffers()).offers), often).toContain('Changed meanwhile');
  });
});
