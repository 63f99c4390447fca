import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { maxPlacements } from '../../../src/catalog/names.ts';
import { createOutput } from '../../../src/command-line/output.ts';
import { runCommandLine } from '../../../src/command-line/run-command-line.ts';
import { commands } from '../../../src/commands.ts';
import { runCommand } from '../../command-line/support.ts';
import { addCatalogue, type Caller, createManagementModules, type ManagementModules, type Reply } from './support.ts';

type FileRow = Record<string, unknown>;
type File = { perkwire_catalogue: number; publisher: FileRow } & Record<
  'themes' | 'placements' | 'advertisers' | 'campaigns' | 'offers' | 'creatives' | 'sequence_rules',
  FileRow[]
>;
type Change = { change: string; kind: string; id: unknown; name: string; path: string; fields: FileRow[] };
type Applied = { plan: string; changes: Change[]; counts: FileRow; warnings: unknown[] };

let t: ManagementModules;
let demo: Caller;
let folder: string;
beforeAll(async () => {
  t = await createManagementModules(['accounts']);
  demo = await t.caller(t.publisher.id);
  folder = await mkdtemp(join(tmpdir(), 'perkwire-apply-'));
});
afterAll(async () => {
  await t?.close();
  await rm(folder, { recursive: true, force: true });
});

const exported = async (who: Caller): Promise<File> =>
  (await who.call('GET', '/catalogue/export')).body as unknown as File;

const applied = ({ status, body }: Reply): Applied => {
  expect(status, JSON.stringify(body)).toBe(200);
  return body.data as unknown as Applied;
};
const apply = async (who: Caller, file: object, query = ''): Promise<Applied> =>
  applied(await who.call('POST', `/catalogue/apply${query}`, file));
const details = ({ body }: Reply) => (body as unknown as { error: { details: unknown } }).error.details;

/** Creates a publisher with one row of each kind, and exports its catalogue file. */
async function small(): Promise<{ me: Caller; ids: Record<string, number>; file: File }> {
  const me = await t.caller(await t.addPublisher());
  const ids = await addCatalogue(me);
  await me.call('POST', '/sequence-rules', { effect: 'deny', placement: 'checkout', match: { offers: [ids.offer] } });
  return { me, ids, file: await exported(me) };
}

describe('applying a catalogue file', () => {
  test('changes nothing if it matches the current state, including images and rules', async () => {
    const file = await exported(demo);
    expect(file.creatives.some(({ image }) => typeof image === 'string')).toBe(true);
    for (const query of ['?dry_run=true&prune=true', '?prune=true'])
      expect((await apply(demo, file, query)).changes).toEqual([]);
    expect(await exported(demo)).toEqual(file);
  });

  test("creates another publisher's catalogue, and changes nothing when it is applied again", async () => {
    const me = await t.caller(await t.addPublisher());
    const file = await exported(demo);
    const first = await apply(me, file);
    expect(first.counts).toMatchObject({ changed: 1, removed: 0 });
    expect(first.warnings).toHaveLength(3);
    expect((await exported(me)).offers).toHaveLength(file.offers.length);
    expect((await apply(me, file, '?prune=true')).changes).toEqual([]);
  });

  test('creates, changes and removes rows as planned, and logs each change', async () => {
    const { me, ids, file } = await small();
    const audited = async () => (await me.call('GET', '/audit?limit=100')).body.data as unknown as FileRow[];
    const before = (await audited()).length;
    Object.assign(file.campaigns[0] as FileRow, { name: 'Bigger boxes', priority: 7 });
    file.publisher.currency_name = 'miles';
    file.sequence_rules = [];
    file.offers.push({ id: 999_001, campaign_id: ids.campaign, title: 'Second' });
    file.creatives.push({
      id: 999_002,
      offer_id: 999_001,
      url: 'https://cdn.example/a.png',
      type: 'png',
      width: 10,
      height: 10,
    });
    const plan = await apply(me, file, '?dry_run=true&prune=true');
    expect((await exported(me)).offers).toHaveLength(1);
    expect(plan.changes.map(({ change, kind, name }) => `${change} ${kind} ${name}`)).toEqual([
      'changed publisher Test',
      'changed campaigns Bigger boxes',
      'created offers Second',
      'created creatives https://cdn.example/a.png',
      'removed sequence_rules deny checkout',
    ]);
    expect(plan.changes[1]).toMatchObject({
      id: ids.campaign,
      path: '/campaigns/0',
      fields: [
        { name: 'name', from: 'Boxes', to: 'Bigger boxes' },
        { name: 'priority', from: 100, to: 7 },
      ],
    });
    expect(await apply(me, file, `?prune=true&plan=${plan.plan}`)).toMatchObject({
      plan: plan.plan,
      counts: { created: 2, changed: 2, removed: 1 },
    });
    const after = await exported(me);
    expect(after.campaigns).toMatchObject([{ id: ids.campaign, name: 'Bigger boxes', priority: 7 }]);
    expect(after.offers.map(({ title }) => title)).toEqual(['Half off', 'Second']);
    expect(after.creatives).toMatchObject([{ offer_id: after.offers[1]?.id, is_primary: true }]);
    expect(after.sequence_rules).toEqual([]);
    const entries = (await audited()).slice(0, -before);
    expect(entries.map(({ action, resource }) => `${action} ${resource}`).sort()).toEqual([
      'create creatives',
      'create offers',
      'remove sequence-rules',
      'update campaigns',
      'update publishers',
    ]);
    expect((await apply(me, file, '?prune=true')).changes).toEqual([]);
  });

  test('keeps rows missing from the file unless prune is set, and always keeps missing settings', async () => {
    const { me, file } = await small();
    await me.call('PATCH', `/publishers/${me.publisherId}`, { currency_name: 'miles' });
    const { changes } = await apply(me, { perkwire_catalogue: 1, advertisers: [{ id: 1, name: 'Other' }] });
    expect(changes.map(({ change, name }) => `${change} ${name}`)).toEqual(['created Other']);
    const after = await exported(me);
    expect(after.campaigns).toEqual(file.campaigns);
    expect(after.publisher.currency_name).toBe('miles');
  });

  test('removes a campaign with its offers, which are also restored together', async () => {
    const { me, ids, file } = await small();
    const plan = await apply(me, { ...file, campaigns: [], offers: [], sequence_rules: [] }, '?prune=true');
    expect(plan.changes.map(({ kind }) => kind)).toEqual(['sequence_rules', 'campaigns']);
    expect((await me.call('POST', `/campaigns/${ids.campaign}/restore`)).status).toBe(200);
    expect((await exported(me)).offers).toMatchObject([{ id: ids.offer, active: true }]);
  });

  test('never removes placements that requests created and nobody edited', async () => {
    const { me, file } = await small();
    await t.pool.query("insert into placements (publisher_id, name, auto_created) values ($1, 'seen', true)", [
      me.publisherId,
    ]);
    expect((await apply(me, file, '?prune=true')).changes).toEqual([]);
  });

  test('matches rows by ID first, and then rows of the same name in order', async () => {
    const { me, ids } = await small();
    const twin = (await me.call('POST', '/offers', { campaign_id: ids.campaign, title: 'Half off', weight: 2 })).body
      .data.id;
    const file = await exported(me);
    file.offers.shift();
    file.sequence_rules = [];
    expect((await apply(me, file)).changes).toEqual([]);
    const other = structuredClone(file);
    other.publisher.sdk_id = '0'.repeat(16);
    (other.offers[0] as FileRow).weight = 5;
    expect((await apply(me, other, '?dry_run=true')).changes).toMatchObject([{ id: ids.offer }]);
    (file.offers[0] as FileRow).title = 'A third off';
    expect((await apply(me, file)).changes).toMatchObject([{ id: twin, fields: [{ name: 'title' }] }]);
  });

  test('rejects a file with errors as a whole, and reports each with its path', async () => {
    const { me, file } = await small();
    Object.assign(file.offers[0] as FileRow, { title: 'x'.repeat(91) });
    Object.assign(file.campaigns[0] as FileRow, { name: 'New', colour: 'red' });
    const reply = await me.call('POST', '/catalogue/apply', file);
    expect(reply.status).toBe(400);
    expect(details(reply)).toEqual([
      { path: '/campaigns/0/colour', message: 'This field is unknown. Check its spelling, or remove it.' },
      { path: '/offers/0/title', message: 'The text can be at most 90 characters long, but it has 91.' },
    ]);
    expect((await exported(me)).campaigns).toMatchObject([{ name: 'Boxes' }]);
  });

  test('changes nothing if a row is rejected while it is written, and reports the row', async () => {
    const { me, file } = await small();
    const placements = Array.from({ length: maxPlacements }, (_, at) => ({ name: `p${at}` }));
    const reply = await me.call('POST', '/catalogue/apply', { ...file, placements });
    expect(reply.status).toBe(409);
    expect(details(reply)).toEqual([
      {
        path: `/placements/${maxPlacements - 1}`,
        message: `A publisher can have at most ${maxPlacements} placements.`,
      },
    ]);
    expect((await exported(me)).placements).toHaveLength(1);
  });

  test('rejects a misspelt dry_run or prune, and changes nothing', async () => {
    const { me, file } = await small();
    const changed = { ...file, offers: file.offers.map((offer) => ({ ...offer, title: 'Changed' })) };
    for (const path of ['apply?dry_run=1', 'apply?dry_run=TRUE', 'apply?prune=1', 'import?dry_run=1']) {
      const reply = await me.call('POST', `/catalogue/${path}`, changed);
      expect([path, reply.status, details(reply)]).toEqual([
        path,
        400,
        [{ path: expect.stringMatching(/^\/querystring\//), message: 'The value must be true or false.' }],
      ]);
    }
    expect(await exported(me)).toEqual(file);
  });

  test('409: rejects a confirmed plan if the catalogue has changed since', async () => {
    const { me, ids, file } = await small();
    (file.campaigns[0] as FileRow).priority = 7;
    const { plan } = await apply(me, file, '?dry_run=true');
    await me.call('PATCH', `/campaigns/${ids.campaign}`, { priority: 50 });
    expect((await me.call('POST', `/catalogue/apply?plan=${plan}`, file)).status).toBe(409);
    expect((await exported(me)).campaigns).toMatchObject([{ priority: 50 }]);
  });

  test('413: requires the command for more than 2,000 changes', async () => {
    const me = await t.caller(await t.addPublisher());
    const advertisers = Array.from({ length: 2001 }, (_, id) => ({ id, name: `A ${id}` }));
    const reply = await me.call('POST', '/catalogue/apply', { perkwire_catalogue: 1, advertisers });
    expect(reply.status).toBe(413);
    expect(reply.body.message).toContain('catalogue apply');
  });

  test("403: requires the permissions for settings and offers, and reveals no other publisher's rows", async () => {
    const { file } = await small();
    for (const permission of ['configurations', 'offers/management'] as const) {
      const half = await t.caller(t.publisher.id, [permission]);
      expect((await half.call('POST', '/catalogue/apply', file)).status).toBe(403);
    }
    const me = await t.caller(await t.addPublisher());
    const { changes } = await apply(me, file);
    expect(changes.filter(({ kind }) => kind !== 'publisher').map(({ change }) => change)).not.toContain('changed');
  });
});

describe('perkwire catalogue apply', () => {
  test.each(['database', 'service'])('shows its plan, applies it, and finds no changes afterwards: %s', async (way) => {
    const { me, file } = await small();
    const env: Record<string, string> =
      way === 'database'
        ? { DATABASE_URL: t.databaseUrl }
        : { PERKWIRE_KEY: me.key, PERKWIRE_URL: await t.app.listen({ port: 0, host: '127.0.0.1' }) };
    const run = (...args: string[]) =>
      runCommand(
        ['catalogue', 'apply', path, ...args, ...(way === 'database' ? ['--publisher', `${me.publisherId}`] : [])],
        env,
      );
    const path = join(folder, `${way}.json`);
    (file.campaigns[0] as FileRow).priority = 7;
    await writeFile(path, JSON.stringify(file));
    const plan = await run('--dry-run');
    expect(plan).toMatchObject({ code: 2, err: '' });
    expect(plan.out).toContain('    priority: 100 → 7\nPlan: 0 to create, 1 to change, 0 to remove.\n');
    expect(await run()).toMatchObject({ code: 2, err: expect.stringContaining('Use --yes to apply them') });
    expect((await exported(me)).campaigns).toMatchObject([{ priority: 100 }]);
    expect(await run('--yes')).toMatchObject({ code: 0, out: expect.stringContaining(`Applied ${path}.`) });
    expect((await exported(me)).campaigns).toMatchObject([{ priority: 7 }]);
    expect(await run('--dry-run')).toMatchObject({ code: 0, out: expect.stringContaining('No changes') });
  });

  test.each([
    ['yes', 7, 0],
    ['no', 100, 1],
  ])('asks for confirmation in a terminal: %s', async (answer, priority, code) => {
    const { me, file } = await small();
    const path = join(folder, `${answer}.json`);
    (file.campaigns[0] as FileRow).priority = 7;
    await writeFile(path, JSON.stringify(file));
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
    stderr.on('data', (chunk) => void (String(chunk).includes('Apply these changes?') && stdin.write(`${answer}\n`)));
    const ended = await runCommandLine(['catalogue', 'apply', path, '--publisher', `${me.publisherId}`], {
      commands,
      env: { DATABASE_URL: t.databaseUrl },
      stderr,
      stdin: Object.assign(stdin, { isTTY: true }),
      outputOf: (isJson: boolean) => createOutput(isJson, { stdout, stderr }),
      signal: new AbortController().signal,
    });
    expect(ended).toBe(code);
    expect((await exported(me)).campaigns).toMatchObject([{ priority }]);
  });
});
