import { afterAll, beforeAll, expect, test } from 'vitest';
import { hourMs } from '../../src/platform/lib/time.ts';
import { createReportService, type ReportService } from '../../src/reports/service.ts';
import { signInAs } from '../dashboard/support.ts';
import { type OwnPostgres, startOwnPostgres } from '../support/postgres.ts';
import { type ReplicaServer, startReplica } from '../support/replica.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { timeLimit } from '../support/time-limit.ts';
import { impression, storeImpressions } from './reach/support.ts';

let primary: OwnPostgres;
let replica: ReplicaServer;
let t: TestApp;
let reports: ReportService;
/** Difference between the clock of the process and the real time, in milliseconds. */
let shiftMs = 0;
const limits = { timeout: timeLimit(60_000) };

beforeAll(async () => {
  primary = await startOwnPostgres({ flags: ['max_connections=100'] });
  replica = await startReplica(primary);
  t = await createTestApp({
    databaseUrl: primary.url,
    now: () => Date.now() + shiftMs,
    config: { reportsUrl: replica.url, reportsMaxLagMs: 60_000, metricsToken: 'metrics' },
  });
  reports = createReportService(t.deps);
}, timeLimit(120_000));
afterAll(async () => {
  await t?.close();
  await replica?.close();
  await primary?.close();
});

const stateIs = (problem: string | null) =>
  expect.poll(() => t.deps.replica?.state().problem, { timeout: timeLimit(20_000), interval: 100 }).toBe(problem);

/** Returns whether a report is read from the replica, together with the rest of the response. */
async function readReport() {
  const answer = await t.app.inject({
    url: '/native/activity.json',
    headers: { authorization: `Bearer ${t.publisher.key}` },
  });
  expect(answer.statusCode).toBe(200);
  return { asOf: answer.headers['perkwire-as-of'] as string | undefined, data: answer.json().data };
}
const serverOf = () =>
  reports.readRaw(t.publisher.id, async (executor) => {
    const { rows } = await executor.query<{ replica: boolean }>('select pg_is_in_recovery() as replica');
    return rows[0]?.replica === true ? 'replica' : 'primary';
  });

/** Stops the replay of writes, and waits until it has stopped. */
async function pauseReplay(): Promise<void> {
  await replica.query('select pg_wal_replay_pause()');
  const state = async () => (await replica.query('select pg_get_wal_replay_pause_state() as state'))[0]?.state;
  await expect.poll(state, { timeout: timeLimit(20_000) }).toBe('paused');
}

test('reports are read from the replica, and say up to when they contain all data', limits, async () => {
  await stateIs(null);
  expect(await serverOf()).toBe('replica');
  const { asOf = '', data } = await readReport();
  expect(data.as_of).toBe(asOf);
  expect(Math.abs(Date.parse(asOf) - Date.now())).toBeLessThan(20_000);
  const { cookie } = await signInAs(t, 'analyst');
  const page = await t.app.inject({ url: `/dashboard/p/${t.publisher.id}/reports`, headers: { cookie } });
  expect(page.body).toContain('This report comes from a database replica');
});

test('a session is found on the replica, and on the primary if the replica does not have it yet', limits, async () => {
  await t.pool.query('select create_day_partitions(current_date - 1, current_date)');
  const readStory = async (id: string) => {
    const url = `/manage/v1/story?id=${id}`;
    const answer = await t.app.inject({ url, headers: { authorization: `Bearer ${t.publisher.key}` } });
    const kinds = answer.json().data?.entries.map(({ kind }: { kind: string }) => kind);
    return { kinds, asOf: answer.headers['perkwire-as-of'] };
  };
  const store = async (hoursAgo: number): Promise<string> => {
    const stored = impression({ atMs: Date.now() - hoursAgo * hourMs, offerId: 1 });
    await storeImpressions(t.pool, t.publisher.id, [stored]);
    return stored.sessionId;
  };
  await stateIs(null);
  const replayed = await store(2);
  await expect.poll(async () => (await readStory(replayed)).asOf, { timeout: timeLimit(20_000) }).toBeDefined();
  expect((await readStory(replayed)).kinds).toEqual(['fetch', 'impression']);
  await replica.query('select pg_wal_replay_pause()');
  for (const id of [await store(2), await store(0)])
    expect(await readStory(id)).toEqual({ kinds: ['fetch', 'impression'], asOf: undefined });
  await replica.query('select pg_wal_replay_resume()');
  const { cookie } = await signInAs(t, 'analyst');
  const page = await t.app.inject({ url: `/dashboard/p/${t.publisher.id}/story/${replayed}`, headers: { cookie } });
  expect(page.body).toContain('Read from a database replica');
});

test(
  'the time up to which a report is complete never includes a write that the replica does not have yet',
  limits,
  async () => {
    await pauseReplay();
    await primary.query("update publishers set name = 'Not replayed'");
    const writtenMs = Date.now();
    const asOfMs = () => t.deps.replica?.state().asOfMs ?? 0;
    // The replica is measured once a second, so it has been measured since the write.
    await expect.poll(() => Date.now() - asOfMs(), { timeout: timeLimit(20_000) }).toBeGreaterThan(2500);
    expect(asOfMs()).toBeLessThanOrEqual(writtenMs);
    await replica.query('select pg_wal_replay_resume()');
    await expect.poll(asOfMs, { timeout: timeLimit(20_000) }).toBeGreaterThan(writtenMs);
  },
);

test('a replica that is an hour behind is not used until it has caught up', limits, async () => {
  await pauseReplay();
  await primary.query("update publishers set name = 'An hour ago'");
  shiftMs = hourMs;
  await stateIs('behind');
  expect(await serverOf()).toBe('primary');
  expect((await readReport()).asOf).toBeUndefined();
  const metrics = await t.app.inject({ url: '/metrics', headers: { authorization: 'Bearer metrics' } });
  expect(metrics.body).toMatch(/^perkwire_reports_replica_used 0$/m);
  expect(metrics.body).toMatch(/^perkwire_reports_replica_lag_seconds 3[56]\d\d/m);
  expect(metrics.body).toMatch(/^perkwire_reports_fallbacks_total\{reason="behind"\} [1-9]/m);
  const { cookie } = await signInAs(t, 'operator');
  const system = await t.app.inject({ url: '/dashboard/operator/system', headers: { cookie } });
  expect(system.body).toContain('because the replica is too far behind');
  await replica.query('select pg_wal_replay_resume()');
  await stateIs(null);
  expect(await serverOf()).toBe('replica');
});

test('a report whose replica is killed in the middle of a query is read from the primary', limits, async () => {
  await stateIs(null);
  const servers: string[] = [];
  const report = reports.readRaw(t.publisher.id, async (executor) => {
    const { rows } = await executor.query<{ replica: boolean }>('select pg_is_in_recovery() as replica');
    servers.push(rows[0]?.replica === true ? 'replica' : 'primary');
    if (servers.length > 1) return 'complete';
    const query = executor.query('select pg_sleep(5)');
    query.catch(() => {});
    replica.signalAll('SIGKILL');
    await query;
    return 'read from the replica';
  });
  expect(await report).toBe('complete');
  expect(servers).toEqual(['replica', 'primary']);
  await stateIs('unreachable');
  expect(await serverOf()).toBe('primary');
  await replica.ensureRunning();
  await stateIs(null);
});

test('a report on a replica that hangs is read from the primary', limits, async () => {
  await stateIs(null);
  replica.signalAll('SIGSTOP');
  expect(await serverOf()).toBe('primary');
  await stateIs('unreachable');
  replica.signalAll('SIGCONT');
  await stateIs(null);
});

test('a promoted replica is no longer used', limits, async () => {
  await stateIs(null);
  await replica.query('select pg_promote()');
  await stateIs('promoted');
  expect(await serverOf()).toBe('primary');
});
