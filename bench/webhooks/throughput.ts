import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { endChild, startServerProcess } from '../../test/support/server-process.ts';
import { type Stage, seedEndpoints } from './endpoints.ts';
import { percentiles } from './percentiles.ts';
import { type BenchReceiver, startBenchReceiver } from './receiver.ts';
import { bullmq } from './systems/bullmq.ts';
import { graphileWorker } from './systems/graphile-worker.ts';
import { perkwire } from './systems/perkwire.ts';
import { pgBoss } from './systems/pg-boss.ts';
import type { Job, System } from './systems/types.ts';

export type ThroughputResult = { name: string; perS: number; idleP50Ms: number; idleP99Ms: number };

const endpoints = 40;
const concurrency = 64;
const idleCalls = 60;
const chunk = 1000;
/** Payload that is about as large as that of a wrapped session with two campaigns. */
const payload = JSON.stringify({
  body: { pub_user_id: 'user-1', selected: 1, session_id: randomUUID(), filler: 'x'.repeat(1500) },
});

/**
 * Measures the systems one after another, with the same jobs, sender, signature, log row and database. In the first
 * case, `jobs` jobs are queued when the worker starts, and the time is measured from the first arrival. In the second
 * case, an idle worker gets one job at a time.
 */
export async function benchThroughput(stage: Stage, jobs: number): Promise<ThroughputResult[]> {
  await stage.pool.query(`create table bench_log (
    id uuid, at timestamptz not null default now(), outcome text, status_code smallint, timing jsonb,
    remote_address text, response_headers jsonb, response_body bytea)`);
  const results: ThroughputResult[] = [];
  for (const system of [perkwire, pgBoss, graphileWorker, bullmq]) {
    const result = await benchOne(stage, system, jobs);
    process.stderr.write(`${result.name}: ${Math.round(result.perS)}/s, idle p50 ${result.idleP50Ms.toFixed(1)} ms\n`);
    results.push(result);
  }
  return results;
}

async function benchOne(stage: Stage, system: System, jobs: number): Promise<ThroughputResult> {
  const receiver = await startBenchReceiver();
  if (system === perkwire) await seedEndpoints(stage.pool, { count: endpoints, url: receiver.okUrl });
  await system.prepare(stage.databaseUrl);
  const producer = await system.openProducer(stage.databaseUrl);
  const make = (count: number): Job[] =>
    Array.from({ length: count }, (_, index) => ({
      id: randomUUID(),
      url: receiver.okUrl(index % endpoints),
      payload,
    }));
  for (let from = 0; from < jobs; from += chunk) await producer.add(make(Math.min(chunk, jobs - from)));
  const worker = await startWorker(system, stage.databaseUrl);
  try {
    await receiver.reach(1, 60_000);
    const startMs = performance.now();
    const before = receiver.count();
    await receiver.reach(jobs, 600_000);
    const perS = ((jobs - before) / (performance.now() - startMs)) * 1000;
    await new Promise((resolve) => setTimeout(resolve, 1500)); // until the worker is idle
    const idle = percentiles(await idleLatencies(receiver, async () => producer.add(make(1))));
    return { name: system.name, perS, idleP50Ms: idle.p50Ms, idleP99Ms: idle.p99Ms };
  } finally {
    await producer.close();
    await worker();
    receiver.close();
  }
}

/** Returns the times from adding a job until its webhook arrives. */
async function idleLatencies(receiver: BenchReceiver, add: () => Promise<void>): Promise<number[]> {
  const times: number[] = [];
  for (let call = 0; call < idleCalls; call++) {
    const startMs = performance.now();
    const arrived = receiver.reach(receiver.count() + 1, 10_000);
    await add();
    await arrived;
    times.push(performance.now() - startMs);
    await new Promise((resolve) => setTimeout(resolve, 20 + Math.random() * 30));
  }
  return times;
}

/** @returns a function that stops the worker */
async function startWorker(system: System, databaseUrl: string): Promise<() => Promise<unknown>> {
  if (system === perkwire) {
    const server = await startServerProcess({ databaseUrl, env: { ROLES: 'worker', LOG_LEVEL: 'error' } });
    return server.stop;
  }
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', 'bench/webhooks/worker.ts', system.name, databaseUrl, String(concurrency)],
    {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    },
  );
  await new Promise((resolve, reject) => {
    child.once('message', resolve);
    child.once('exit', () => reject(new Error(`the worker of ${system.name} did not start`)));
  });
  return () => endChild(child, 'SIGKILL');
}
