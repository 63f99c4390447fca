import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from '../command-line/support.ts';
import { portOf } from '../support/request.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { callsOf, collectAll } from './support.ts';

let t: TestApp;
let folder: string;
let run: (...args: string[]) => ReturnType<typeof runCommand>;
beforeAll(async () => {
  t = await createTestApp();
  folder = await mkdtemp(join(tmpdir(), 'perkwire-test-'));
  const env = { PERKWIRE_URL: `http://127.0.0.1:${await portOf(t.app)}`, PERKWIRE_KEY: 'demo-key' };
  run = (...args) => runCommand(['experiments', ...args], env);
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await t?.close();
});

const file = async (content: unknown): Promise<string> => {
  const path = join(folder, 'experiment.json');
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
};

const arms = (share: number) => [
  { key: 'control', share: 0.5, changes: {} },
  { key: 'one', share, changes: { offers_per_response: 1 } },
];

test('commands create, plan, start, change, read, adopt and undo an experiment', async () => {
  const experiment = { key: 'one-offer', name: 'One offer', placements: ['cart'], arms: arms(0.5) };
  expect((await run('create', await file(experiment))).code).toBe(0);
  expect((await run('list')).out).toBe('one-offer  draft  One offer\n');
  expect((await run('plan', 'one-offer')).out).toBe('There is no revenue yet to plan with.\n');
  expect((await run('start', 'one-offer')).code).toBe(0);
  expect((await run('change', 'one-offer', await file({ arms: arms(0.3) }))).code).toBe(0);
  const result = await run('show', 'one-offer');
  expect(result.out).toBe(
    'one-offer: running, version 2\n  control  50.0%  {}\n  one  30.0%  {"offers_per_response":1}\n',
  );
  await callsOf(t).fetch({ placement: 'cart', pub_user_id: 'user-1' });
  await collectAll(t);
  const report = await run('report', 'one-offer', '--segment', 'device', '--population', 'all');
  expect(report.out).toMatch(/^one-offer: running, version 2; not enough data\n/);
  expect(report.out).toContain('With many segments, some differences occur by chance');
  expect((await run('report', 'one-offer', '--version', '1')).out).toContain('control: 0 users, 0 sessions');
  expect((await run('report', 'one-offer', '--version', '9')).code).not.toBe(0);
  expect((await run('adopt', 'one-offer', 'one')).out).toContain('placements cart: offers_per_response  null -> 1');
  expect((await run('undo', 'one-offer')).code).toBe(0);
  expect((await run('stop', 'one-offer')).code).toBe(0);
});

test('invalid input is rejected with its field, and a file that is not JSON before it is sent', async () => {
  const refused = await run('create', await file({ key: 'much', arms: arms(0.9) }));
  expect(refused.code).not.toBe(0);
  expect(refused.err).toContain('/arms: The shares and the hold-out add up to 140%.');
  expect((await run('create', await file('{'))).code).toBe(3);
  for (const args of [['create'], ['change', 'one-offer'], ['show'], ['adopt', 'one-offer']])
    expect((await run(...args)).code, args.join(' ')).toBe(2);
});
