import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createPool, transaction } from '../../../src/platform/db/pool.ts';
import { followHealth } from '../../support/health.ts';
import { type OwnPostgres, startOwnPostgres } from '../../support/postgres.ts';
import { requestOver } from '../../support/request.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

let server: OwnPostgres;
let t: TestApp;
beforeAll(async () => {
  server = await startOwnPostgres();
  await server.query('select create_day_partitions(current_date - 2, current_date + 7)');
  t = await createTestApp({ databaseUrl: server.url, config: { commitTimeoutMs: 1000 } });
});
afterEach(async () => {
  await server.answerStandby();
  await expect.poll(t.deps.dbHealth.isUp).toBe(true);
});
afterAll(async () => {
  await t?.close();
  await server?.close();
});

const fetchOffers = () =>
  t.app.inject({
    method: 'POST',
    url: '/native/v4/offers.json?api_key=demo-key',
    payload: { placement: 'checkout', pub_user_id: 'u-1' },
  });
const pixel = async (): Promise<string> => {
  const answer = await fetchOffers();
  expect(answer.statusCode).toBe(200);
  return answer.json().data.offers[0].pixel.replace('http://perks.test', '');
};
const ready = async () => (await t.app.inject('/health/ready')).statusCode;

/** Returns the number of server processes that wait for a replica. */
const waiting = async () => (await server.query("select 1 from pg_stat_activity where wait_event = 'SyncRep'")).length;

test('a process is not ready and responds with 503 while a synchronous standby is silent', async () => {
  const url = await pixel();
  await server.silenceStandby();
  const first = requestOver(t.app, { url });
  await expect.poll(ready).toBe(503);
  expect((await first).statusCode).toBe(503);
  for (let count = 0; count < 5; count++) expect((await requestOver(t.app, { url })).statusCode).toBe(503);
  await server.answerStandby();
  await expect.poll(ready).toBe(200);
  expect((await requestOver(t.app, { url })).statusCode).toBe(200);
});

test('an idle process detects a silent standby and blocks only one server process', async () => {
  await server.silenceStandby();
  const { dbHealth, changes, reasons } = await followHealth(server.url, { commitTimeoutMs: 300 });
  await expect.poll(ready).toBe(503);
  expect(dbHealth.isUp()).toBe(false);
  const pids = new Set<number>();
  await expect
    .poll(async () => {
      const rows = await server.query<{ pid: number }>(
        "select pid from pg_stat_activity where application_name = 'perkwire-commit' and wait_event = 'SyncRep'",
      );
      for (const { pid } of rows) pids.add(pid);
      return pids.size;
    })
    .toBeGreaterThan(5);
  // One process waits for this instance, and one for the application.
  expect(await waiting()).toBeLessThan(5);
  expect(changes).toEqual([]);
  await server.answerStandby();
  await expect.poll(dbHealth.isUp).toBe(true);
  expect(reasons).toEqual([]);
  await dbHealth.stop();
});

test('a commit that PostgreSQL did not replicate gets no 2xx response', async () => {
  const url = await pixel();
  await server.silenceStandby();
  const answer = requestOver(t.app, { url });
  // Cancel the beacon's waiting commit, which then reports COMMIT with a warning.
  await expect
    .poll(async () => {
      const rows = await server.query<{ cancelled: boolean }>(
        `select pg_cancel_backend(pid) as cancelled from pg_stat_activity
        where wait_event = 'SyncRep' and application_name = 'perkwire'`,
      );
      return rows.length;
    })
    .toBeGreaterThan(0);
  expect((await answer).statusCode).toBe(503);
  // The stored data may not be on any replica, so nothing is answered from it until a later commit is replicated.
  expect(t.deps.dbHealth.isUp()).toBe(false);
});

test('a transaction fails with an unknown outcome if its commit was not replicated', async () => {
  const pool = createPool({ url: server.url, size: 1, applicationName: 'perkwire-test', onError: () => {} });
  await pool.query('create table if not exists notes (id integer)');
  await server.silenceStandby();
  const outcome = transaction(pool, (executor) => executor.query('insert into notes values (1)')).catch(
    (err: Error) => err,
  );
  await expect
    .poll(
      async () =>
        (
          await server.query(
            `select pg_cancel_backend(pid) from pg_stat_activity
            where wait_event = 'SyncRep' and application_name = 'perkwire-test'`,
          )
        ).length,
    )
    .toBeGreaterThan(0);
  expect(await outcome).toMatchObject({ code: '40003' });
  await server.answerStandby();
  expect((await pool.query('select * from notes')).rows).toHaveLength(1);
  await pool.end();
});

test('connections commit synchronously and without a statement timeout, whatever the database setting', async () => {
  await server.query("alter database perkwire set synchronous_commit = 'off'");
  await server.query("alter database perkwire set statement_timeout = '50ms'");
  const pool = createPool({ url: server.url, size: 1, applicationName: 'perkwire-test', onError: () => {} });
  const setting = async (name: string) => (await pool.query(`show ${name}`)).rows[0][name];
  try {
    expect(await setting('synchronous_commit')).toBe('on');
    expect(await setting('statement_timeout')).toBe('0');
  } finally {
    await pool.end();
    await server.query('alter database perkwire reset all');
  }
});

test('a server whose processes are stopped is down, and up again when they continue', async () => {
  const { dbHealth, changes, reasons } = await followHealth(server.url);
  server.signalAll('SIGSTOP');
  try {
    await expect.poll(dbHealth.isUp).toBe(false);
    expect(reasons).toEqual(['no answer within 220 ms']);
  } finally {
    server.signalAll('SIGCONT');
  }
  await expect.poll(dbHealth.isUp).toBe(true);
  expect(changes).toEqual([true, false, true]);
  await dbHealth.stop();
});

test('a process whose database role cannot write is not ready until it can', async () => {
  const { dbHealth, reasons } = await followHealth(server.url);
  await server.query('alter system set default_transaction_read_only = on');
  await server.query('select pg_reload_conf()');
  await expect.poll(dbHealth.isUp).toBe(false);
  expect(reasons).toEqual(['the server is read-only']);
  await server.query('set default_transaction_read_only = off');
  await server.query('alter system reset default_transaction_read_only');
  await server.query('select pg_reload_conf()');
  await expect.poll(dbHealth.isUp).toBe(true);
  await dbHealth.stop();
});

test('a process whose write failed on a full disk is not ready until there is space', async () => {
  const url = await pixel();
  await server.query(`create function refuse() returns trigger language plpgsql as
    $$ begin raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$`);
  const full = (table: string) =>
    `create trigger full_disk before insert on ${table} for each statement execute function refuse()`;
  await server.query(full('events'));
  await server.query(full('space_probe'));
  expect((await requestOver(t.app, { url })).statusCode).toBe(503);
  await expect.poll(ready).toBe(503);
  await server.query('drop function refuse() cascade');
  await expect.poll(ready).toBe(200);
  expect((await requestOver(t.app, { url })).statusCode).toBe(200);
});
