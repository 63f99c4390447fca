import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { advertisersOf, pathOf, type TestAdvertiser } from '../../advertisers/support.ts';
import { runCommand } from '../../command-line/support.ts';
import { signInAs } from '../../dashboard/support.ts';
import { addCatalogue, type Caller, createManagementApp, type ManagementApp } from './support.ts';

let t: ManagementApp;
let folder: string;
let server: string;
beforeAll(async () => {
  t = await createManagementApp();
  folder = await mkdtemp(join(tmpdir(), 'perkwire-warnings-'));
  server = await t.app.listen({ port: 0, host: '127.0.0.1' });
});
afterAll(async () => {
  await t?.close();
  await rm(folder, { recursive: true, force: true });
});

type FileRow = Record<string, unknown>;
type File = Record<'campaigns' | 'offers', [FileRow, ...FileRow[]]>;

const landing_url = 'https://shop.example/?c={clickid}';
const landingText = '{clickid} is not a valid macro and will be removed. Did you mean {click_id}?';
const useraction_url = 'https://shop.example/more?c={click_id}';
const actionText = '{click_id} is sent unchanged because this URL does not support macros.';
const inFile = [
  { path: '/campaigns/0/landing_url', message: landingText },
  { path: '/offers/0/useraction_url', message: actionText },
];

/** Creates a publisher with a campaign and an offer, and a catalogue file that contains misspelt macros in both. */
async function withFile(): Promise<{ me: Caller; file: File; path: string }> {
  const me = await t.caller(await t.addPublisher());
  await addCatalogue(me);
  const file = (await me.call('GET', '/catalogue/export')).body as unknown as File;
  file.campaigns[0].landing_url = landing_url;
  file.offers[0].useraction_url = useraction_url;
  const path = join(folder, `${me.publisherId}.json`);
  await writeFile(path, JSON.stringify(file));
  return { me, file, path };
}

test('misspelt macros in a catalogue file cause warnings in the plan and in the apply response', async () => {
  const { me, file } = await withFile();
  for (const query of ['?dry_run=true', '']) {
    const { status, body } = await me.call('POST', `/catalogue/apply${query}`, file);
    expect([status, body.data.warnings]).toEqual([200, inFile]);
  }
  // The plan does not list unchanged rows.
  expect((await me.call('POST', '/catalogue/apply', file)).body.data).toMatchObject({ changes: [], warnings: [] });
  const offers = [{ ...file.offers[0], id: 900, title: 'Another' }, ...file.offers];
  const { data } = (await me.call('POST', '/catalogue/apply', { ...file, offers })).body;
  expect(data).toMatchObject({ counts: { created: 1, changed: 0 }, warnings: [{ message: actionText }] });
});

test('misspelt macros in an imported file cause warnings in the dry run and the import', async () => {
  const { file } = await withFile();
  const other = await t.caller(await t.addPublisher());
  for (const query of ['?dry_run=true', '']) {
    const { status, body } = await other.call('POST', `/catalogue/import${query}`, file);
    expect([status < 300, body.data.warnings]).toEqual([true, inFile]);
  }
});

test('a file with very many misspelt macros reports the first hundred and the number of others', async () => {
  const { me, file } = await withFile();
  const offers = Array.from({ length: 130 }, (_, at) => ({ ...file.offers[0], id: 1000 + at, title: `Offer ${at}` }));
  const { warnings } = (await me.call('POST', '/catalogue/apply?dry_run=true', { ...file, offers })).body.data as {
    warnings: { path: string; message: string }[];
  };
  expect(warnings).toHaveLength(101);
  expect(warnings.at(-1)).toEqual({ path: '/', message: 'There are 31 more warnings about URLs.' });
});

test.each(['service', 'database'])('the command shows the warnings for a file, using the %s', async (way) => {
  const { me, path } = await withFile();
  const env: Record<string, string> =
    way === 'database' ? { DATABASE_URL: t.databaseUrl } : { PERKWIRE_KEY: me.key, PERKWIRE_URL: server };
  const own = way === 'database' ? ['--publisher', `${me.publisherId}`] : [];
  const plan = await runCommand(['catalogue', 'apply', path, '--dry-run', ...own], env);
  expect(plan.out).toContain(`! /campaigns/0/landing_url ${landingText}`);
  const applied = await runCommand(['catalogue', 'apply', path, '--yes', '--json', ...own], env);
  expect([applied.code, applied.out]).toEqual([0, expect.stringContaining('{clickid} is not a valid macro')]);
  const other = await t.caller(await t.addPublisher());
  const otherEnv = way === 'database' ? env : { ...env, PERKWIRE_KEY: other.key };
  const into = way === 'database' ? ['--publisher', `${other.publisherId}`] : [];
  for (const more of [['--dry-run'], []]) {
    const imported = await runCommand(['catalogue', 'import', path, ...more, ...into], otherEnv);
    expect([imported.code, imported.out]).toEqual([0, expect.stringContaining(landingText)]);
  }
});

test('a draft with misspelt macros warns its author and approvers, in the API and the command', async () => {
  const { me } = await withFile();
  const campaign = (await me.call('GET', '/campaigns')).body.data as unknown as [FileRow];
  const proposal = { resource: 'campaigns', row_id: campaign[0].id, changes: { landing_url } };
  const warnings = [{ path: '/changes/landing_url', message: landingText }];
  const draft = await me.call('POST', '/drafts', proposal);
  expect([draft.status, draft.body.warnings]).toEqual([201, warnings]);
  const { id } = draft.body.data;
  expect((await me.call('GET', `/drafts/${id}`)).body.warnings).toEqual(warnings);
  const env = { PERKWIRE_KEY: me.key, PERKWIRE_URL: server };
  const text = `! /changes/landing_url ${landingText}`;
  expect((await runCommand(['drafts', 'show', String(id)], env)).out).toContain(text);
  const admin = await signInAs(t, 'admin', me.publisherId);
  const page = `/dashboard/p/${me.publisherId}/drafts/${id}`;
  expect((await admin.get(page)).body).toContain('Landing page: {clickid} is not a valid macro and will be removed');
  expect((await admin.get(page, { 'accept-language': 'de' })).body).toContain('Meinten Sie {click_id}?');
  const path = join(folder, 'draft.json');
  await writeFile(path, JSON.stringify(proposal.changes));
  const again = await runCommand(['drafts', 'propose', 'campaigns', String(campaign[0].id), path], env);
  expect([again.code, again.out]).toEqual([0, expect.stringContaining(text)]);
});

test('an advertiser sees warnings about the macros of a proposed landing page', async () => {
  const [own] = (await advertisersOf(t, 1)) as [TestAdvertiser];
  const fields = { landing_url, offer_description: '', start_at: '', end_at: '', note: '' };
  const sent = await own.user.post(pathOf(own, `/campaigns/${own.campaign}`), fields);
  const { body } = await own.user.get(String(sent.headers.location));
  expect(body).toContain('{clickid} is not a valid macro and will be removed. Did you mean {click_id}?');
});
