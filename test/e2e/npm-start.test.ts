import { spawn } from 'node:child_process';
import { readdir, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
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

// The test starts a server with its own database three times.
test('killing `npm start` ends the server and its database', { timeout: timeLimit(120_000) }, async () => {
  await ensureBuilt();
  const folder = await databaseFolder('perkwire-npm-start-');
  const port = await freePort();
  const child = spawn('npm', ['start'], {
    env: { ...process.env, PORT: String(port), DATA_DIR: join(folder, 'data'), LOG_LEVEL: 'warn' },
    stdio: ['ignore', 'ignore', 'inherit'],
    detached: true,
  });
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
