import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { TestProject } from 'vitest/node';
import { startEmbeddedPostgres } from '../../src/embedded/postgres.ts';
import { migrate } from '../../src/platform/db/migrate.ts';
import { ensurePartitions } from '../../src/platform/db/partitions.ts';
import { createPool, transaction } from '../../src/platform/db/pool.ts';
import { loadTestCatalogue } from './catalogue.ts';
import { databaseFolder } from './database-folder.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The template database: migrated, with the demo catalogue. */
    templateUrl: string;
  }
}

/** For a database that may be lost. */
const settings = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'max_connections=400'];

/** Pages load the scripts for browsers as they are now; processes of their own run the server as it was built last. */
async function build(): Promise<void> {
  const script = existsSync('dist/server.js') ? 'build:sdk' : 'build';
  await promisify(execFile)('npm', ['run', '--silent', script]);
}

/**
 * One real PostgreSQL for the whole run; each test file clones the template database. TEST_DATABASE_URL uses another
 * server.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await build();
  const dataDir = await databaseFolder('perkwire-test-');
  const given = process.env.TEST_DATABASE_URL;
  const server = given === undefined ? await startEmbeddedPostgres({ dataDir, flags: settings }) : null;
  const url = server?.url ?? (given as string);
  await migrate(url);
  const pool = createPool({ url, size: 1, applicationName: 'perkwire-test', onError: () => {} });
  await ensurePartitions(pool, Date.now());
  await transaction(pool, loadTestCatalogue);
  await pool.end();
  project.provide('templateUrl', url);
  return async () => {
    await server?.stop();
    await rm(dataDir, { recursive: true, force: true, maxRetries: 50, retryDelay: 200 });
  };
}
