import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readCatalogueFile } from '../../../src/catalog-admin/resources/catalogue/calls.ts';
import { transaction } from '../../../src/platform/db/pool.ts';
import { runCommand } from '../../command-line/support.ts';
import { type Caller, createManagementModules, type ManagementModules } from './support.ts';

type FileRow = Record<string, unknown>;
type File = { perkwire_catalogue: number; publisher: FileRow } & Record<
  'themes' | 'placements' | 'advertisers' | 'campaigns' | 'offers' | 'creatives' | 'sequence_rules',
  FileRow[]
>;

let t: ManagementModules;
let demo: Caller;
let folder: string;
beforeAll(async () => {
  t = await createManagementModules(['catalog-admin']);
  demo = await t.caller(t.publisher.id);
  folder = await mkdtemp(join(tmpdir(), 'perkwire-catalogue-'));
  const { rows } = await t.pool.query(
    'select min(id) as campaign, min(advertiser_id) as advertiser from campaigns where publisher_id = $1',
    [t.publisher.id],
  );
  await demo.call('PATCH', `/campaigns/${rows[0].campaign}`, {
    rules: {
      targeting: { countries: { include: ['US', 'DE'] } },
      frequency_caps: [{ scope: 'offer', event: 'impression', limit: 3, window_minutes: null }],
    },
    payout_amount: 1.234567,
    tags: ['one', 'two'],
  });
  await demo.call('POST', '/sequence-rules', {
    placement: 'checkout',
    positions: [1, 2],
    effect: 'allow',
    match: { campaigns: [rows[0].campaign], advertisers: [rows[0].advertiser], tags: ['one'] },
  });
  await demo.call('PATCH', `/publishers/${t.publisher.id}`, {
    frame_hosts: ['https://shop.example'],
    currency_multiplier: 12.5,
  });
});
afterAll(async () => {
  await t?.close();
  await rm(folder, { recursive: true, force: true });
});

const exported = async (who: Caller): Promise<File> =>
  (await who.call('GET', '/catalogue/export')).body as unknown as File;

/**
 * Returns the file without values that an import may change. IDs are replaced with the position of the referenced row.
 */
function withoutIds(file: File): unknown {
  const position = new Map<string, number>();
  for (const kind of ['themes', 'advertisers', 'campaigns', 'offers'] as const)
    for (const [index, { id }] of file[kind].entries()) position.set(`${kind} ${id}`, index);
  const at = (kind: string, id: unknown) => (id === null ? null : position.get(`${kind} ${id}`));
  const names: Record<string, string> = {
    theme_id: 'themes',
    advertiser_id: 'advertisers',
    campaign_id: 'campaigns',
    offer_id: 'offers',
  };
  const clean = ({ id: _id, ...row }: FileRow): FileRow =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => {
        if (names[name] !== undefined) return [name, at(names[name], value)];
        if (name !== 'match') return [name, value];
        return [
          name,
          Object.fromEntries(
            Object.entries(value as FileRow).map(([kind, list]) => [
              kind,
              kind === 'tags' ? list : (list as number[]).map((id) => at(kind, id)),
            ]),
          ),
        ];
      }),
    );
  const { sdk_id: _sdkId, ...publisher } = file.publisher;
  return {
    ...file,
    publisher,
    ...Object.fromEntries(
      Object.entries(file).map(([name, list]) => [
        name,
        Array.isArray(list) ? list.map(clean) : name === 'publisher' ? publisher : list,
      ]),
    ),
  };
}

describe('a catalogue file', () => {
  test('is consistent even if rows change during the export', async () => {
    const before = await exported(demo);
    const late = await transaction(t.pool, async (executor) => {
      await executor.query('lock table sequence_rules');
      const file = exported(demo);
      await expect
        .poll(async () => {
          const { rows } = await t.pool.query(
            "select 1 from pg_locks where relation = 'sequence_rules'::regclass and not granted",
          );
          return rows.length;
        })
        .toBe(1);
      await executor.query("insert into sequence_rules (publisher_id, effect, match) values ($1, 'deny', $2)", [
        t.publisher.id,
        { tags: ['later'] },
      ]);
      return { file };
    });
    expect(await late.file).toEqual(before);
    await t.pool.query('delete from sequence_rules where match = $1', [{ tags: ['later'] }]);
  });

  test('is the same except for IDs when exported, imported into an empty publisher and exported again', async () => {
    const file = await exported(demo);
    expect(file.offers.length).toBeGreaterThan(5);
    expect(file.creatives.some(({ image }) => typeof image === 'string')).toBe(true);
    expect(file.sequence_rules).toHaveLength(1);
    const target = await t.addPublisher('Empty');
    const reply = await t.operator.call('POST', `/catalogue/import?publisher_id=${target}`, file);
    expect(reply.status, JSON.stringify(reply.body)).toBe(201);
    expect(reply.body.data).toMatchObject({ publisher_id: target, counts: { offers: file.offers.length } });
    const again = await exported(await t.caller(target));
    expect(withoutIds(again)).toEqual(withoutIds(file));
    expect(again.offers[0]?.id).not.toBe(file.offers[0]?.id);
    const creative = again.creatives.find(({ image }) => typeof image === 'string') as {
      id: number;
      type: string;
      image: string;
    };
    const response = await t.app.inject({
      url: `/images/${creative.id}.${creative.type}`,
      headers: { accept: 'image/*' },
    });
    expect(response.rawPayload.toString('base64')).toBe(creative.image);
    expect((await t.operator.call('POST', `/catalogue/import?publisher_id=${target}`, file)).status).toBe(409);
  });

  test('keeps settings that only operators can change when its publisher imports it', async () => {
    const me = await t.caller(await t.addPublisher());
    const file = await exported(demo);
    expect(file.publisher.usp_enabled).toBe(true);
    const warnings = ['usp_enabled', 'wallet_enabled', 'offerwall_enabled'].map((name) => ({
      path: `/publisher/${name}`,
      message: 'The field was ignored because only an operator can change it. Its value remains false.',
    }));
    const checked = await me.call('POST', '/catalogue/import?dry_run=true', file);
    expect(checked.body.data).toMatchObject({ dry_run: true, warnings });
    const reply = await me.call('POST', '/catalogue/import', file);
    expect(reply.status).toBe(201);
    expect(reply.body.data).toMatchObject({ warnings });
    expect((await exported(me)).publisher).toMatchObject({ usp_enabled: false, currency_multiplier: 12.5 });
  });

  test('429: can be imported or exported only once at a time per publisher', async () => {
    const me = await t.caller(await t.addPublisher());
    const file = await exported(demo);
    const replies = await Promise.all([1, 2].map(() => me.call('POST', '/catalogue/import?dry_run=true', file)));
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 429]);
  });

  test('413: requires the command for more than 50,000 rows', async () => {
    const me = await t.caller(await t.addPublisher());
    const advertisers = Array.from({ length: 50_001 }, (_, id) => ({ id, name: 'A' }));
    const reply = await me.call('POST', '/catalogue/import', { perkwire_catalogue: 1, publisher: {}, advertisers });
    expect(reply.status).toBe(413);
    expect(reply.body.message).toContain('catalogue import');
  });

  test.each([
    '',
    '{',
    '{"a":1,}',
    '{"a":[1,]}',
    '{"a":[1 2]}',
    '{"a":1}x',
    '{"a" 1}',
    '{"a":"\\"}',
    '{"a":1,"a":2}',
    '{"a":{"__proto__":1}}',
    `{"a":${'['.repeat(70)}${']'.repeat(70)}}`,
  ])('400: %j is not a valid file', async (text) => {
    const me = await t.caller(await t.addPublisher());
    expect((await me.call('POST', '/catalogue/import', text)).status).toBe(400);
  });

  test('is parsed like JSON, with any whitespace', async () => {
    const file = { a: ['x,]}"\\', { b: [1, { c: null }] }, [], -1.5e3, true], 'é"\\': { d: '\\"' }, e: [], f: 7 };
    for (const space of [0, 1, '\t'])
      expect(await readCatalogueFile(Buffer.from(` ${JSON.stringify(file, null, space)}\n`))).toEqual(file);
  });

  test('gets theme keys from the names if an earlier release exported it without keys', async () => {
    const me = await t.caller(await t.addPublisher());
    const file = structuredClone(await exported(demo));
    for (const theme of file.themes) delete theme.key;
    Object.assign(file.themes[1] as FileRow, { name: file.themes[0]?.name });
    expect((await me.call('POST', '/catalogue/import', file)).status).toBe(201);
    const keys = (await exported(me)).themes.map(({ key }) => key);
    expect(keys.slice(0, 2)).toEqual(['perks-grid', 'perks-grid-2']);
  });

  test('is rejected if two themes have the same key', async () => {
    const me = await t.caller(await t.addPublisher());
    const file = structuredClone(await exported(demo));
    Object.assign(file.themes[1] as FileRow, { key: file.themes[0]?.key });
    const reply = await me.call('POST', '/catalogue/import', file);
    expect((reply.body as unknown as { error: { details: unknown } }).error.details).toEqual([
      { path: '/themes/1/key', message: 'An earlier theme in the file already has this key.' },
    ]);
  });

  test('is rejected as a whole if it has errors, and each is reported with its path', async () => {
    const me = await t.caller(await t.addPublisher());
    const file = structuredClone(await exported(demo));
    Object.assign(file.offers[1] as FileRow, { title: 'x'.repeat(91) });
    Object.assign(file.offers[2] as FileRow, { campaign_id: 424242 });
    Object.assign(file.campaigns[0] as FileRow, { colour: 'red' });
    Object.assign(file.themes[1] as FileRow, { is_default: true, id: file.themes[0]?.id });
    const reply = await me.call('POST', '/catalogue/import', file);
    expect(reply.status).toBe(400);
    expect((reply.body as unknown as { error: { details: unknown } }).error.details).toEqual([
      { path: '/themes/1/id', message: 'An earlier row in the file already has this ID or key.' },
      { path: expect.stringMatching(/^.placements.\d.theme_id$/), message: 'The file does not contain this theme.' },
      { path: '/campaigns/0/colour', message: 'This field is unknown. Check its spelling, or remove it.' },
      { path: '/offers/1/title', message: 'The text can be at most 90 characters long, but it has 91.' },
      { path: '/offers/2/campaign_id', message: 'The file does not contain this campaign.' },
    ]);
    expect((await exported(me)).offers).toEqual([]);
  });

  test.each([
    ['a number instead of a list', 'sequence_rules', { effect: 'allow', match: { offers: 7 } }, '/match/offers'],
    ['null instead of a list', 'sequence_rules', { effect: 'allow', match: { tags: null } }, '/match/tags'],
    ['an object instead of a name', 'themes', { unit: 'mou', name: { toString: 1 } }, '/name'],
  ])('is rejected at the right path if it contains %s', async (_what, kind, row, path) => {
    const me = await t.caller(await t.addPublisher());
    const file = { perkwire_catalogue: 1, publisher: { name: 'X' }, [kind]: [{ id: 1, ...row }] };
    const reply = await me.call('POST', '/catalogue/import', file);
    expect(reply.status).toBe(400);
    expect(reply.body).toMatchObject({ error: { details: [{ path: `/${kind}/0${path}` }] } });
  });

  test.each([
    [{ image: 'AAAA' }, '/creatives/0/image'],
    [{ image: 'not base64!' }, '/creatives/0/image'],
    [{ image: 17 }, '/creatives/0/image'],
  ])("is rejected at the image's path if it contains the image %j", async (change, path) => {
    const me = await t.caller(await t.addPublisher());
    const file = structuredClone(await exported(demo));
    Object.assign(file.creatives[0] as FileRow, change);
    const reply = await me.call('POST', '/catalogue/import', file);
    expect(reply.status).toBe(400);
    expect(
      (reply.body as unknown as { error: { details: { path: string }[] } }).error.details.map((detail) => detail.path),
    ).toContain(path);
  });

  test('is validated without being written, on request', async () => {
    const me = await t.caller(await t.addPublisher());
    const reply = await me.call('POST', '/catalogue/import?dry_run=true', await exported(demo));
    expect(reply.body).toMatchObject({ data: { dry_run: true } });
    expect((await exported(me)).offers).toEqual([]);
  });

  test('is rejected in a dry run if the publisher already has a catalogue', async () => {
    const { id } = t.publisher;
    const reply = await (await t.caller(id)).call(
      'POST',
      '/catalogue/import?dry_run=true',
      await exported(await t.caller(id)),
    );
    expect(reply.status).toBe(409);
  });

  test('403: requires the permissions for settings and offers', async () => {
    const half = await t.caller(t.publisher.id, ['configurations']);
    expect((await half.call('GET', '/catalogue/export')).status).toBe(403);
    expect((await half.call('POST', '/catalogue/import', {})).status).toBe(403);
  });
});

describe('npm run catalogue', () => {
  const run = (...args: string[]) => runCommand(['catalogue', ...args], { DATABASE_URL: t.databaseUrl });

  test('exports the same file as the API, and creates a publisher from it', async () => {
    const file = join(folder, 'demo.json');
    const exportRun = await run('export', file, '--publisher', String(t.publisher.id));
    expect(exportRun).toMatchObject({
      code: 0,
      out: `Wrote the catalogue of publisher ${t.publisher.id} to ${file}.\n`,
    });
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual(await exported(demo));
    expect((await run('import', file, '--dry-run')).out).toContain('Nothing was imported');
    const { out, err } = await run('import', file);
    expect(err).toBe('');
    const id = Number(/into publisher (\d+)/.exec(out)?.[1]);
    expect(withoutIds(await exported(await t.caller(id)))).toEqual(withoutIds(await exported(demo)));
  });

  test('reports errors in a file, and changes nothing', async () => {
    const file = join(folder, 'wrong.json');
    await writeFile(
      file,
      JSON.stringify({ perkwire_catalogue: 1, publisher: { name: '' }, offers: [{ id: 1, campaign_id: 1 }] }),
    );
    const { code, err } = await run('import', file);
    expect(code).toBe(3);
    expect(err).toContain('/publisher/name: The value must not be empty.');
    expect(err).toContain('/offers/0/campaign_id: The file does not contain this campaign.');
    await writeFile(file, '{"perkwire');
    expect((await run('import', file)).err).toContain('not valid JSON');
    expect((await run('export', file)).err).toContain('several publishers');
    expect((await run('export')).code).toBe(2);
  });
});
