import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { endChild, freePort, untilReady } from '../support/server-process.ts';

/** A span as the viewer shows it. Without a parent, it is the root, as far as the viewer knows. */
export type ViewedSpan = {
  spanId: string;
  parentSpanId?: string;
  name: string;
  startTime: number;
  attributes: Record<string, string | number | boolean>;
  status: { code: 'OK' | 'ERROR' | 'UNSET' };
};

export type TraceViewer = {
  /** URL of the viewer's pages and of its receiver. */
  url: string;
  spansOf: (traceId: string) => Promise<readonly ViewedSpan[]>;
  close: () => Promise<unknown>;
};

/** npm package of a third-party OTLP receiver with a web interface. It needs the SQLite module of Node 22. */
const viewer = 'autotel-devtools';
const node = `node-${process.platform}-${process.arch}`;
const packages = [`${viewer}@27.1.0`, `${node}@22.23.3`];

/**
 * Starts the viewer, which is installed once per machine, outside of the project.
 * @throws if npm does not have it
 */
export async function startTraceViewer(): Promise<TraceViewer> {
  const folder = join(tmpdir(), 'perkwire-trace-viewer');
  const modules = join(folder, 'node_modules');
  if (!existsSync(modules)) await install(folder);
  const [port, grpcPort] = [await freePort(), await freePort()];
  const args = [join(modules, '.bin', viewer), '--port', String(port), '--grpc-port', String(grpcPort)];
  const child = spawn(join(modules, node, 'bin/node'), args, { cwd: folder, stdio: 'ignore' });
  process.once('exit', () => child.kill('SIGKILL'));
  const url = `http://127.0.0.1:${port}`;
  await untilReady(`${url}/healthz`, child);
  return {
    url,
    spansOf: async (traceId) => {
      const answer = await fetch(`${url}/v1/traces`);
      const { traces } = (await answer.json()) as { traces: { traceId: string; spans: ViewedSpan[] }[] };
      return traces.find((trace) => trace.traceId === traceId)?.spans ?? [];
    },
    close: () => endChild(child, 'SIGTERM'),
  };
}

async function install(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const args = ['install', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund', ...packages];
  await promisify(execFile)('npm', args, { cwd: folder }).catch((err: Error) => {
    throw new Error(`this needs ${packages.join(' ')} from npm, 260 MB: ${err.message}`);
  });
}
