import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServerProcess } from '../test/support/server-process.ts';

/**
 * Measures the time until a service with the embedded PostgreSQL is ready: first in an empty folder, then again in the
 * same folder, with an existing build.
 * @returns report lines
 */
export async function benchStart(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'perkwire-start-'));
  try {
    const seconds: string[] = [];
    for (const _ of ['first', 'second', 'third']) {
      const startMs = performance.now();
      const env = { NODE_ENV: '', PUBLIC_URL: '', TOKEN_KEYS: '', USER_PEPPER: '', SECRETS_KEY: '', DATA_DIR: folder };
      const server = await startServerProcess({ databaseUrl: '', env });
      seconds.push(((performance.now() - startMs) / 1000).toFixed(1));
      await server.stop();
    }
    const [first, ...later] = seconds;
    return `\nStart to ready, embedded PostgreSQL: ${first} s in a clean folder, ${later.join(' and ')} s later.\n`;
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
