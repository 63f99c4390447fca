import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { commands } from '../../src/commands.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { testSecrets } from '../support/test-config.ts';
import { fetchOffers } from '../tracking/journey.ts';
import { runCommand } from './support.ts';

let t: TestApp;
let env: Record<string, string>;
let folder: string;
let sessionId: string;
let endpoint: string;
beforeAll(async () => {
  t = await createTestApp();
  await t.pool.query("update api_keys set permissions = permissions || '{offers/approval}'");
  await t.deps.catalog.refresh();
  env = {
    PERKWIRE_URL: await t.app.listen({ port: 0, host: '127.0.0.1' }),
    PERKWIRE_KEY: t.publisher.key,
    ...testSecrets,
    PUBLIC_URL: 'http://localhost:8080',
  };
  ({ sessionId } = await fetchOffers(t));
  const created = await t.app.inject({
    method: 'POST',
    url: '/manage/v1/webhook-endpoints',
    headers: { authorization: `Bearer ${t.publisher.key}` },
    payload: { url: 'http://127.0.0.1:9/', events: ['usp.selection'] },
  });
  endpoint = String(created.json().data.id);
  await t.pool.query(
    `insert into alerts (publisher_id, kind, subject, cause, data, raised_at)
    values ($1, 'campaign.ended', '1', '', jsonb_build_object('name', 'Box', 'ended_at', now()), now())`,
    [t.publisher.id],
  );
  await t.pool.query(
    `insert into alert_rules (publisher_id, name, url_sealed, kinds, created_at) values ($1, '#shop', '', '{}', now())`,
    [t.publisher.id],
  );
  folder = await mkdtemp(join(tmpdir(), 'perkwire-json-'));
  env.DATA_FILES_URL = join(folder, 'data');
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
});
afterAll(async () => {
  await t?.close();
  await rm(folder, { recursive: true, force: true });
});

const files = {
  'users.csv': 'id\nu1\nu2\n',
  'codes.csv': 'code\nAAAA-1111\nBBBB-2222\n',
  'rules.json': '{}',
  'rates.json': '{"base":"USD","rates":[{"currency":"EUR","rate":0.9,"valid_from":"2026-01-01"}]}',
  'rates.csv': 'date,EUR\n2026-02-01,0.91\n',
  'source.json': '{}',
  'body.jsonata': '{ "user": body.pub_user_id }',
  'headers.jsonata': '{ "x-event": $event }',
  'audience-rule.json': '{"event":"click","within_days":30}',
  'offer.json': '{"title":"A new title"}',
  'arms.json': '{"name":"Two offers"}',
  'experiment.json': JSON.stringify({
    key: 'two',
    name: 'Two',
    arms: [
      { key: 'control', share: 0.5, changes: {} },
      { key: 'two', share: 0.5, changes: { offers_per_response: 2 } },
    ],
  }),
};

/**
 * Arguments that each command succeeds with, in the order in which they are run. FOLDER is the folder of the files,
 * SESSION a session, and ENDPOINT a webhook endpoint.
 */
const calls: Record<string, string> = {
  'catalogue export': 'FOLDER/catalogue.json',
  'catalogue import': 'FOLDER/catalogue.json --dry-run --database DATABASE',
  'catalogue apply': 'FOLDER/catalogue.json --yes',
  'controls set': '1 FOLDER/rules.json',
  'controls show': '1',
  'controls list': '1',
  'controls cost': '1',
  'controls blocked': '1',
  'controls test': '1 --category Shoes',
  'campaigns list': '',
  'rates set': '1 FOLDER/rates.json',
  'rates import': '1 FOLDER/rates.csv --base USD',
  'rates show': '1',
  'translations export': 'FOLDER/texts.csv',
  'translations import': 'FOLDER/texts.csv --dry-run',
  stop: 'offer 1',
  resume: 'offer 1',
  explain: '--placement checkout',
  forecast: '1',
  targeting: '1',
  story: 'SESSION',
  'reports list': '',
  'reports save': 'Weekly by=campaign',
  'reports run': '1',
  'reports remove': '1',
  'reports reach': '',
  'landing-pages': '',
  'alerts list': '',
  'alerts mute': '1 --hours 4 --note Maintenance',
  'alerts unmute': '1',
  'alerts channels': '',
  'alerts add': 'Clicks --metric clicks --below 10 --hours 1',
  'alerts metrics': '',
  'alerts remove': '1',
  'audiences create': 'people',
  'audiences import': 'people FOLDER/users.csv',
  'audiences add': 'people u3',
  'audiences remove': 'people u3',
  'audiences list': '',
  'audiences estimate': 'FOLDER/audience-rule.json',
  'audiences check': 'people u1',
  'audiences overlap': 'people people',
  'audiences uses': 'people',
  'sources set': 'FOLDER/source.json',
  'sources show': '',
  'coupons add': '1 FOLDER/codes.csv',
  'coupons list': '',
  'coupons show': '1',
  'coupons remove': '1',
  'drafts propose': 'offers 1 FOLDER/offer.json',
  'drafts list': '',
  'drafts show': '1',
  'drafts refuse': '1 --reason Outdated',
  'drafts undo': '1',
  'drafts approve': '1',
  'portal-links list': '',
  'portal-links create': 'https://admin.example deliveries',
  'messages set': '',
  'messages suppress': 'someone@shop.example',
  'messages retry': '--failed',
  'experiments create': 'FOLDER/experiment.json',
  'experiments change': 'two FOLDER/arms.json',
  'experiments list': '',
  'experiments show': 'two',
  'experiments plan': 'two',
  'experiments start': 'two',
  'experiments report': 'two',
  'experiments stop': 'two',
  'experiments adopt': 'two two',
  'experiments undo': 'two',
  'roles set': 'Support reports',
  'roles list': '',
  'roles remove': 'Support',
  'privacy find': '--user u1',
  'privacy export': 'FOLDER/person.json --user u1',
  'deliveries retry': '--status failed --dry-run',
  'transformations set': 'ENDPOINT FOLDER/body.jsonata --headers FOLDER/headers.jsonata',
  'transformations show': 'ENDPOINT',
  'transformations preview': 'ENDPOINT',
  'transformations remove': 'ENDPOINT',
  'secrets status': 'DATABASE',
  'secrets reseal': 'DATABASE',
  'audit verify': 'DATABASE',
  'audit export': 'DATABASE',
  'reports verify': 'DATABASE',
  'data restart': 'DATABASE',
  'data export': 'DATABASE',
  'data status': 'DATABASE',
  'data verify': 'DATABASE',
  'data compact': 'DATABASE',
  'operator create': '--email you@shop.example DATABASE',
  doctor: 'DATABASE',
  'demo load': 'DATABASE',
  completion: 'bash',
};

/** Commands that other tests run with --json, with the test file. */
const testedElsewhere = {
  start: 'test/demo/welcome.test.ts',
  listen: 'test/e2e/command-line.test.ts',
  trigger: 'test/e2e/command-line.test.ts',
  'deliveries tail': 'test/e2e/command-line.test.ts',
  'events pull': 'test/webhooks/commands/pull.test.ts',
  mcp: 'test/agents/mcp.test.ts',
  'portal-links revoke': 'test/portal/links.test.ts',
  'logs tail': 'test/offers/request-log/stream.test.ts',
  'catalogue diff': 'test/command-line/command-line.test.ts',
  'privacy erase': 'test/privacy/pages/desk.test.ts',
  'alerts test': 'test/alerts/routes.test.ts',
};

/** Commands that print one line per row, and whose list is empty here. */
const emptyLists = ['log', 'messages list', 'sources events', 'privacy requests'];

test('every command is run with --json by a test', () => {
  const tested = [...Object.keys(calls), ...Object.keys(testedElsewhere), ...emptyLists];
  expect(commands.map(({ name }) => name).filter((name) => !tested.includes(name))).toEqual([]);
});

test('every command prints only JSON with --json, one value per line', async () => {
  const failures: string[] = [];
  for (const [name, args] of Object.entries(calls)) {
    const isLocal = args.includes('DATABASE');
    const words = args.replace('DATABASE', '').replaceAll('FOLDER', folder).replace('SESSION', sessionId);
    const line = `${name} ${words.replace('ENDPOINT', endpoint)}`.trim().split(/ +/);
    const { code, out, err } = await runCommand([...line, '--json'], {
      ...env,
      ...(isLocal && { DATABASE_URL: t.databaseUrl }),
    });
    const isPrinted = out.trim().split('\n').every(isJson);
    if (code > 1 || !isPrinted) failures.push(`${name}: exit code ${code}, ${out}${err}`);
  }
  expect(failures).toEqual([]);
});

test('an empty list prints nothing with --json', async () => {
  for (const name of emptyLists)
    expect([name, await runCommand([...name.split(' '), '--json'], env)]).toEqual([
      name,
      { code: 0, out: '', err: '' },
    ]);
});

function isJson(line: string): boolean {
  try {
    return typeof JSON.parse(line) === 'object';
  } catch {
    return false;
  }
}
