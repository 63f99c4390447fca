import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from '../../command-line/support.ts';
import { portOf } from '../../support/request.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

let t: TestApp;
let folder: string;
let run: (...args: string[]) => ReturnType<typeof runCommand>;
beforeAll(async () => {
  t = await createTestApp();
  folder = await mkdtemp(join(tmpdir(), 'perkwire-test-'));
  const env = { PERKWIRE_URL: `http://127.0.0.1:${await portOf(t.app)}`, PERKWIRE_KEY: 'demo-key' };
  run = (...args) => runCommand(['rates', ...args], env);
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await t?.close();
});

const file = async (name: string, content: string): Promise<string> => {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
};
const publisher = () => String(t.publisher.id);
const currentRates = async () => JSON.parse((await run('show', publisher())).out) as { base: string; rates: object[] };

test('sets exchange rates from JSON, prints them in the same format, and accepts its own output', async () => {
  const rates = { base: 'EUR', rates: [{ currency: 'USD', rate: 1.08, valid_from: '2026-11-01' }] };
  expect((await run('set', publisher(), await file('rates.json', JSON.stringify(rates)))).code).toBe(0);
  expect(await currentRates()).toEqual(rates);
  const { out } = await run('show', publisher());
  expect((await run('set', publisher(), await file('again.json', out))).code).toBe(0);
  expect(await currentRates()).toEqual(rates);
});

test('validates a CSV file in a dry run, imports it, and replaces other rates on request', async () => {
  const path = await file('rates.csv', 'date;USD;JPY\n2026-11-20;1,09;161,5\n');
  const check = await run('import', publisher(), path, '--decimal-comma', '--dry-run');
  expect(check.code, check.err).toBe(0);
  expect(check.out).toContain('Would store 2 rates with base EUR, 0 removed.');
  expect(check.out).toContain('line 2: valid_from=2026-11-20  USD=1.09  JPY=161.5');
  expect((await currentRates()).rates).toHaveLength(1);
  expect((await run('import', publisher(), path, '--decimal-comma')).out).toBe(
    'Stored 2 rates with base EUR, 0 removed.\n',
  );
  expect((await currentRates()).rates).toHaveLength(3);
  const replaced = await run('import', publisher(), path, '--decimal-comma', '--replace');
  expect(replaced.out).toBe('Stored 0 rates with base EUR, 1 removed.\n');
});

test('reports errors with their line, and stores nothing', async () => {
  const before = await currentRates();
  const wrong = await run('import', publisher(), await file('wrong.csv', 'date,USD\n01/02/2026,1.08\n'));
  expect(wrong.code).not.toBe(0);
  expect(wrong.err).toMatch(/lines\/2.*The date must be in the format/);
  expect((await run('import', publisher(), join(folder, 'none.csv'))).err).toMatch(/ENOENT/);
  expect((await run('import', 'shop', 'rates.csv')).code).toBe(2);
  expect((await run('show')).code).toBe(2);
  expect(await currentRates()).toEqual(before);
});
