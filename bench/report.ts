import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { cpus, totalmem } from 'node:os';
import type { LoadResult } from './load.ts';

export type ReportRow = { what: string; measured: LoadResult; bare: LoadResult | null; note: string };

const folder = new URL('./results/', import.meta.url);

/** Describes the time, commit and machine of a measurement in one line, which ends with `note`. */
export function runFacts(note: string): string {
  return [
    `${new Date().toISOString().slice(0, 16)}Z`,
    `commit ${execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim()}`,
    `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}`,
    `${Math.round(totalmem() / 2 ** 30)} GiB`,
    `Node ${process.version}`,
    'PostgreSQL 18, fsync on',
    note,
  ].join(' · ');
}

/** Prints a report table with information about the machine. Stores it in bench/results/ unless the name is null. */
export async function writeReport(name: string | null, rows: readonly ReportRow[], appendix = ''): Promise<void> {
  const head = [
    'What',
    'per second',
    'p50 ms',
    'p99 ms',
    'max ms',
    'failed',
    'bare Fastify /s',
    'ratio',
    'server µs',
    'PostgreSQL µs',
    'WAL B',
    'Counted',
  ];
  const body = rows.map(({ what, measured, bare, note }) => [
    what,
    Math.round(measured.perS).toLocaleString('en'),
    measured.p50Ms.toFixed(2),
    measured.p99Ms.toFixed(2),
    measured.maxMs.toFixed(1),
    String(measured.failed),
    bare === null ? '' : Math.round(bare.perS).toLocaleString('en'),
    bare === null ? '' : (measured.perS / bare.perS).toFixed(2),
    ...[measured.costs?.serverUs, measured.costs?.databaseUs, measured.costs?.walBytes].map((cost) =>
      cost === undefined ? '' : Math.round(cost).toString(),
    ),
    note,
  ]);
  await writeTable(name, head, body, appendix);
}

/** Prints and stores a table with arbitrary columns, like `writeReport`. */
export async function writeTable(name: string | null, head: string[], body: string[][], appendix = ''): Promise<void> {
  const line = (cells: string[]): string => `| ${cells.join(' | ')} |`;
  const text = [
    `# ${name ?? 'quick'}`,
    '',
    runFacts('load generator, server and database on the same machine'),
    '',
    line(head),
    line(head.map(() => '---')),
    ...body.map(line),
    appendix,
  ].join('\n');
  process.stdout.write(`${text}\n`);
  if (name === null) return;
  await mkdir(folder, { recursive: true });
  await writeFile(new URL(`${name}.md`, folder), text);
}
