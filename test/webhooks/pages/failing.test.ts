import { afterAll, beforeAll, expect, test } from 'vitest';
import { signInAs } from '../../dashboard/support.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { addEndpoint } from '../dispatcher/support.ts';

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp();
});
afterAll(() => t.close());

test('an active endpoint says that it fails as soon as the alert does: list and page', async () => {
  const { id, publisherId } = await addEndpoint(t, 'https://hooks.example/');
  await t.deps.catalog.refresh();
  const user = await signInAs(t, 'admin', publisherId);
  const base = `/dashboard/p/${publisherId}/settings/webhooks`;
  const failing = async (): Promise<boolean[]> =>
    Promise.all(
      [`${base}/all`, `${base}/usp.selection`].map(async (path) =>
        (await user.get(path)).body.includes('<span class="badge bad">failing</span>'),
      ),
    );
  const healthIs = (failures: number, breaker: string) =>
    t.pool.query(
      `insert into endpoint_health (endpoint_id, failures, breaker_state, first_failure_at, open_until)
      values ($1, $2, $3, now(), now() + interval '1 h')
      on conflict (endpoint_id) do update set failures = excluded.failures, breaker_state = excluded.breaker_state`,
      [id, failures, breaker],
    );
  expect(await failing()).toEqual([false, false]);
  await healthIs(2, 'closed');
  expect(await failing()).toEqual([false, false]);
  await healthIs(3, 'closed');
  expect(await failing()).toEqual([true, true]);
  await healthIs(1, 'open');
  expect(await failing()).toEqual([true, true]);
});
