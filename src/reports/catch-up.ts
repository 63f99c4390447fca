import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { rollUp } from './rollup/roll-up.ts';

/** Number of transactions per rollup. */
const maxTransactions = 10_000;
/** Pause while another process rolls up, in milliseconds. */
const pollMs = 100;

/** Rolls up everything that has been stored so far, for generated history. */
export async function catchUpRollups(pool: pg.Pool, nowMs: number): Promise<void> {
  for (;;) {
    const { events, complete } = await rollUp(pool, nowMs, maxTransactions);
    if (events !== null && complete) return;
    if (events === null) await sleep(pollMs);
  }
}
