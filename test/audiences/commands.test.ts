import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addCatalogue, type Caller, createManagementApp, type ManagementApp } from '../catalog/resources/support.ts';
import { runCommand } from '../command-line/support.ts';

let t: ManagementApp;
let me: Caller;
let env: Record<string, string>;
let folder: string;
beforeAll(async () => {
  t = await createManagementApp();
  me = await t.caller(await t.addPublisher());
  await addCatalogue(me);
  env = { PERKWIRE_URL: await t.app.listen({ port: 0, host: '127.0.0.1' }), PERKWIRE_KEY: me.key };
  folder = await mkdtemp(join(tmpdir(), 'perkwire-test-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await t?.close();
});

test('creates audiences, fills them from a file and by IDs, and lists them', async () => {
  const file = join(folder, 'users.csv');
  await writeFile(file, 'id\nu1\nu2\nme@mail.example\n');
  expect((await runCommand(['audiences', 'create', 'list', '--name', 'The list'], env)).code).toBe(0);
  const checked = await runCommand(['audiences', 'import', 'list', file, '--dry-run'], env);
  expect([checked.code, checked.out]).toEqual([1, expect.stringContaining('3 rows, 1 invalid, 0 duplicates.')]);
  expect(checked.out).toContain('Separator: none (one column). Header: yes.');
  expect((await runCommand(['audiences', 'import', 'list', file], env)).code).toBe(3);
  const imported = await runCommand(['audiences', 'import', 'list', file, '--partial'], env);
  expect([imported.code, imported.out]).toEqual([0, '3 rows, 2 users added, 1 row skipped.\n']);
  expect(imported.err).toContain('line 4: The ID is invalid. The value must not be an e-mail address');
  expect((await runCommand(['audiences', 'add', 'list', 'u2', 'u3'], env)).out).toBe('Members added.\n');
  expect((await runCommand(['audiences', 'remove', 'list', 'u1'], env)).out).toBe('Members removed.\n');
  expect((await runCommand(['audiences', 'list'], env)).out).toBe('         2  list  The list\n');
  expect((await runCommand(['audiences', 'add', 'nobody', 'u1'], env)).code).toBe(3);
});

test('prints the block rules that are set, and validates them first on request', async () => {
  const publisher = String(me.publisherId);
  const file = join(folder, 'rules.json');
  await writeFile(file, JSON.stringify({ blocked: { brands: ['Farm'] } }));
  const checked = await runCommand(['controls', 'set', publisher, file, '--dry-run'], env);
  expect([checked.code, checked.out]).toEqual([0, 'Controls checked. Nothing was saved.\n']);
  expect((await runCommand(['controls', 'set', publisher, file], env)).code).toBe(0);
  const controls = await runCommand(['controls', 'show', publisher], env);
  expect(JSON.parse(controls.out)).toMatchObject({ blocked: { brands: ['Farm'] }, floors: {} });
  const details = [{ by: 'brand', value: 'Farm', note: 'Contract', ends_at: '2031-01-31T12:00:00Z' }];
  await writeFile(file, JSON.stringify({ blocked: { brands: ['Farm'] }, rule_details: details }));
  expect((await runCommand(['controls', 'set', publisher, file], env)).code).toBe(0);
  expect((await runCommand(['controls', 'list', publisher], env)).out).toBe(
    'brand Farm  ends 2031-01-31T12:00:00.000Z  (Contract)\n',
  );
  await writeFile(file, (await runCommand(['controls', 'show', publisher], env)).out);
  expect((await runCommand(['controls', 'set', publisher, file], env)).code).toBe(0);
  const cost = await runCommand(['controls', 'cost', publisher], env);
  expect([cost.code, cost.out]).toEqual([0, '0.0% changed  brand Farm\n']);
  expect(cost.err).toContain('0 of 0 sessions of the last 7 days were evaluated again without each rule.');
  expect((await runCommand(['controls', 'cost', 'all'], env)).code).toBe(2);
  await writeFile(file, '{');
  expect((await runCommand(['controls', 'set', publisher, file], env)).code).toBe(3);
});

test('sets the mapping of Segment events from a file, shows it, and lists events', async () => {
  const file = join(folder, 'segment.json');
  await writeFile(file, JSON.stringify({ traits: { plan: 'plan' } }));
  expect(await runCommand(['sources', 'set', file], env)).toMatchObject({ code: 0, out: 'Source saved.\n' });
  expect(JSON.parse((await runCommand(['sources', 'show'], env)).out)).toMatchObject({ traits: { plan: 'plan' } });
  const event = { type: 'identify', messageId: 'm1', userId: 'u1', traits: { plan: 'gold' } };
  await me.call('POST', '/sources/segment', event);
  expect((await runCommand(['sources', 'events'], env)).out).toMatch(
    /Z {2}identify {2}applied {2}attribute plan: done\n$/,
  );
  await writeFile(file, 'no JSON');
  expect((await runCommand(['sources', 'set', file], env)).code).toBe(3);
});

test('estimates a rule, checks a user, and shows the overlap and uses of an audience', async () => {
  const file = join(folder, 'rule.json');
  await writeFile(file, '{"event":"click","within_days":30}');
  const estimated = await runCommand(['audiences', 'estimate', file], env);
  expect(estimated.out).toContain('0 users would be members now.\n  at least 1 event: 0\n');
  for (const key of ['one', 'two']) await runCommand(['audiences', 'create', key], env);
  await runCommand(['audiences', 'add', 'one', 'u1', 'u2'], env);
  await runCommand(['audiences', 'add', 'two', 'u2'], env);
  expect((await runCommand(['audiences', 'check', 'one', 'u1'], env)).out).toBe('The user is a member.\n');
  expect((await runCommand(['audiences', 'check', 'two', 'u1'], env)).out).toBe('The user is not a member.\n');
  expect((await runCommand(['audiences', 'overlap', 'one', 'two'], env)).out).toBe(
    '1 user in both (one: 2, two: 1).\n',
  );
  expect((await runCommand(['audiences', 'uses', 'one'], env)).err).toBe('Nothing uses the audience.\n');
});
