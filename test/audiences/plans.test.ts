import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { readProfiles } from '../../src/audiences/profile.ts';
import { createTestModules } from '../support/test-modules.ts';

test('profiles of a few users are read without planning the statement on every call', async () => {
  const t = await createTestModules(['audiences']);
  const client = await t.pool.connect();
  for (let at = 0; at < 20; at++)
    await readProfiles(client, { userKeys: [randomUUID()], audienceIds: [1], nowMs: Date.now() });
  const { rows } = await client.query(
    `select generic_plans::int, custom_plans::int from pg_prepared_statements where name = 'read_profiles'`,
  );
  client.release();
  // PostgreSQL tries five custom plans before it compares them with a generic plan.
  expect(rows).toEqual([{ generic_plans: 15, custom_plans: 5 }]);
  await t.close();
});
