import { createServer, type Server } from 'node:net';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createPool, isDatabaseUnavailable, transaction } from '../../../src/platform/db/pool.ts';
import { cloneDatabase } from '../../support/database.ts';

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let pool: pg.Pool;
const brokenConnections: Error[] = [];
beforeAll(async () => {
  database = await cloneDatabase();
  pool = createPool({
    url: database.url,
    size: 3,
    applicationName: 'perkwire-test',
    onError: (err) => brokenConnections.push(err),
  });
  await pool.query('create table notes (id integer primary key, text text check (length(text) < 5))');
});
afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

const noteIds = async (): Promise<number[]> =>
  (await pool.query<{ id: number }>('select id from notes order by id')).rows.map(({ id }) => id);

async function failureOf(work: Promise<unknown>): Promise<Error> {
  return work.then(
    () => {
      throw new Error('it did not fail');
    },
    (err: Error) => err,
  );
}

describe('a transaction', () => {
  test('is committed when its function resolves, and returns the result of the function', async () => {
    const answer = await transaction(pool, async (executor) => {
      await executor.query("insert into notes values (1, 'a')");
      expect(await noteIds()).toEqual([]); // another connection sees nothing yet
      return 'done';
    });
    expect(answer).toBe('done');
    expect(await noteIds()).toEqual([1]);
  });

  test('is rolled back when its function throws or a statement is rejected', async () => {
    const own = new Error('no');
    const thrown = transaction(pool, async (executor) => {
      await executor.query("insert into notes values (2, 'b')");
      throw own;
    });
    expect(await failureOf(thrown)).toBe(own);
    const refused = transaction(pool, async (executor) => {
      await executor.query("insert into notes values (3, 'c')");
      await executor.query("insert into notes values (4, 'too long')");
    });
    expect(await failureOf(refused)).toMatchObject({ code: '23514' });
    expect(await noteIds()).toEqual([1]);
  });

  test('returns its connection to the pool after a failure', async () => {
    for (let i = 0; i < 10; i++) await failureOf(transaction(pool, (executor) => executor.query('select 1 / 0')));
    await Promise.all(
      Array.from({ length: 10 }, () =>
        failureOf(transaction(pool, (executor) => executor.query('select nothing from nowhere'))),
      ),
    );
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    expect(pool.idleCount).toBe(pool.totalCount);
  });

  test('fails as unavailable if its connection is terminated, and the pool keeps working', async () => {
    const killed = transaction(pool, async (executor) => {
      await executor.query("insert into notes values (5, 'e')");
      await executor.query('select pg_terminate_backend(pg_backend_pid())');
    });
    expect(isDatabaseUnavailable(await failureOf(killed))).toBe(true);
    expect(await noteIds()).toEqual([1]);
  });

  test('an idle connection that is terminated is reported and replaced without ending the process', async () => {
    await Promise.all([pool.query('select 1'), pool.query('select 1')]);
    const before = brokenConnections.length;
    await pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and application_name = 'perkwire-test' and pid <> pg_backend_pid()`,
    );
    await expect.poll(() => brokenConnections.length).toBeGreaterThan(before);
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  });
});

describe('database availability by type of failure', () => {
  test('an unreachable server is unavailable', async () => {
    const gone = createServer();
    const port = await listening(gone);
    await new Promise((resolve) => gone.close(resolve));
    expect(isDatabaseUnavailable(await connectTo(`postgres://u:p@127.0.0.1:${port}/x`))).toBe(true);
    expect(isDatabaseUnavailable(await connectTo(`postgres://u:p@localhost:${port}/x`))).toBe(true);
  });

  test('a server that hangs up immediately or accepts a connection without responding is unavailable', async () => {
    const rude = createServer((socket) => socket.destroy());
    const silent = createServer(() => {});
    for (const server of [rude, silent]) {
      expect(isDatabaseUnavailable(await connectTo(`postgres://u:p@127.0.0.1:${await listening(server)}/x`))).toBe(
        true,
      );
    }
    rude.close();
    silent.close();
  });

  test('a missing database, an invalid statement and an invalid row do not count as unavailable', async () => {
    const url = new URL(database.url);
    url.pathname = '/there_is_none';
    expect(await connectTo(url.href)).toMatchObject({ code: '3D000' });
    for (const err of [
      await connectTo(url.href),
      await failureOf(pool.query('selec 1')),
      await failureOf(pool.query('insert into notes values (1)')),
    ]) {
      expect(isDatabaseUnavailable(err)).toBe(false);
    }
    expect(isDatabaseUnavailable('timeout')).toBe(false);
    expect(isDatabaseUnavailable(undefined)).toBe(false);
  });

  test('a cancelled statement has an unknown outcome and counts as unavailable', async () => {
    const cancelled = transaction(pool, async (executor) => {
      await executor.query("set local statement_timeout = '20ms'");
      await executor.query('select pg_sleep(30)');
    });
    const err = await failureOf(cancelled);
    expect(err).toMatchObject({ code: '57014' });
    expect(isDatabaseUnavailable(err)).toBe(true);
  });

  async function connectTo(url: string): Promise<Error> {
    const other = createPool({ url, size: 1, applicationName: 'perkwire-test', onError: () => {} });
    const err = await failureOf(other.query('select 1'));
    await other.end();
    return err;
  }
});

const listening = (server: Server): Promise<number> =>
  new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port));
  });

test('an abandoned transaction is rolled back by the server', async () => {
  const { rows } = await pool.query("select current_setting('idle_in_transaction_session_timeout') as timeout");
  expect(rows).toEqual([{ timeout: '5s' }]);
});

test('a statement that hangs closes only its own connection and counts as unavailable', async () => {
  const hasty = createPool({
    url: database.url,
    size: 2,
    applicationName: 'perkwire-test',
    queryTimeoutMs: 1500,
    onError: () => {},
  });
  const read = async () =>
    (await hasty.query<{ pid: number }>('select pg_backend_pid() as pid, pg_sleep(0.1)')).rows[0]?.pid as number;
  const pids = async () => (await Promise.all([read(), read()])).sort((a, b) => a - b);
  const before = await pids();
  for (let count = 0; count < 16; count++) await read(); // longer than the limit together
  expect(await pids()).toEqual(before);
  const err = await failureOf(hasty.query('select pg_sleep(30)'));
  expect(err.message).toBe('timeout: no answer within 1500 ms');
  expect(isDatabaseUnavailable(err)).toBe(true);
  expect(await pids()).not.toEqual(before);
  await hasty.end();
});
