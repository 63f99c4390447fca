import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type OpenEventLog, openEventLog, partitionOf, partitions } from '../../src/event-log/event-log.ts';
import { connectToLog, type LogConnection } from '../../src/event-log/jetstream.ts';
import { encodeMessage } from '../../src/event-log/message.ts';
import type { Stoppable } from '../../src/platform/jobs.ts';
import { hourMs } from '../../src/platform/lib/time.ts';
import { newUuid7 } from '../../src/platform/lib/uuid7.ts';
import { createLogger } from '../../src/platform/logger.ts';
import { StartupError } from '../../src/platform/startup-error.ts';
import { jobsOf, runJobs } from '../../src/runtime/run-jobs.ts';
import { cloneDatabase } from '../support/database.ts';
import { untilWaiting } from '../support/locks.ts';
import { hasNats, type NatsServers, startNats } from '../support/nats.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { clickIdOf, track } from '../tracking/conversions/support.ts';
import {
  call,
  googlebot,
  type ShownOffer,
  showOffer,
  startRelay,
  storedEvents,
  trackedEvent,
} from '../tracking/journey.ts';

const settingOf = (url: string, stream = 'TEST_EVENTS') => ({
  servers: url.replace('nats://', '').split(','),
  login: {},
  stream,
  replicas: 1,
});

const metricsToken = 'metrics-token-'.repeat(3);
const metricsOf = async ({ app }: TestApp): Promise<string> =>
  (await app.inject({ url: '/metrics', headers: { authorization: `Bearer ${metricsToken}` } })).body;

/** Returns the lag of each partition, in seconds. */
const lagOf = async (t: TestApp): Promise<number[]> =>
  [...(await metricsOf(t)).matchAll(/^perkwire_event_log_lag_seconds\{[^}]*\} (\S+)$/gm)].map(([, value]) =>
    Number(value),
  );

/** Returns the event log that the application has opened. */
const openLogOf = ({ contributions }: TestApp) => contributions.eventLog as OpenEventLog | null;

describe.skipIf(!hasNats)('the event log', () => {
  let nats: NatsServers;
  let database: Awaited<ReturnType<typeof cloneDatabase>>;
  let relay: Awaited<ReturnType<typeof startRelay>>;
  let t: TestApp;
  let jobs: Stoppable;
  let stoppedAtMs: number | null = null;
  const startConsumer = async (): Promise<void> => {
    jobs = await runJobs(
      jobsOf(t.contributions, t.deps).filter(({ name }) => name.startsWith('event log')),
      t.deps,
    );
  };
  beforeAll(async () => {
    nats = await startNats();
    database = await cloneDatabase();
    relay = await startRelay(database.url);
    t = await createTestApp({
      databaseUrl: relay.url,
      config: { metricsToken, eventLog: settingOf(nats.url) },
      now: () => stoppedAtMs ?? Date.now(),
    });
    await startConsumer();
  });
  afterAll(async () => {
    await jobs?.stop();
    await t?.close();
    relay?.close();
    await nats?.close();
    await database?.drop();
  });

  const cut = async (): Promise<void> => {
    relay.cut();
    await expect.poll(t.deps.dbHealth.isUp).toBe(false);
  };
  const restore = async (): Promise<void> => {
    relay.restore();
    await expect.poll(t.deps.dbHealth.isUp).toBe(true);
  };
  const storedOf = async ({ sessionId }: { sessionId: string }): Promise<string[]> => {
    const { rows } = await t.pool.query<{ kind: string; suspicious: string | null }>(
      `select kind, suspicious from events where session_id = $1 and kind not in ('save', 'selection')
      order by kind`,
      [sessionId],
    );
    return rows.map(({ kind, suspicious }) => (suspicious === null ? kind : `${kind}: ${suspicious}`));
  };
  const urlsOf = ({ pixel, beacons, click_url }: ShownOffer): string[] => [
    pixel,
    beacons.close,
    beacons.no_thanks_click,
    click_url,
  ];
  const statusesOf = async (urls: readonly string[]): Promise<number[]> => {
    const statuses: number[] = [];
    for (const url of urls) statuses.push((await call(t, url)).statusCode);
    return statuses;
  };

  test('stores events once each with their suspicion reasons, as without the log', async () => {
    const [viewedOffer, unseen, fast, bot] = [
      await showOffer(t),
      await showOffer(t),
      await showOffer(t),
      await showOffer(t),
    ];
    await statusesOf([viewedOffer.pixel, viewedOffer.pixel, viewedOffer.beacons.close, unseen.click_url, unseen.pixel]);
    stoppedAtMs = Date.now();
    await statusesOf([fast.pixel, fast.click_url]);
    stoppedAtMs = null;
    await call(t, bot.pixel, { 'user-agent': googlebot });
    await expect.poll(() => storedOf(viewedOffer)).toEqual(['close', 'impression']);
    await expect.poll(() => storedOf(unseen)).toEqual(['click: no_impression', 'impression']);
    await expect.poll(() => storedOf(fast)).toEqual(['click: too_fast', 'impression']);
    await expect.poll(() => storedOf(bot)).toEqual(['impression: bot']);
  });

  test('accepts beacons and clicks while the database is unavailable, and stores them later', async () => {
    const offer = await showOffer(t);
    const direct = await call(t, offer.click_url);
    await cut();
    expect((await t.app.inject('/health/ready')).json()).toMatchObject({ database: false, event_log: true });
    expect((await t.app.inject('/health/tracking')).statusCode).toBe(200);
    expect(await statusesOf(urlsOf(offer))).toEqual([200, 200, 200, 302]);
    // Session values in the landing URL are empty. The rest of the URL is unchanged.
    const location = String(direct.headers.location).replace('placement=checkout', 'placement=');
    expect((await call(t, offer.click_url)).headers.location).toBe(location);
    await restore();
    await expect.poll(() => storedOf(offer)).toEqual(['click: no_impression', 'close', 'impression', 'no_thanks']);
  });

  test('applies a "no thanks" to the next fetch', async () => {
    const user = { pub_user_id: 'no-thanks-through-the-log' };
    const offer = await showOffer(t, user);
    await call(t, offer.beacons.no_thanks_click);
    await expect.poll(async () => (await showOffer(t, user)).campaign_id).not.toBe(offer.campaign_id);
  });

  test('is replaced by direct writes to PostgreSQL while it is unavailable, and used again afterwards', async () => {
    await nats.kill(0);
    const offer = await showOffer(t);
    expect(await statusesOf([offer.pixel, offer.click_url])).toEqual([200, 302]);
    expect(await storedOf(offer)).toEqual(expect.arrayContaining(['impression']));
    expect((await t.app.inject('/health/ready')).json()).toMatchObject({ status: 'ok', event_log: false });
    await nats.start(0);
    await expect.poll(() => openLogOf(t)?.isUp()).toBe(true);
    const next = await showOffer(t);
    await cut();
    expect(await statusesOf([next.pixel])).toEqual([200]);
    await restore();
    await expect.poll(() => storedOf(next)).toEqual(['impression']);
  });

  test('restores events to a database that lost its last transactions', async () => {
    const offer = await showOffer(t);
    await statusesOf([offer.pixel]);
    await expect.poll(() => storedOf(offer)).toEqual(['impression']);
    await t.pool.query('delete from events where session_id = $1', [offer.sessionId]);
    await t.pool.query('update event_log_positions set sequence = 0');
    await expect.poll(() => storedOf(offer)).toEqual(['impression']);
  });

  test('restores events to a database that lost its last transactions while more messages arrive', async () => {
    const offer = await showOffer(t);
    await statusesOf([offer.pixel]);
    await expect.poll(() => storedOf(offer)).toEqual(['impression']);
    const holder = await t.pool.connect();
    await holder.query('begin');
    await holder.query('update event_log_positions set sequence = 0');
    await statusesOf([offer.beacons.close]);
    await untilWaiting(t.pool, partitions); // the first message is read, and no partition can store
    await statusesOf([offer.beacons.no_thanks_click]);
    await holder.query('commit');
    holder.release();
    await expect.poll(() => storedOf(offer)).toEqual(['close', 'impression', 'no_thanks']);
  });

  test('moves messages aside that cannot be stored, and stores the ones after them', async () => {
    const offer = await showOffer(t);
    const partition = partitionOf(offer.sessionId);
    const tooOld = trackedEvent('00000000-0000-7000-8000-0000000000'.padEnd(36, offer.sessionId.slice(-2)));
    const log = openLogOf(t)?.connection() as LogConnection;
    await log.append(partition, Buffer.from('{"version":1,"events":7}'), 'unreadable', 1000);
    await log.append(partitionOf(tooOld.sessionId), encodeMessage([tooOld]), 'refused', 1000);
    await statusesOf([offer.pixel]);
    await expect.poll(() => storedOf(offer)).toEqual(['impression']);
    const rejects = async (): Promise<string[]> =>
      (await t.pool.query<{ error: string }>('select error from event_log_rejects order by error')).rows.map(
        ({ error }) => error,
      );
    await expect
      .poll(rejects)
      .toEqual([expect.stringContaining('/events'), expect.stringContaining('no partition of relation')]);
    await t.pool.query('delete from event_log_rejects');
  });

  test('ends a consumer that is stopped during its start', async () => {
    await jobs.stop();
    for (let time = 0; time < 5; time += 1) {
      await startConsumer();
      await jobs.stop();
    }
    await startConsumer();
  });

  test('makes reservations and conversions wait for events that are not stored yet', async () => {
    await jobs.stop();
    const offer = await showOffer(t);
    await call(t, offer.pixel);
    const clickId = await clickIdOf(t, offer.click_url);
    await t.pool.query("update event_log_positions set stored_until = now() - interval '1 minute'");
    await openLogOf(t)?.refresh(t.pool);
    const ages = [90_000, 180_000, 200_000];
    const [recent, old, first] = ages.map((ageMs) => newUuid7(Date.now() - ageMs)) as [string, string, string];
    const reserve = (ids: readonly string[]) =>
      t.pool.query('insert into cap_reservations select id, $2 from unnest($1::uuid[]) as id', [
        ids,
        JSON.stringify([['UTC', [[offer.id, offer.campaign_id, 0, 1, 0, 0]]]]),
      ]);
    const reserved = async () =>
      (await t.pool.query('select 1 from cap_reservations where session_id = any($1)', [[recent, old, first]]))
        .rowCount;
    await reserve([first]);
    await expect.poll(reserved).toBe(0); // a release that was under way before the positions moved has ended
    await reserve([recent, old]);
    await expect.poll(reserved).toBe(1); // the one of before the events that are not stored yet
    expect((await track(t, { click_id: clickId, event: 'sale' })).statusCode).toBe(503);
    await startConsumer();
    await expect.poll(reserved).toBe(0);
    await expect.poll(async () => (await track(t, { click_id: clickId, event: 'sale' })).statusCode).not.toBe(503);
    expect(await storedOf(offer)).toEqual(expect.arrayContaining(['impression']));
  });

  test('has no effect on clients when its consumer is an hour behind, and keeps the time of each event', async () => {
    await jobs.stop();
    const hourAgoMs = Date.now() - hourMs;
    const log = openLogOf(t)?.connection() as LogConnection;
    const sessions = Array.from({ length: 200 }, () => newUuid7(hourAgoMs));
    for (const id of sessions) {
      const events = [
        { ...trackedEvent(id), atMs: hourAgoMs },
        { ...trackedEvent(id, 'click'), atMs: hourAgoMs + (id === sessions[0] ? 99 : 100) },
      ];
      for (const event of events)
        await log.append(partitionOf(id), encodeMessage([event]), `${id} ${event.kind}`, 1000);
    }
    await t.pool.query("update event_log_positions set stored_until = now() - interval '1 hour'");
    await openLogOf(t)?.refresh(t.pool);
    const lagS = async (): Promise<number> => (await lagOf(t)).reduce((most, seconds) => Math.max(most, seconds), 0);
    await expect.poll(lagS).toBeGreaterThanOrEqual(3600);
    expect((await t.app.inject('/health/ready')).json()).toMatchObject({ status: 'ok', event_log: true });
    const offer = await showOffer(t);
    expect(await statusesOf([offer.pixel, offer.click_url])).toEqual([200, 302]);

    await startConsumer();
    const stored = async () =>
      (
        await t.pool.query(
          `select kind, suspicious, count(*)::int as count from events
          where session_id = any($1::uuid[]) and at between $2 and $2 + interval '100 ms' group by 1, 2 order by 1, 2`,
          [sessions, new Date(hourAgoMs)],
        )
      ).rows;
    await expect.poll(stored).toEqual([
      { kind: 'click', suspicious: 'too_fast', count: 1 },
      { kind: 'click', suspicious: null, count: sessions.length - 1 },
      { kind: 'impression', suspicious: null, count: sessions.length },
    ]);
    await expect.poll(() => storedOf(offer)).toContain('impression');
    await expect.poll(lagS).toBeLessThan(60);
  });

  test('rejects a stream with other settings with a message', async () => {
    const logger = createLogger('silent');
    const connection = await connectToLog(settingOf(nats.url, 'FOREIGN'));
    await connection.close();
    const opening = openEventLog({ ...settingOf(nats.url, 'FOREIGN'), replicas: 3 }, logger);
    await expect(opening).rejects.toThrow(StartupError);
    await expect(opening).rejects.toThrow('num_replicas is 1, not 3');
  });
});

test('events go to PostgreSQL if the log is unavailable at the start, as readiness and metrics report', async () => {
  const t = await createTestApp({ config: { metricsToken, eventLog: settingOf('nats://127.0.0.1:1') } });
  expect((await t.app.inject('/health/ready')).json()).toMatchObject({ status: 'ok', event_log: false });
  expect(await metricsOf(t)).toMatch(/^perkwire_event_log_available 0$/m);
  const offer = await showOffer(t);
  expect((await call(t, offer.pixel)).statusCode).toBe(200);
  expect((await storedEvents(t)).map(({ kind }) => kind)).toEqual(['impression']);
  await t.close();
});
