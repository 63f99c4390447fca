import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { cpus, totalmem } from 'node:os';
import { ensurePartitions } from '../../src/maintenance.ts';
import { openStage } from '../stage.ts';
import { benchClaims } from './claims.ts';
import { benchBurst, benchHanging } from './isolation.ts';
import { benchThroughput } from './throughput.ts';

/*
 * npm run bench:webhooks -- [parts] [scale]
 *
 * parts: any of throughput, hanging, burst, claims (comma list; default all). scale: 1 is the whole measurement, 0.1 a short look.
 * Each part has a database of its own, fsync on. The rivals are installed at the first use, from their own lock file.
 */
const parts = (process.argv[2] ?? 'throughput,hanging,burst,claims').split(',');
const scale = Number(process.argv[3] ?? 1);
const lines: string[] = [];

const ms = (value: number): string => value.toFixed(1);
function table(title: string, head: readonly string[], rows: readonly (readonly string[])[]): void {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  lines.push(`## ${title}`, '', line(head), line(head.map(() => '---')), ...rows.map(line), '');
}

async function onStage<Result>(run: (stage: Awaited<ReturnType<typeof openStage>>) => Promise<Result>): Promise<Result> {
  const stage = await openStage();
  try {
    await ensurePartitions(stage.pool, Date.now());
    return await run(stage);
  } finally {
    await stage.close();
  }
}

if (parts.includes('throughput')) {
  execFileSync('npm', ['install', '--prefix', 'bench/rivals', '--no-audit', '--no-fund', '--ignore-scripts', '--silent'], {
    stdio: 'inherit',
  });
  const results = await onStage((stage) => benchThroughput(stage, Math.round(20_000 * scale)));
  table(
    'Throughput and idle latency, same sender, signature, log row and database',
    ['System', 'webhooks per second', 'idle p50 ms', 'idle p99 ms'],
    results.map((one) => [one.name, Math.round(one.perS).toLocaleString('en'), ms(one.idleP50Ms), ms(one.idleP99Ms)]),
  );
}
const isolation = [
  ...(parts.includes('hanging') ? await onStage((stage) => benchHanging(stage, Math.max(3, 30 * scale))) : []),
  ...(parts.includes('burst')
    ? await onStage((stage) => benchBurst(stage, { burst: Math.round(50_000 * scale), seconds: Math.max(3, 30 * scale) }))
    : []),
];
if (isolation.length > 0) {
  table(
    'Start delay of healthy endpoints, from the first second of the worker',
    ['Load', 'calls', 'p50 ms', 'p99 ms', 'may be', ''],
    isolation.map((one) => [one.what, String(one.calls), ms(one.p50Ms), ms(one.p99Ms), ms(one.boundMs), one.ok ? 'ok' : 'too late']),
  );
}
if (parts.includes('claims')) {
  const rows = Math.round(1_000_000 * scale);
  const results = [];
  for (const blocked of [1, 1000]) results.push(await onStage((stage) => benchClaims(stage, { rows, claims: 500, size: 50, blocked })));
  table(
    'Claim of up to 50, half of the queue belonging to endpoints with an open breaker, the rest to 200 others, nothing vacuumed',
    [
      'deliveries waiting',
      'blocked endpoints',
      'claims',
      'claimed',
      'p50 ms',
      'p99 ms',
      'max ms',
      'look around, once a second, p99 ms',
      'a commit of one row, p99 ms',
    ],
    results.map(({ rows, blocked, claims, claimed, claim, look, commit }) => [
      rows.toLocaleString('en'),
      String(blocked),
      String(claims),
      String(claimed),
      ms(claim.p50Ms),
      ms(claim.p99Ms),
      ms(claim.maxMs),
      ms(look.p99Ms),
      ms(commit.p99Ms),
    ]),
  );
}

const facts = `${new Date().toISOString().slice(0, 16)}Z · ${cpus().length} × ${cpus()[0]?.model ?? 'unknown'} · ${Math.round(totalmem() / 2 ** 30)} GiB · Node ${process.version} · PostgreSQL 18, fsync on · all on one machine · scale ${scale}`;
const text = ['# bench:webhooks', '', facts, '', ...lines].join('\n');
process.stdout.write(`${text}\n`);
const folder = new URL('../results/', import.meta.url);
await mkdir(folder, { recursive: true });
if (scale >= 1) await writeFile(new URL('webhooks.md', folder), `${text}\n`);
