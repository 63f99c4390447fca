import { setTimeout as sleep } from 'node:timers/promises';
import { createRandom } from '../../src/platform/lib/random.ts';
import { isConsistent, reconcileDeliveries } from '../../src/webhooks/deliveries/reconciliation.ts';
import { startLoad } from './load.ts';
import { openStage, processNames, type Stage } from './stage.ts';
import { judge, type Verdict } from './verdict.ts';

export type Size = { wraps: number; endpoints: number };

const targets = ['postgres', ...processNames] as const;
const longestDownMs = 1500;

/** Kills API, workers and PostgreSQL with SIGKILL 3 to 6 times, at random moments under load. */
export async function killRun(seed: number, { wraps, endpoints }: Size): Promise<Verdict & { kills: string[] }> {
  const draw = createRandom(seed);
  const plan = Array.from({ length: 3 + Math.floor(draw() * 4) }, () => ({
    at: Math.floor(wraps * (0.05 + draw() * 0.85)),
    target: targets[Math.floor(draw() * targets.length)] as (typeof targets)[number],
    waitMs: draw() * 200,
    downMs: draw() * longestDownMs,
  })).sort((a, b) => a.at - b.at);
  return onStage(endpoints, draw, async (stage) => {
    const load = startLoad(stage, wraps);
    for (const { at, target, waitMs, downMs } of plan) {
      await load.reach(at);
      await sleep(waitMs);
      if (target === 'postgres') await stage.postgres.kill(downMs);
      else await stage.replace(target, 'SIGKILL', downMs);
      const balance = await reconcileDeliveries(stage.pool);
      if (!isConsistent(balance))
        throw new Error(`after a kill of ${target} the balance was ${JSON.stringify(balance)}`);
    }
    await load.reach(wraps);
    await load.stop();
    return { ...(await judge(stage, load.wrapped)), kills: plan.map(({ target, at }) => `${target}@${at}`) };
  });
}

/**
 * Sends SIGTERM to each worker in turn and to the API, every `everyMs` for `durationMs`, under load. Nothing may be
 * lost or sent twice.
 */
export async function rollingRun(seed: number, size: Size & { everyMs: number; durationMs: number }): Promise<Verdict> {
  return onStage(size.endpoints, createRandom(seed), async (stage) => {
    const load = startLoad(stage, Number.POSITIVE_INFINITY);
    const endMs = performance.now() + size.durationMs;
    for (let turn = 0; performance.now() < endMs; turn++) {
      await sleep(size.everyMs);
      await stage.replace(processNames[turn % processNames.length] as (typeof processNames)[number], 'SIGTERM', 0);
    }
    await load.stop();
    const verdict = await judge(stage, load.wrapped);
    return { ...verdict, ok: verdict.ok && verdict.duplicates === 0 };
  });
}

export type Outage = Verdict & { sameProcesses: boolean; resumedAfterMs: number };

/**
 * Stops PostgreSQL for `downMs` under load. The workers must stay up, and continue within two seconds of its return.
 */
export async function outageRun(seed: number, size: Size & { downMs: number }): Promise<Outage> {
  return onStage(size.endpoints, createRandom(seed), async (stage) => {
    const load = startLoad(stage, size.wraps);
    await load.reach(Math.floor(size.wraps / 2));
    const pids = processNames.map((name) => stage.processOf(name).child.pid);
    await stage.postgres.kill(size.downMs);
    const backMs = performance.now();
    await load.reach(size.wraps);
    await load.stop();
    const verdict = await judge(stage, load.wrapped);
    const resumedAfterMs =
      (stage.receiver.receipts.find(({ atMs }) => atMs >= backMs)?.atMs ?? Number.POSITIVE_INFINITY) - backMs;
    const alive = (name: (typeof processNames)[number]): boolean => stage.processOf(name).child.exitCode === null;
    const sameProcesses = processNames.every(
      (name, index) => alive(name) && stage.processOf(name).child.pid === pids[index],
    );
    return { ...verdict, sameProcesses, resumedAfterMs, ok: verdict.ok && sameProcesses && resumedAfterMs <= 2000 };
  });
}

async function onStage<Result>(
  endpoints: number,
  draw: () => number,
  run: (stage: Stage) => Promise<Result>,
): Promise<Result> {
  const stage = await openStage(endpoints, draw);
  try {
    return await run(stage);
  } finally {
    await stage.close();
  }
}
