import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { findWritableUrl } from '../../src/platform/db/find-writable.ts';
import { migrate } from '../../src/platform/db/migrate.ts';
import { createPool } from '../../src/platform/db/pool.ts';
import { createRandom } from '../../src/platform/lib/random.ts';
import { type Call, type Load, startLoad } from './load.ts';
import { type ClusterEvent, type Losses, lossTable } from './losses.ts';
import { type PatroniCluster, startPatroniCluster, ttlS } from './patroni.ts';
import { openStageOn } from './stage.ts';
import { judge, type Verdict, wrappedSessions } from './verdict.ts';

/**
 * Effect of one failure on the service, with times in milliseconds. `databaseInMs` is when the cluster itself committed
 * again. `refusedInMs` is the slowest refusal once the outage was known.
 */
type Failure = { kind: string; backInMs: number; databaseInMs: number; refused: number; refusedInMs: number };

type Failover = Verdict & { failures: Failure[]; beacons: number; beaconsLost: number };

const kinds: Record<string, (cluster: PatroniCluster) => Promise<string>> = {
  'leader killed': async (cluster) => apply(await cluster.leader(), cluster.kill),
  'leader stopped (SIGSTOP)': async (cluster) => apply(await cluster.leader(), cluster.stop),
  'leader paused, connections to etcd lost': async (cluster) => apply(await cluster.leader(), cluster.pause),
  switchover: async (cluster) => {
    const leader = await cluster.leader();
    await cluster.switchOver(leader, await cluster.syncStandby());
    return leader;
  },
  'standby silent (SIGSTOP)': async (cluster) => apply(await cluster.syncStandby(), cluster.stop),
  'network of the leader cut': async (cluster) => apply(await cluster.leader(), cluster.cutNetwork),
};

function apply(name: string, harm: (name: string) => void): string {
  harm(name);
  return name;
}

/** Time after the first refusal from which the outage counts as known, in milliseconds. */
const detectionMs = 2500;
const backLimitMs = (ttlS + 2) * 1000;
const refusalLimitMs = 300;
/** Maximum time that the service may take to recover after the cluster commits again, in milliseconds. */
const followLimitMs = 500;
const calmMs = 5000;

/**
 * Simulates six failures of a replicated PostgreSQL under load. No acknowledged data may be lost, and the service must
 * recover each time.
 */
export async function failoverRun(seed: number, { endpoints }: { endpoints: number }): Promise<Failover> {
  const cluster = await startPatroniCluster();
  await migrate(await findWritableUrl(cluster.url));
  const stage = await openStageOn(cluster, endpoints, createRandom(seed));
  const load = startLoad(stage, Number.POSITIVE_INFINITY);
  const commits = startCommits(cluster.url);
  const failures: Failure[] = [];
  const events: ClusterEvent[] = [];
  try {
    for (const [kind, harm] of Object.entries(kinds)) {
      await sleep(calmMs);
      const calls = { service: load.calls, database: commits.calls };
      events.push(await eventOf(cluster, kind));
      failures.push(await fail(kind, () => harm(cluster), cluster, calls));
      events.push(await eventOf(cluster, 'mended'));
      process.stdout.write(`\n  ${JSON.stringify(failures.at(-1))}`);
    }
    await sleep(calmMs);
    await Promise.all([load.stop(), commits.stop()]);
    const url = await findWritableUrl(cluster.url);
    const pool = createPool({ url, size: 2, applicationName: 'chaos', onError: () => {}, queryTimeoutMs: 60_000 });
    const verdict = await judge({ pool, receiver: stage.receiver }, load.wrapped);
    await pool.end();
    const losses = await lossesOf(cluster.url, load);
    if (losses.wraps.length + losses.beacons.length > 0) await report(cluster, events, losses);
    const beaconsLost = losses.beacons.length;
    const ok = verdict.ok && beaconsLost === 0 && failures.every(isOnTime);
    return { ...verdict, failures, beacons: load.impressionSessionIds.length, beaconsLost, ok };
  } catch (err) {
    await load.stop();
    const unknown = { wraps: [], beacons: [] };
    await report(cluster, events, await lossesOf(cluster.url, load).catch(() => unknown));
    throw err;
  } finally {
    await Promise.all([load.stop(), commits.stop()]);
    await stage.close();
  }
}

async function eventOf(cluster: PatroniCluster, what: string): Promise<ClusterEvent> {
  const [leader, standby] = [await cluster.leader(), await cluster.syncStandby()];
  return { atMs: Date.now(), what, leader, standby };
}

async function lossesOf(
  clusterUrl: string,
  { wrapped, impressionSessionIds }: Pick<Load, 'wrapped' | 'impressionSessionIds'>,
): Promise<Losses> {
  const pool = new pg.Pool({ connectionString: await findWritableUrl(clusterUrl), max: 1 });
  const committed = await wrappedSessions(pool);
  const { rows } = await pool.query<{ id: string }>('select distinct session_id as id from events');
  await pool.end();
  const stored = new Set(rows.map(({ id }) => id));
  return {
    wraps: wrapped.filter((id) => !committed.has(id)),
    beacons: impressionSessionIds.filter((id) => !stored.has(id)),
  };
}

/** Prints the events and losses over time, and saves the logs of the cluster. */
async function report(cluster: PatroniCluster, events: readonly ClusterEvent[], losses: Losses): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'perkwire-failover-logs-'));
  await cluster.saveLogs(folder);
  process.stdout.write(`\n${lossTable(events, losses)}\nlogs of Patroni and PostgreSQL: ${folder}\n`);
}

type Calls = { service: readonly Call[]; database: readonly Call[] };

/** Returns whether the service recovered in time. It cannot recover before the cluster, even if that takes too long. */
const isOnTime = ({ backInMs, databaseInMs, refusedInMs }: Failure): boolean =>
  backInMs <= Math.max(backLimitMs, databaseInMs + followLimitMs) && refusedInMs <= refusalLimitMs;

async function fail(
  kind: string,
  harm: () => Promise<string>,
  cluster: PatroniCluster,
  calls: Calls,
): Promise<Failure> {
  const from = { service: calls.service.length, database: calls.database.length };
  const startMs = performance.now();
  const name = await harm();
  await sleep(backLimitMs + 5000);
  await cluster.mend(name);
  const service = calls.service.slice(from.service);
  const failed = service.filter(isFailed);
  const firstMs = Math.min(...failed.map(({ atMs, tookMs }) => atMs + tookMs));
  const laterFailures = failed.filter(({ atMs }) => atMs > firstMs && atMs - firstMs > detectionMs);
  return {
    kind,
    backInMs: backIn(service, startMs),
    databaseInMs: backIn(calls.database.slice(from.database), startMs),
    refused: failed.length,
    refusedInMs: Math.round(Math.max(0, ...laterFailures.map(({ tookMs }) => tookMs))),
  };
}

const isFailed = ({ status }: Call): boolean => status !== 200;

/**
 * Returns the time until calls recovered after the first failed one, in milliseconds: the end of the first of 10
 * successful calls in a row. The end counts because a commit can wait a long time for a standby. Returns 0 if no call
 * failed.
 */
function backIn(calls: readonly Call[], startMs: number): number {
  const first = calls.find(isFailed);
  if (first === undefined) return 0;
  const failedMs = first.atMs + first.tookMs;
  const back = calls.find(
    ({ atMs }, index) => atMs > failedMs && calls.slice(index, index + 10).every((call) => !isFailed(call)),
  );
  return Math.round(back === undefined ? Number.POSITIVE_INFINITY : back.atMs + back.tookMs - startMs);
}

/** Commits repeatedly on the writable server, over a new connection each time. */
function startCommits(url: string): { calls: Call[]; stop: () => Promise<void> } {
  const calls: Call[] = [];
  let running = true;
  const commit = async (): Promise<void> => {
    const connectionString = await findWritableUrl(url);
    const client = new pg.Client({ connectionString, connectionTimeoutMillis: 1000, query_timeout: 1000 });
    client.on('error', () => {});
    try {
      await client.connect();
      await client.query("select pg_logical_emit_message(true, 'perkwire', '')");
    } finally {
      void client.end().catch(() => {});
    }
  };
  const work = (async () => {
    while (running) {
      const atMs = performance.now();
      const status = await commit().then(
        () => 200,
        () => 0,
      );
      calls.push({ atMs, tookMs: performance.now() - atMs, status });
      await sleep(200);
    }
  })();
  return {
    calls,
    stop: () => {
      running = false;
      return work;
    },
  };
}
