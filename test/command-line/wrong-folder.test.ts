import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { commands } from '../../src/commands.ts';
import { cloneDatabase } from '../support/database.ts';
import { processSecrets } from '../support/server-process.ts';
import { runCommand } from './support.ts';

/** Commands that create an installation, need none, or wait for the service until they are stopped. */
const others = ['start', 'completion', 'logs tail'];
const names = commands.map(({ name }) => name).filter((name) => !others.includes(name));

/** Commands that read a database directly. */
const readers = [
  'secrets status',
  'audit verify',
  'audit export',
  'reports verify',
  'doctor',
  'catalogue export out.json --database',
];

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perkwire-wrong-'));
});
afterEach(() => rm(folder, { recursive: true }));

describe('in a directory without an installation', () => {
  // Returns the environment of a command. Nothing listens on the port of the service URL.
  const env = () => ({ DATA_DIR: join(folder, '.data'), PERKWIRE_URL: 'http://127.0.0.1:1', PERKWIRE_KEY: 'key' });

  test.each(names)('%s creates nothing, and reports what is missing', async (name) => {
    const { code, out, err } = await runCommand(name.split(' '), env());
    expect(code).not.toBe(0);
    expect(out + err).not.toMatch(/relation|syntax error|at .*\.[jt]s:\d/);
    expect(await readdir(folder)).toEqual([]);
  });

  test.each(['secrets status', 'secrets reseal', 'audit verify', 'audit export', 'reports verify'])(
    '%s reports in one line where it looked',
    async (name) => {
      const path = join(folder, '.data');
      const sentence =
        `No database found: DATABASE_URL is not set, and ${path} contains no Perkwire data. ` +
        'Set DATABASE_URL or DATA_DIR, or change to the directory of the installation.\n';
      expect(await runCommand(name.split(' '), env())).toEqual({ code: 2, out: '', err: sentence });
      // A folder with the same name that belongs to another program.
      await mkdir(path);
      expect(await runCommand(name.split(' '), env())).toEqual({ code: 2, out: '', err: sentence });
      expect(await readdir(path)).toEqual([]);
    },
  );

  test('no operator is created in a database that does not exist yet', async () => {
    const { code, err } = await runCommand(['operator', 'create', '--email', 'you@example.com'], env());
    expect([code, err]).toEqual([2, expect.stringMatching(/^No database found: /)]);
    expect(await readdir(folder)).toEqual([]);
  });
});

test.each(readers)(
  '%s leaves an empty database empty, and reports that it is not a Perkwire database',
  async (line) => {
    const database = await cloneDatabase();
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    await client.query('drop schema public cascade; create schema public');
    const file = join(folder, 'out.json');
    const { code, out, err } = await runCommand(line.replace('out.json', file).split(' '), {
      ...processSecrets,
      DATABASE_URL: database.url,
      PUBLIC_URL: 'http://127.0.0.1:1',
    });
    expect((await client.query('select from pg_tables where schemaname = current_schema')).rowCount).toBe(0);
    expect(existsSync(file)).toBe(false);
    if (line === 'doctor') expect(out).toContain('Start the service, or run it once with ROLES=migrate');
    else
      expect([code, err]).toEqual([
        2,
        expect.stringMatching(/^The database test_\w+ at \S+ contains no Perkwire tables\. .*\n$/),
      ]);
    await client.end();
    await database.drop();
  },
);

test.each(readers)('%s reports an unavailable database in one line', async (line) => {
  const file = join(folder, 'out.json');
  const { code, out, err } = await runCommand(line.replace('out.json', file).split(' '), {
    ...processSecrets,
    DATABASE_URL: 'postgres://u:secret@127.0.0.1:1/perkwire',
    PUBLIC_URL: 'http://127.0.0.1:1',
  });
  expect(code).not.toBe(0);
  expect(out + err).toContain('127.0.0.1:1');
  expect(out + err).not.toContain('secret');
});
