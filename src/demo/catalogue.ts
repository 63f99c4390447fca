import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { type SeedIds, seedCatalogue } from '../catalog/seed/seed.ts';
import type { SeedCatalogue } from '../catalog/seed/types.ts';
import type { Executor } from '../platform/db/pool.ts';

const demoFolder = new URL('../../demo/', import.meta.url);

/** The fixed key and SDK id of the embedded demo; neither exists anywhere else. */
export const embeddedDemoIds: SeedIds = { key: 'demo-key', sdkId: '0123456789abcdef' };

/** The fixed operator's key of the embedded demo, for the calls of the API reference that need one. */
export const demoOperatorKey = 'demo-operator-key';

export const randomDemoIds = (): SeedIds => ({
  key: `pk_${randomBytes(24).toString('base64url')}`,
  sdkId: randomBytes(8).toString('hex'),
});

/**
 * Writes the demo catalogue as a new publisher. Must run in one transaction.
 * @returns the id of the publisher
 */
export async function loadDemoCatalogue(executor: Executor, ids: SeedIds): Promise<number> {
  const catalogue = JSON.parse(await readFile(new URL('catalogue.json', demoFolder), 'utf8')) as SeedCatalogue;
  return seedCatalogue(executor, catalogue, ids, (file) => readFile(new URL(file, demoFolder)));
}
