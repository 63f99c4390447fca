import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { untilWaiting } from '../support/locks.ts';
import { ensureBuilt } from '../support/resources.ts';
import { processSecrets } from '../support/server-process.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
let holder: pg.PoolClient;
const started: ChildProcess[] = [];
beforeAll(async () => {
  [t] = await Promise.all([createTestApp(), ensureBuilt()]);
  holder = await t.pool.connect();
  await holder.query('set idle_in_transaction_session_timeout = 0');
  await holder.query('begin');
  await holder.query("select pg_advisory_xact_lock(hashtext('perkwire_migrate'))");
  await holder.query('lock table schema_migrations, audit_log, sessions, webhook_endpoints in access exclusive mode');
});
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
});
afterAll(async () => {
  holder?.release(true);
  await t?.close();
});

/** Runs a built command in a separate process. `ended` resolves with its exit code and signal. */
function start(line: string, env: Record<string, string>) {
  const child = spawn(process.execPath, ['dist/perkwire.js', ...line.split(' ')], {
    env: { ...process.env, ...processSecrets, PUBLIC_URL: 'http://127.0.0.1:9', ...env },
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  started.push(child);
  let stderrText = '';
  child.stderr.on('data', (text) => {
    stderrText += text;
  });
  return { child, ended: once(child, 'exit'), said: () => stderrText };
}

/** Ends the waiting statement, because PostgreSQL only notices that a client is gone when its statement ends. */
async function endWaiting(): Promise<void> {
  await t.pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`,
  );
  await untilWaiting(t.pool, 0);
}

test.each([
  'doctor',
  'reports verify',
  'audit verify',
  'audit export',
  'secrets status',
  'demo load',
  'catalogue export /dev/null --database',
  'operator create --email someone@example.com',
])('Ctrl-C ends `%s` with 130 and no other output while it waits for the database', async (line) => {
  const { child, ended, said: readStderr } = start(line, { DATABASE_URL: t.databaseUrl });
  child.stdin.end();
  await untilWaiting(t.pool, 1);
  child.kill('SIGINT');
  expect([await ended, readStderr()]).toEqual([[130, null], '']);
  await endWaiting();
});

test('stopped migrations are not reported as done, and ROLES=migrate exits with 130', async () => {
  const { child, ended } = start('start', { DATABASE_URL: t.databaseUrl, ROLES: 'migrate' });
  await untilWaiting(t.pool, 1);
  child.kill('SIGINT');
  expect(await ended).toEqual([130, null]);
  await endWaiting();
});

test('Ctrl-C ends a command that reads standard input', async () => {
  const line = 'operator create --email you@example.com --password-stdin';
  const { child, ended } = start(line, { DATABASE_URL: t.databaseUrl });
  // Write more than the pipe can buffer, so that the write completes only once the command reads.
  await new Promise((resolve) => child.stdin.write('x'.repeat(2 ** 20), resolve));
  child.kill('SIGINT');
  expect(await ended).toEqual([130, null]);
});

test('a second Ctrl-C ends a command at once during cleanup after the first', async () => {
  const requests: string[] = [];
  const service = createServer(({ method, url }, answer) => {
    requests.push(`${method} ${url}`);
    if (method === 'POST') answer.end(JSON.stringify({ data: { id: 7, secret: 's', events: [] } }));
  });
  await once(service.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
  const env = { PERKWIRE_KEY: 'k', PERKWIRE_URL: url };
  const { child, ended } = start('listen --forward http://127.0.0.1:9/hook', env);
  await expect.poll(() => requests).toContain('GET /manage/v1/webhook-listeners/7/stream');
  child.kill('SIGINT');
  await expect.poll(() => requests).toContain('DELETE /manage/v1/webhook-endpoints/7');
  // Signals that arrive together with the first one count as the same signal.
  const again = setInterval(() => child.kill('SIGINT'), 50);
  expect(await ended).toEqual([130, null]);
  clearInterval(again);
  service.closeAllConnections();
  service.close();
});
