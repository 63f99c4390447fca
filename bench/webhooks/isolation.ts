import { randomUUID } from 'node:crypto';
import { startServerProcess } from '../../test/support/server-process.ts';
import { type Stage, seedEndpoints } from './endpoints.ts';
import { percentiles } from './percentiles.ts';
import { startBenchReceiver } from './receiver.ts';
import { perkwire } from './systems/perkwire.ts';
import type { Job } from './systems/types.ts';

export type IsolationResult = {
  what: string;
  calls: number;
  p50Ms: number;
  p99Ms: number;
  boundMs: number;
  ok: boolean;
};

const payload = JSON.stringify({
  body: { pub_user_id: 'user-1', selected: 0, session_id: randomUUID(), campaigns: [] },
});
const tickMs = 50;

/** Measures 200 endpoints with one delivery per second each. None, half, or nine in ten of them never respond. */
export async function benchHanging(stage: Stage, seconds: number): Promise<IsolationResult[]> {
  const results: IsolationResult[] = [];
  for (const share of [0, 0.5, 0.9]) {
    const what = `200 endpoints, ${share * 100}% hang`;
    results.push(
      judge(results[0], what, await startDelays(stage, { endpoints: 200, hanging: 200 * share, burst: 0, seconds })),
    );
  }
  return results;
}

/**
 * Measures 99 endpoints with one delivery per second each, with and without another endpoint that gets many deliveries
 * in a burst.
 */
export async function benchBurst(
  stage: Stage,
  { burst, seconds }: { burst: number; seconds: number },
): Promise<IsolationResult[]> {
  const alone = judge(
    undefined,
    '99 endpoints',
    await startDelays(stage, { endpoints: 100, hanging: 0, burst: 0, seconds }),
  );
  const beside = await startDelays(stage, { endpoints: 100, hanging: 0, burst, seconds });
  return [alone, judge(alone, `99 endpoints during a burst of ${burst.toLocaleString('en')} for another`, beside)];
}

/**
 * Judges a result: the p99 of healthy endpoints may exceed that of the first run by a quarter or by 50 ms, whichever is
 * more.
 */
function judge(first: IsolationResult | undefined, what: string, delays: readonly number[]): IsolationResult {
  const { p50Ms, p99Ms } = percentiles(delays);
  const boundMs = first === undefined ? p99Ms : Math.max(1.25 * first.p99Ms, first.p99Ms + 50);
  return { what, calls: delays.length, p50Ms, p99Ms, boundMs, ok: p99Ms <= boundMs };
}

type Load = { endpoints: number; hanging: number; burst: number; seconds: number };

/**
 * Measures a new worker that does not know its endpoints yet, from its first second.
 * @returns delays from due time to the start of calls to healthy endpoints, in milliseconds
 */
async function startDelays(stage: Stage, { endpoints, hanging, burst, seconds }: Load): Promise<number[]> {
  const receiver = await startBenchReceiver();
  const urlOf = (index: number): string => (index < hanging ? receiver.hangUrl(index) : receiver.okUrl(index));
  const ids = await seedEndpoints(stage.pool, { count: endpoints, url: urlOf });
  const producer = await perkwire.openProducer(stage.databaseUrl);
  const worker = await startServerProcess({
    databaseUrl: stage.databaseUrl,
    env: { ROLES: 'worker', LOG_LEVEL: 'error' },
  });
  const job = (index: number): Job => ({ id: '', url: urlOf(index), payload });
  const first = burst === 0 ? 0 : 1;
  try {
    const flood = addMany(producer.add, burst, () => job(0));
    const startMs = performance.now();
    let sent = 0;
    while (performance.now() - startMs < seconds * 1000) {
      const expected = Math.floor(((performance.now() - startMs) / 1000) * (endpoints - first));
      if (expected > sent)
        await producer.add(
          Array.from({ length: expected - sent }, (_, index) => job(first + ((sent + index) % (endpoints - first)))),
        );
      sent = Math.max(sent, expected);
      await new Promise((resolve) => setTimeout(resolve, tickMs));
    }
    await flood;
    const healthy = ids.slice(Math.max(hanging, first));
    const { rows } = await stage.pool.query<{ ms: number }>(
      `select extract(epoch from coalesce(a.started_at, now()) - d.created_at)::float8 * 1000 as ms
      from deliveries d left join delivery_attempts a on a.day = d.day and a.delivery_id = d.id and a.generation = 1
      where d.endpoint_id = any($1)`,
      [healthy],
    );
    return rows.map((row) => row.ms);
  } finally {
    await producer.close();
    await worker.kill();
    receiver.close();
    await stage.pool.query('truncate delivery_queue, deliveries, delivery_attempts, dispatcher_workers');
  }
}

async function addMany(add: (jobs: readonly Job[]) => Promise<void>, count: number, make: () => Job): Promise<void> {
  for (let from = 0; from < count; from += 5000) await add(Array.from({ length: Math.min(5000, count - from) }, make));
}
