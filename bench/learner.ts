import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { readProgress, writeProgress } from '../src/learning/progress.ts';
import { transaction } from '../src/platform/db/pool.ts';
import { startServerProcess } from '../test/support/server-process.ts';
import { createPublisher } from './catalogue.ts';
import { processorUs } from './costs.ts';
import { fetchBody } from './fetch.ts';
import { writeTable } from './report.ts';
import { openStage, type Stage } from './stage.ts';

/*
 * npm run bench:learner -- [--rounds n] [--seconds n] [--rate n]
 *
 * Measures how much learning slows down fetches. A server answers fetches at a steady rate while another process keeps
 * one core busy. Every offer is seen, and one in ten is clicked. Rounds with and without learning alternate; in rounds
 * without learning, another process has the lead and does nothing. Prints the response times of fetches, the model
 * versions, and the CPU time of learning.
 */
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '4' },
    seconds: { type: 'string', default: '30' },
    rate: { type: 'string', default: '100' },
  },
});
const [rounds, seconds, rate] = [Number(values.rounds), Number(values.seconds), Number(values.rate)];
const clickPart = 0.1;

type Part = { latencies: number[]; serverUs: number; seconds: number; versionGapS: number };
type Offer = { pixel: string; click_url: string };

let users = 0;

const stage = await openStage();
const busy = spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' });
try {
  await createPublisher(stage.pool, { key: 'bench-100', campaigns: 100 });
  const server = await startServerProcess({ databaseUrl: stage.databaseUrl });
  const parts: Record<'with' | 'without', Part[]> = { with: [], without: [] };
  await play(server.port, 2 * seconds); // warm-up
  for (let round = 0; round < rounds; round++)
    for (const name of ['without', 'with'] as const) {
      const hold = name === 'without' ? holdLead(stage) : null;
      await sleep(3000);
      parts[name].push(await measure(server.port, server.child.pid as number));
      await hold?.();
    }
  await server.stop();
  await report(parts);
} finally {
  busy.kill('SIGKILL');
  await stage.close();
}
process.exit();

async function measure(port: number, pid: number): Promise<Part> {
  const before = await processorUs(pid);
  const startMs = Date.now();
  const latencies = await play(port, seconds);
  const serverUs = (await processorUs(pid)) - before;
  const { rows } = await stage.pool.query<{ made_ms: number }>(
    'select extract(epoch from made_at)::float8 * 1000 as made_ms from ranking_versions where made_at > $1 order by 1',
    [new Date(startMs)],
  );
  const times = [startMs, ...rows.map((row) => row.made_ms), Date.now()];
  const gaps = times.slice(1).map((ms, at) => ms - (times[at] as number));
  return { latencies, serverUs, seconds, versionGapS: Math.max(...gaps) / 1000 };
}

/**
 * Sends fetches and beacons at the configured rate.
 * @returns durations of the fetches, in milliseconds
 */
async function play(port: number, forSeconds: number): Promise<number[]> {
  const latencies: number[] = [];
  const open = new Set<Promise<void>>();
  const startMs = performance.now();
  for (let at = 0; at < forSeconds * rate; at++) {
    await sleep(Math.max(0, startMs + (at * 1000) / rate - performance.now()));
    const visiting = visit(port, at, latencies).finally(() => open.delete(visiting));
    open.add(visiting);
  }
  await Promise.all(open);
  return latencies;
}

async function visit(port: number, at: number, latencies: number[]): Promise<void> {
  const url = `http://127.0.0.1:${port}/native/v4/offers.json?api_key=bench-100`;
  const body = fetchBody(`user-${users++}`);
  const beganMs = performance.now();
  const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  if (!answer.ok) throw new Error(`a fetch failed with ${answer.status}: ${await answer.text()}`);
  const { data } = (await answer.json()) as { data: { offers: Offer[] } };
  latencies.push(performance.now() - beganMs);
  const [first] = data.offers;
  if (first === undefined) throw new Error('a fetch returned no offer');
  const local = (address: string): string => address.replace(/^https?:\/\/[^/]+/, `http://127.0.0.1:${port}`);
  await fetch(local(first.pixel)).then((image) => image.arrayBuffer());
  if (at % (1 / clickPart) !== 0) return;
  await sleep(1000);
  await fetch(local(first.click_url), { redirect: 'manual' });
}

/**
 * Takes the lead from the learner in the server, and keeps it without learning.
 * @returns a function that releases it
 */
function holdLead({ pool }: Stage): () => Promise<void> {
  const setLead = (lead: { id: string; atMs: number } | null): Promise<void> =>
    transaction(pool, async (executor) => writeProgress(executor, { ...(await readProgress(executor)), lead }));
  let isHeld = true;
  const holding = (async () => {
    for (; isHeld; await sleep(1000)) await setLead({ id: 'bench', atMs: Date.now() });
    await setLead(null);
  })();
  return async () => {
    isHeld = false;
    await holding;
  };
}

async function report(parts: Record<'with' | 'without', Part[]>): Promise<void> {
  const percentile = (all: readonly number[], share: number): number =>
    [...all].sort((a, b) => a - b)[Math.floor(all.length * share)] ?? 0;
  const rows = Object.entries(parts).map(([name, list]) => {
    const latencies = list.flatMap((part) => part.latencies);
    const core = list.reduce((sum, part) => sum + part.serverUs / 1e4 / part.seconds, 0) / list.length;
    return [
      name,
      ...[0.5, 0.99].map((share) => percentile(latencies, share).toFixed(2)),
      core.toFixed(1),
      name === 'with' ? Math.max(...list.map((part) => part.versionGapS)).toFixed(1) : '',
    ];
  });
  await writeTable(
    'learner',
    ['Learning', 'fetch p50 ms', 'fetch p99 ms', '% of a core, server', 'longest time without a new version, s'],
    rows,
    `\n${rate} fetches per second for ${seconds} s, ${rounds} alternating rounds; one other core is kept busy.`,
  );
}
