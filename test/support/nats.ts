import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { endChild, freePort } from './server-process.ts';

/** One or more NATS servers with JetStream, as a cluster. */
export type NatsServers = {
  /** Value of EVENT_LOG_URL. */
  url: string;
  kill: (index: number) => Promise<void>;
  /** Restarts a killed server with its existing files. */
  start: (index: number) => Promise<void>;
  pids: () => number[];
  close: () => Promise<void>;
};

/** Whether Debian's `nats-server` is installed, which the event log tests need. */
export const hasNats = ((): boolean => {
  try {
    execFileSync('nats-server', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

export async function startNats(size = 1): Promise<NatsServers> {
  const folder = await mkdtemp(join(tmpdir(), 'perkwire-nats-'));
  const ports: number[] = [];
  const routes: number[] = [];
  for (let index = 0; index < size; index++) {
    ports.push(await freePort());
    routes.push(await freePort());
  }
  const children: ChildProcess[] = [];
  const start = async (index: number): Promise<void> => {
    const [port, route] = [ports[index] as number, routes[index] as number];
    const alone = ['-a', '127.0.0.1', '-p', String(port), '-js', '-sd', join(folder, String(index))];
    const others = routes.map((other) => `nats://127.0.0.1:${other}`).join(',');
    const cluster = ['--cluster_name', 'test', '--cluster', `nats://127.0.0.1:${route}`, '--routes', others];
    const args = size === 1 ? alone : [...alone, '-n', `node-${index}`, ...cluster];
    const child = spawn('nats-server', args, { stdio: 'ignore' });
    children[index] = child;
    await untilListening(port, child);
  };
  await Promise.all(ports.map((_, index) => start(index)));
  return {
    url: `nats://${ports.map((port) => `127.0.0.1:${port}`).join(',')}`,
    kill: async (index) => void (await endChild(children[index] as ChildProcess, 'SIGKILL')),
    start,
    pids: () => children.flatMap(({ pid = [] }) => pid),
    close: async () => {
      await Promise.all(children.map((child) => endChild(child, 'SIGKILL')));
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

async function untilListening(port: number, child: ChildProcess): Promise<void> {
  while (child.exitCode === null && child.signalCode === null) {
    const socket = connect(port, '127.0.0.1');
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    });
    socket.destroy();
    if (isOpen) return;
    await sleep(50);
  }
  throw new Error(`nats-server ended with ${child.exitCode ?? child.signalCode}`);
}
