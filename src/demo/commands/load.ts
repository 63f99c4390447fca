import { exitCodes, type Run, usageError } from '../../command-line/command.ts';
import { findWritableUrl } from '../../platform/db/find-writable.ts';
import { migrate } from '../../platform/db/migrate.ts';
import { createPool, transaction } from '../../platform/db/pool.ts';
import { loadDemoCatalogue, randomDemoIds } from '../catalogue.ts';

/** Loads the demo catalogue into the database at DATABASE_URL. Generates a random API key and prints it once. */
export const loadDemo: Run = async ({ env, out, signal }) => {
  if (!env.DATABASE_URL)
    throw usageError('Set DATABASE_URL. Without it, the server starts an embedded database with the demo catalogue.');
  const url = await findWritableUrl(env.DATABASE_URL);
  await migrate(url, { signal });
  const pool = createPool({ url, size: 2, applicationName: 'perkwire-demo-load', onError: () => {}, signal });
  try {
    const ids = randomDemoIds();
    const publisherId = await transaction(pool, (executor) => loadDemoCatalogue(executor, ids));
    out.data({ publisher_id: publisherId, key: ids.key, sdk_id: ids.sdkId });
    out.line(`Loaded the demo catalogue as publisher ${publisherId}.`);
    out.line(`  API key (shown only now): ${ids.key}\n  SDK ID: ${ids.sdkId}`);
    return exitCodes.ok;
  } finally {
    await pool.end();
  }
};
