import { afterAll, beforeAll, expect, test } from 'vitest';
import { signInAs } from '../../dashboard/support.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { addEndpoint } from '../dispatcher/support.ts';

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp();
});
afterAll(() => t.close());

test('the list, page and navigation show a failing endpoint as soon as the alert does', async () => {
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
  const badges = async (): Promise<string[]> =>
    Promise.all(
      [user, await signInAs(t, 'admin')].map(async (viewer) => {
        const own = viewer === user ? publisherId : t.publisher.id;
        const { body } = await viewer.get(`/dashboard/p/${own}/campaigns`);
        const link = new RegExp(`/p/${own}/settings/webhooks"[^>]*>(.*?)</a>`, 's').exec(body)?.[1] ?? 'no link';
        return link
          .replaceAll(/<[^>]*>/g, ' ')
          .replaceAll(/\s+/g, ' ')
          .trim();
      }),
    );
  expect(await failing()).toEqual([false, false]);
  expect(await badges()).toEqual(['Webhooks', 'Webhooks']);
  await healthIs(2, 'closed');
  expect(await failing()).toEqual([false, false]);
  await healthIs(3, 'closed');
  expect(await failing()).toEqual([true, true]);
  expect(await badges()).toEqual(['Webhooks 1 failing', 'Webhooks']);
  await healthIs(1, 'open');
  expect(await failing()).toEqual([true, true]);
  await t.pool.query('update webhook_endpoints set enabled = false where id = $1', [id]);
  expect(await badges()).toEqual(['Webhooks', 'Webhooks']);
});
