import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OwnPostgres, startOwnPostgres } from '../../support/postgres.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

let server: OwnPostgres;
let t: TestApp;
beforeAll(async () => {
  server = await startOwnPostgres();
  t = await createTestApp({ databaseUrl: server.url });
});
afterAll(async () => {
  await t?.close();
  await server?.close();
});

type Session = { session_id: string; offers: { id: number }[] };

async function fetchOffers(): Promise<Session> {
  const url = `/native/v4/offers.json?api_key=${t.publisher.key}`;
  const answer = await t.app.inject({ method: 'POST', url, payload: { placement: 'checkout' } });
  return answer.json().data as Session;
}

const explained = async ({ session_id: id }: Session): Promise<unknown> => {
  const url = `/manage/v1/sessions/${id}/decision?api_key=${t.publisher.key}`;
  const { data } = (await t.app.inject({ url })).json();
  return [data?.identical, data?.snapshot_version];
};

test('reproduces decisions of two catalogues that share a version number after a failover', async () => {
  const before = await fetchOffers();
  const { version } = t.deps.catalog.current();
  await expect.poll(() => explained(before)).toEqual([true, version]);
  // Without triggers, the catalog version does not change. This simulates a promoted server that lost some changes and
  // made the same number of others.
  await server.query(`begin; set local session_replication_role = 'replica';
    update offers set active = false where id = ${before.offers[0]?.id}; commit`);
  server.signalAll('SIGKILL');
  await expect
    .poll(async () => {
      await server.ensureRunning(); // again, because the killed server may not have ended yet
      return t.deps.catalog.current().offers.get(before.offers[0]?.id ?? 0)?.active;
    })
    .toBe(false);
  expect(t.deps.catalog.current().version).toBe(version);
  await expect.poll(() => t.deps.dbHealth.isUp()).toBe(true);
  const after = await fetchOffers();
  expect(after.offers.length).toBeGreaterThan(0);
  await expect.poll(() => explained(after)).toEqual([true, version]);
  expect(await explained(before)).toEqual([true, version]);
});
