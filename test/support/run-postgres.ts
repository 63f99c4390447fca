import { rm } from 'node:fs/promises';
import { startEmbeddedPostgres } from '../../src/embedded/postgres.ts';
import { databaseFolder } from './database-folder.ts';
import { putTemplate } from './template.ts';

/** Server options for a database that may be lost. */
const flags = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'max_connections=400'];

type RunPostgres = { value: string; message: string; close?: () => Promise<void> };

/**
 * Starts one real PostgreSQL for the whole run. Each test file clones its template database. TEST_DATABASE_URL selects
 * another server.
 */
export async function startRunPostgres(): Promise<RunPostgres> {
  const databaseUrl = process.env.TEST_DATABASE_URL;
  if (databaseUrl !== undefined) {
    const { fillTemplate } = await import('./make-template.ts');
    await fillTemplate(databaseUrl);
    return { value: databaseUrl, message: 'PostgreSQL: that of TEST_DATABASE_URL, with the template database' };
  }
  const dataDir = await databaseFolder('perkwire-test-');
  const isNew = await putTemplate(dataDir);
  const server = await startEmbeddedPostgres({ dataDir, flags });
  return {
    value: server.url,
    message: isNew ? 'PostgreSQL: started, with a new template database' : 'PostgreSQL: started',
    close: async () => {
      await server.stop();
      await rm(dataDir, { recursive: true, force: true, maxRetries: 50, retryDelay: 200 });
    },
  };
}
