import { afterAll, beforeAll, expect, test } from 'vitest';
import { findWritable } from '../../../src/platform/db/find-writable.ts';
import { startDatabaseHealth } from '../../../src/platform/db/health.ts';
import { listen } from '../../../src/platform/db/listen.ts';
import { breakConnections, createPool } from '../../../src/platform/db/pool.ts';
import { createServers, placeOf } from '../../../src/platform/db/servers.ts';
import { cloneDatabase } from '../../support/database.ts';
import { type DatabaseProxy, startProxy } from '../../support/proxy.ts';

const urlsOf = (databaseUrl: string) => createServers(databaseUrl).all;

test('DATABASE_URL accepts a list of servers, as libpq does', () => {
  expect(urlsOf('postgres://u:p%40@a:5432,b:5433/db?target_session_attrs=read-write&sslmode=disable')).toEqual([
    'postgres://u:p%40@a:5432/db?sslmode=disable',
    'postgres://u:p%40@b:5433/db?sslmode=disable',
  ]);
  expect(urlsOf('postgresql://a,[::1]:5433/db')).toEqual(['postgresql://a/db', 'postgresql://[::1]:5433/db']);
  expect(urlsOf('postgres://u@a/db')).toEqual(['postgres://u@a/db']);
  expect(urlsOf('postgres:///db?host=/run/postgresql')).toEqual(['postgres:///db?host=/run/postgresql']);
});

test.each([
  ['postgres://u:p@a:5433/db?host=b', 'a:5433'],
  ['postgresql://[::1]:5433/db', '[::1]:5433'],
  ['postgres://u:p@/db?host=/run/postgresql', '/run/postgresql'],
  ['postgres://u@/db?sslmode=disable&host=%2Frun%2Fpostgresql&port=5433', '/run/postgresql'],
  ['postgres:///db', ''],
])('%s is shown without its secrets', (url, place) => {
  expect(placeOf(url)).toBe(place);
});

test.each([
  ['mysql://a/db', 'must begin with postgres://'],
  ['postgres://a:1,b:x/db', 'must look like'],
  ['postgres://a,,b/db', 'must look like'],
  ['postgres://a,b/db?target_session_attrs=standby', 'target_session_attrs=read-write'],
])('%s is rejected with an explanation', (url, problem) => {
  expect(() => createServers(url)).toThrow(problem);
});

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let proxies: DatabaseProxy[];
beforeAll(async () => {
  database = await cloneDatabase();
  proxies = [await startProxy(database.url), await startProxy(database.url)];
});
afterAll(async () => {
  for (const proxy of proxies) proxy.close();
  await database?.drop();
});

test('every connection goes to the writable server and follows a failover', async () => {
  const [first, second] = proxies as [DatabaseProxy, DatabaseProxy];
  const hosts = [first, second].map(({ url }) => new URL(url).host).join(',');
  first.cut();
  const servers = createServers(database.url.replace(new URL(database.url).host, hosts));
  const dbHealth = await startDatabaseHealth({ servers, onChange: () => {}, commitTimeoutMs: 2000, now: Date.now });
  const pool = createPool({ url: servers.current, size: 2, applicationName: 'perkwire-test', onError: () => {} });
  let notified = 0;
  const unlisten = listen(servers.current, 'moved', (payload) => {
    if (payload === 'yes') notified += 1;
  });
  await expect.poll(servers.current).toBe(second.url);
  expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);

  first.heal();
  second.cut();
  await expect.poll(servers.current).toBe(first.url);
  await expect.poll(dbHealth.isUp).toBe(true);
  expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  await expect
    .poll(async () => {
      await pool.query("select pg_notify('moved', 'yes')");
      return notified;
    })
    .toBeGreaterThan(0);

  await unlisten();
  await pool.end();
  await dbHealth.stop();
  second.heal();
});

test('a connection that was being opened to the former primary breaks and is never used', async () => {
  const [first, second] = proxies as [DatabaseProxy, DatabaseProxy];
  const hosts = [first, second].map(({ url }) => new URL(url).host).join(',');
  second.cut();
  const servers = createServers(database.url.replace(new URL(database.url).host, hosts));
  const dbHealth = await startDatabaseHealth({ servers, onChange: () => {}, commitTimeoutMs: 2000, now: Date.now });
  const pool = createPool({ url: servers.current, size: 1, applicationName: 'perkwire-test', onError: () => {} });
  dbHealth.onDown(() => breakConnections(pool));
  await expect.poll(dbHealth.isUp).toBe(true);
  first.freeze();
  await expect.poll(dbHealth.isUp).toBe(false);

  const heldBefore = first.heldConnections();
  const result = pool.query('select 1').then(
    () => 'used',
    () => 'broken',
  );
  await expect.poll(first.heldConnections).toBeGreaterThan(heldBefore);
  second.heal();
  await expect.poll(servers.current).toBe(second.url);
  first.heal();
  expect(await result).toBe('broken');

  await pool.end();
  await dbHealth.stop();
});

test('a primary on an earlier timeline is reported with the time since which writes may be lost', async () => {
  const [first, second] = proxies as [DatabaseProxy, DatabaseProxy];
  const hosts = [first, second].map(({ url }) => new URL(url).host).join(',');
  const admin = createPool({ url: database.url, size: 1, applicationName: 'perkwire-test', onError: () => {} });
  const beOn = (timeline: string): Promise<unknown> =>
    admin.query(`create or replace function public.pg_walfile_name(pg_lsn) returns text return '${timeline}0000'`);
  const { pathname } = new URL(database.url);
  await admin.query(`alter database ${pathname.slice(1)} set search_path = public, pg_catalog`);
  await beOn('00000001');
  const reported: Date[] = [];
  second.cut();
  const servers = createServers(database.url.replace(new URL(database.url).host, hosts));
  let nowMs = Date.parse('2026-01-01T10:00:00Z');
  const dbHealth = await startDatabaseHealth({
    servers,
    onChange: () => {},
    onTimelineBack: (since) => reported.push(since),
    commitTimeoutMs: 2000,
    now: () => nowMs,
  });
  const moveTo = async (to: DatabaseProxy, from: DatabaseProxy, timeline: string): Promise<void> => {
    nowMs += 60_000;
    await beOn(timeline);
    to.heal();
    from.cut();
    await expect.poll(servers.current).toBe(to.url);
  };

  await moveTo(second, first, '00000002');
  expect(reported).toEqual([]);
  await moveTo(first, second, '00000001');
  expect(reported).toEqual([new Date('2026-01-01T10:01:00Z')]);

  await dbHealth.stop();
  await admin.query('drop function public.pg_walfile_name(pg_lsn)');
  await admin.query(`alter database ${pathname.slice(1)} reset search_path`);
  await admin.end();
  second.heal();
});

test('a server that becomes writable is found while another is silent', async () => {
  const [first, second] = proxies as [DatabaseProxy, DatabaseProxy];
  first.freeze();
  const find = async (): Promise<string> => {
    second.cut();
    const refused = second.refused();
    const search = findWritable({ all: [first.url, second.url] }, 'perkwire-test');
    void search.catch(() => {});
    await expect.poll(second.refused, { interval: 1 }).toBeGreaterThan(refused);
    second.heal();
    const { url, connection } = await search;
    connection.destroy();
    return url;
  };
  // On a busy machine, this may take longer than the search waits for silent servers.
  await expect.poll(() => find().catch(String)).toBe(second.url);
  first.heal();
});
