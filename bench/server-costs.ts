import { setTimeout as sleep } from 'node:timers/promises';
import { type ServerProcess, startServerProcess } from '../test/support/server-process.ts';
import { processorUs } from './costs.ts';
import { fetchBody } from './fetch.ts';
import { growthKey } from './growth-seeds.ts';
import type { Stage } from './stage.ts';

const metricsToken = 'metrics-'.repeat(5);

/** Runs a function with a server on the stage. `startS` is the time until the server was ready, in seconds. */
export async function withServer<T>(
  { databaseUrl }: Stage,
  env: Record<string, string>,
  use: (server: ServerProcess, startS: number) => Promise<T>,
): Promise<T> {
  const startMs = performance.now();
  const server = await startServerProcess({ databaseUrl, env: { METRICS_TOKEN: metricsToken, ...env } });
  try {
    return await use(server, (performance.now() - startMs) / 1000);
  } finally {
    await server.stop();
  }
}

/** Waits until the server has finished its work after the start, for at most a minute. */
export async function untilIdle({ child }: ServerProcess): Promise<void> {
  const [periodMs, idleMs] = [1000, 100];
  for (let second = 0; second < 60; second += 1) {
    const beforeUs = await processorUs(child.pid as number);
    await sleep(periodMs);
    if ((await processorUs(child.pid as number)) - beforeUs < idleMs * 1000) return;
  }
}

/** Returns the duration of a fetch-offers call, in milliseconds. */
export async function fetchMs(server: ServerProcess, publisherId: number, user = 'growth'): Promise<number> {
  const startMs = performance.now();
  const answer = await fetch(`${server.url}/native/v4/offers.json?api_key=${growthKey(publisherId)}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: fetchBody(user),
  });
  await answer.text();
  if (answer.status !== 200) throw new Error(`fetch-offers responded with ${answer.status}`);
  return performance.now() - startMs;
}

/** Changes an offer, and returns the time until the server serves the change, in milliseconds. */
export async function changeServedMs({ pool }: Stage, server: ServerProcess, no: number): Promise<number> {
  await pool.query(`update offers set title = 'Changed ${no}' where id = (select min(id) from offers)`);
  const startMs = performance.now();
  const { rows } = await pool.query<{ version: string }>('select version from catalog_version');
  const isServed = async (): Promise<boolean> => {
    const answer = (await (await fetch(`${server.url}/health/ready`)).json()) as { catalog_version: number };
    return answer.catalog_version >= Number(rows[0]?.version);
  };
  while (!(await isServed())) await sleep(2);
  const tookMs = performance.now() - startMs;
  await fetchMs(server, 1);
  return tookMs;
}

export async function residentMb({ url }: ServerProcess): Promise<number> {
  const text = await (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${metricsToken}` } })).text();
  return Number(/^process_resident_memory_bytes(?:\{[^}]*\})? (\S+)$/m.exec(text)?.[1]) / 2 ** 20;
}

export const median = (list: readonly number[]): number =>
  [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)] ?? 0;
