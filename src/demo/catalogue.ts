import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { storeKnownKey } from '../accounts/keys.ts';
import { type SeedCatalogue, seedCatalogue } from '../catalog-admin/seed.ts';
import type { Executor } from '../platform/db/pool.ts';

const demoFolder = new URL('../../demo/', import.meta.url);

/** API key and SDK ID of a demo publisher. The API key has all permissions except `accounts`. */
export type DemoIds = { key: string; sdkId: string };

/** All permissions that a publisher's key can have, for the publisher's own data. */
const publisherPermissions = [
  'ads/offers',
  'reports',
  'configurations',
  'offers/management',
  'offers/approval',
  'wallet',
];

/** Fixed API key and SDK ID of the embedded demo. They must not be used anywhere else. */
export const embeddedDemoIds: DemoIds = { key: 'demo-key', sdkId: '0123456789abcdef' };

/** Fixed operator key of the embedded demo, for calls in the API reference that require an operator. */
export const demoOperatorKey = 'demo-operator-key';

export const randomDemoIds = (): DemoIds => ({
  key: `pk_${randomBytes(24).toString('base64url')}`,
  sdkId: randomBytes(8).toString('hex'),
});

/**
 * Inserts the demo catalogue as a new publisher. Must run in a transaction.
 * @returns the ID of the new publisher
 */
export async function loadDemoCatalogue(executor: Executor, ids: DemoIds): Promise<number> {
  const catalogue = JSON.parse(await readFile(new URL('catalogue.json', demoFolder), 'utf8')) as SeedCatalogue;
  const readImage = (file: string): Promise<Buffer> => readFile(new URL(file, demoFolder));
  const publisherId = await seedCatalogue(executor, catalogue, ids.sdkId, readImage);
  const name = 'Demo key';
  await storeKnownKey(executor, { publisherId, name, key: ids.key, permissions: publisherPermissions });
  return publisherId;
}

/** Custom attribute that marks generated sessions. Reports can use it to exclude or select them. */
export const syntheticMark = { name: 'demo_history', value: 'made-up' } as const;
