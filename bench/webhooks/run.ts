import { execFileSync } from 'node:child_process';
import { ensurePartitions } from '../../src/platform/db/partitions.ts';
import { openStage } from '../stage.ts';
import { benchClaims } from './claims.ts';
import type { Stage } from './endpoints.ts';
import { benchBurst, benchHanging, type IsolationResult } from './isolation.ts';
import { benchLog, logTable } from './log.ts';
import { keepSection, tableOf } from './report.ts';
import { benchThroughput } from './throughput.ts';

/*
 * npm run bench:webhooks -- [parts] [scale]
 *
 * - parts: any of throughput, hanging, burst, claims and log (comma-separated; default: all)
 * - scale: 1 for the full measurement, 0.1 for a short one
 *
 * Each part has its own database, with fsync enabled. The rivals are installed on first use, from their own lock file.
 * At scale 1, each part replaces its section in bench/results/webhooks.md.
 */
const ms = (value: number): string => value.toFixed(1);
const scale = Number(process.argv[3] ?? 1);
const seconds = Math.max(3, 30 * scale);

const parts: Record<string, { title: string; run: (stage: Stage) => Promise<string> }> = {
  throughput: {
    title: 'Throughput and idle latency with the same sender, signature, log row and database',
    run: async (stage) => {
      execFileSync(
        'npm',
        ['install', '--prefix', 'bench/rivals', '--no-audit', '--no-fund', '--ignore-scripts', '--silent'],
        {
          stdio: 'inherit',
        },
      );
      const results = await benchThroughput(stage, Math.round(20_000 * scale));
      return tableOf(
        ['System', 'webhooks per second', 'idle p50 ms', 'idle p99 ms'],
        results.map((result) => [
          result.name,
          Math.round(result.perS).toLocaleString('en'),
          ms(result.idleP50Ms),
          ms(result.idleP99Ms),
        ]),
      );
    },
  },
  hanging: {
    title: 'Start delay of healthy endpoints while others hang, from the first second of the worker',
    run: async (stage) => isolationTable(await benchHanging(stage, seconds)),
  },
  burst: {
    title: 'Start delay of endpoints during a burst for another endpoint, from the first second of the worker',
    run: async (stage) => isolationTable(await benchBurst(stage, { burst: Math.round(50_000 * scale), seconds })),
  },
  claims: {
    title:
      'Claims by a worker with 512 free slots; half of the queue belongs to endpoints with an open breaker, ' +
      'the rest to 200 others',
    run: async (stage) => {
      const results = [];
      for (const blocked of [1, 1000])
        results.push(await benchClaims(stage, { rows: Math.round(1_000_000 * scale), claims: 2000, blocked }));
      return tableOf(
        [
          'waiting',
          'blocked endpoints',
          'claims',
          'claimed',
          'p50 ms',
          'p99 ms',
          'max ms',
          'scan step p99 ms',
          'single-row commit p99 ms',
        ],
        results.map(({ rows, blocked, claims, claimed, claim, look, commit }) => [
          rows.toLocaleString('en'),
          ...[blocked, claims, claimed].map(String),
          ...[claim.p50Ms, claim.p99Ms, claim.maxMs, look.p99Ms, commit.p99Ms].map(ms),
        ]),
      );
    },
  },
  log: {
    title: 'First page of the delivery log over HTTP with 10 million deliveries in 30 partitions, the slowest filters',
    run: async (stage) => logTable(await benchLog(stage, Math.round(10_000_000 * scale))),
  },
};

const isolationTable = (results: readonly IsolationResult[]): string =>
  tableOf(
    ['Load', 'calls', 'p50 ms', 'p99 ms', 'limit ms', ''],
    results.map((result) => [
      result.what,
      String(result.calls),
      ms(result.p50Ms),
      ms(result.p99Ms),
      ms(result.boundMs),
      result.ok ? 'ok' : 'too slow',
    ]),
  );

for (const name of (process.argv[2] ?? Object.keys(parts).join()).split(',')) {
  const part = parts[name];
  if (part === undefined) throw new Error(`unknown part "${name}"; available parts: ${Object.keys(parts).join(', ')}`);
  const stage = await openStage();
  try {
    await ensurePartitions(stage.pool, Date.now());
    await keepSection(part.title, await part.run(stage), {
      scale,
      titles: Object.values(parts).map(({ title }) => title),
    });
  } finally {
    await stage.close();
  }
}
