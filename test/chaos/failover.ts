import { setTimeout as sleep } from 'node:timers/promises';
import { findWritableUrl } from '../../src/platform/db/find-writable.ts';
import { migrate } from '../../src/platform/db/migrate.ts';
import { createPool } from '../../src/platform/db/pool.ts';
import { createRandom } from '../../src/platform/lib/random.ts';
import { type Call, startLoad } from './load.ts';
import { type PatroniCluster, startPatroniCluster, ttlS } from './patroni.ts';
import { openStageOn } from './stage.ts';
import { judge, type Verdict } from './verdict.ts';

/** What happened to the service in one failure (milliseconds). `refusedIn`: the slowest refusal once it was known. */
type Failure = { kind: string; backInMs: number; refused: number; refusedInMs: number };

type Failover = Verdict & { failures: Failure[]; beacons: number; beaconsLost: number };

const kinds: Record<string, (cluster: PatroniCluster) => Promise<string>> = {
  'leader killed': async (cluster) => apply(await cluster.leader(), cluster.kill),
  'leader stopped (SIGSTOP)': async (cluster) => apply(await cluster.leader(), cluster.stop),
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

/** A refusal that comes this long after the first is one of a known outage (milliseconds). */
const detectionMs = 2500;
const backLimitMs = (ttlS + 2) * 1000;
const refusalLimitMs = 300;
const calmMs = 5000;

/** Five failures of a replicated PostgreSQL under load: nothing acknowledged is lost, and the service comes back. */
export async function failoverRun(seed: number, { endpoints }: { endpoints: number }): Promise<Failover> {
  const cluster = await startPatroniCluster();
  await migrate(await findWritableUrl(cluster.url));
  const stage = await openStageOn(cluster, endpoints, createRandom(seed));
  const load = startLoad(stage, Number.POSITIVE_INFINITY);
  const failures: Failure[] = [];
  try {
    for (const [kind, harm] of Object.entries(kinds)) {
      await sleep(calmMs);
      failures.push(await fail(kind, () => harm(cluster), cluster, load.calls));
      process.stdout.write(`\n  ${JSON.stringify(failures.at(-1))}`);
    }
    await sleep(calmMs);
    await load.stop();
    const url = await findWritableUrl(cluster.url);
    const pool = createPool({ url, size: 2, applicationName: 'chaos', onError: () => {}, queryTimeoutMs: 60_000 });
    const verdict = await judge({ pool, receiver: stage.receiver }, load.wrapped);
    const { rows } = await pool.query<{ id: string }>('select distinct session_id as id from events');
    await pool.end();
    const stored = new Set(rows.map(({ id }) => id));
    const beaconsLost = load.seen.filter((id) => !stored.has(id)).length;
    const onTime = failures.every(
      ({ backInMs, refusedInMs }) => backInMs <= backLimitMs && refusedInMs <= refusalLimitMs,
    );
    const ok = verdict.ok && beaconsLost === 0 && onTime;
    return { ...verdict, failures, beacons: load.seen.length, beaconsLost, ok };
  } finally {
    await load.stop();
    await stage.close();
  }
}

async function fail(
  kind: string,
  harm: () => Promise<string>,
  cluster: PatroniCluster,
  calls: readonly Call[],
): Promise<Failure> {
  const from = calls.length;
  const startMs = performance.now();
  const name = await harm();
  await sleep(backLimitMs + 5000);
  await cluster.mend(name);
  const since = calls.slice(from);
  const failed = since.filter(({ status }) => status !== 200);
  const firstMs = Math.min(...failed.map(({ atMs, tookMs }) => atMs + tookMs));
  const known = failed.filter(({ atMs }) => atMs > firstMs && atMs - firstMs > detectionMs);
  // The service is back with the first of 20 answers in a row.
  const back = since.find(
    ({ atMs, status }, index) =>
      status === 200 && atMs > firstMs && since.slice(index, index + 20).every((call) => call.status === 200),
  );
  return {
    kind,
    backInMs: failed.length === 0 ? 0 : Math.round((back?.atMs ?? Number.POSITIVE_INFINITY) - startMs),
    refused: failed.length,
    refusedInMs: Math.round(Math.max(0, ...known.map(({ tookMs }) => tookMs))),
  };
}
