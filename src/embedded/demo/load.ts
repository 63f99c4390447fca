import { findWritableUrl } from '../../platform/db/find-writable.ts';
import { migrate } from '../../platform/db/migrate.ts';
import { createPool, transaction } from '../../platform/db/pool.ts';
import { loadDemoCatalogue, randomDemoIds } from './catalogue.ts';

/**
 * `npm run demo:load`: writes the demo catalogue into the database of DATABASE_URL, under a random key that is shown
 * once.
 */
async function main(): Promise<void> {
  const databaseUrl = process.env.DATABASE_URL ?? '';
  if (databaseUrl === '')
    throw new Error('Set DATABASE_URL. Without it, npm start brings a database with the demo catalogue of its own.');
  const url = await findWritableUrl(databaseUrl);
  await migrate(url);
  const pool = createPool({ url, size: 2, applicationName: 'perkwire-demo-load', onError: () => {} });
  try {
    const ids = randomDemoIds();
    const publisherId = await transaction(pool, (executor) => loadDemoCatalogue(executor, ids));
    process.stdout.write(
      `Loaded the demo catalogue as publisher ${publisherId}.\n` +
        `  API key (shown only now): ${ids.key}\n  SDK id: ${ids.sdkId}\n`,
    );
  } finally {
    await pool.end();
  }
}

main().catch((err: Error) => {
  process.stderr.write(`${err.message}\n`);
  process.exitCode = 1;
});
