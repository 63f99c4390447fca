import { spawn } from 'node:child_process';
import { readdir, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { databaseFolder } from '../support/database-folder.ts';
import { ensureBuilt } from '../support/resources.ts';
import { endChild, freePort, untilReady } from '../support/server-process.ts';
import { timeLimit } from '../support/time-limit.ts';

const isOpen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const answer = (open: boolean) => () => {
      socket.destroy();
      resolve(open);
    };
    socket.once('connect', answer(true)).once('error', answer(false));
  });

type Start = { folder: string; port: number };

const npmStart = ({ folder, port }: Start, stderr: 'inherit' | 'pipe' = 'inherit') =>
  spawn('npm', ['start'], {
    env: { ...process.env, PORT: String(port), DATA_DIR: join(folder, 'data'), LOG_LEVEL: 'warn' },
    stdio: ['ignore', 'ignore', stderr],
    detached: true,
  });

// Long timeout: the test starts servers with their own database.
test('killing `npm start` ends the server and its database', { timeout: timeLimit(120_000) }, async () => {
  await ensureBuilt();
  const folder = await databaseFolder('perkwire-npm-start-');
  const port = await freePort();
  const child = npmStart({ folder, port });
  try {
    await untilReady(`http://127.0.0.1:${port}/health/ready`, child);
    expect([await isOpen(port), await databaseLives(folder)]).toEqual([true, true]);
    // Signal only the npm process, like a service manager or a user.
    await endChild(child, 'SIGTERM');
    await expect.poll(() => isOpen(port)).toBe(false);
    await expect.poll(() => groupLives(child.pid as number)).toBe(false);
    await expect.poll(() => databaseLives(folder)).toBe(false);
  } finally {
    if (groupLives(child.pid as number)) process.kill(-(child.pid as number), 'SIGTERM');
    // The database may still be shutting down.
    await rm(folder, { recursive: true, force: true, maxRetries: 50, retryDelay: 200 });
  }
});

test('a second `npm start` in the same folder shares the database, and the first continues when the second ends', {
  timeout: timeLimit(180_000),
}, async () => {
  await ensureBuilt();
  const folder = await databaseFolder('perkwire-npm-start-twice-');
  const [port, otherPort] = [await freePort(), await freePort()];
  const first = npmStart({ folder, port });
  const children = [first];
  try {
    await untilReady(`http://127.0.0.1:${port}/health/ready`, first);
    const samePort = npmStart({ folder, port }, 'pipe');
    const [code, output] = await Promise.all([
      new Promise((resolve) => samePort.once('close', resolve)),
      text(samePort.stderr as Readable),
    ]);
    expect([code, output]).toEqual([1, expect.stringContaining(`Perkwire already runs on port ${port}.`)]);

    const second = npmStart({ folder, port: otherPort });
    children.push(second);
    await untilReady(`http://127.0.0.1:${otherPort}/health/ready`, second);
    await endChild(second, 'SIGTERM');
    expect((await fetch(`http://127.0.0.1:${port}/health/ready`)).status).toBe(200);
    // The first server's receiver still gets the webhooks of the demo.
    const list = await fetch(`http://127.0.0.1:${port}/manage/v1/webhook-endpoints?api_key=demo-key`);
    const { data } = (await list.json()) as { data: { url: string }[] };
    expect(data.map(({ url }) => url)).toContain(`http://127.0.0.1:${port}/demo/receiver`);
  } finally {
    for (const { pid } of children) if (groupLives(pid as number)) process.kill(-(pid as number), 'SIGTERM');
    await expect.poll(() => databaseLives(folder)).toBe(false);
    await rm(folder, { recursive: true, force: true, maxRetries: 50, retryDelay: 200 });
  }
});

/** Returns whether PostgreSQL is running. It removes its pid file when it exits. */
const databaseLives = async (folder: string): Promise<boolean> =>
  (await readdir(folder, { recursive: true })).some((file) => file.endsWith('postmaster.pid'));

/** Returns whether any process of the process group is still running. */
function groupLives(id: number): boolean {
  try {
    process.kill(-id, 0);
    return true;
  } catch {
    return false;
  }
}
