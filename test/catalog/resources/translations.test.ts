import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { runCommand } from '../../command-line/support.ts';
import { readCsv } from '../../support/read-csv.ts';
import { addCatalogue, type Caller, createManagementModules, type ManagementModules } from './support.ts';

let app: ManagementModules;
let own: Caller;
let other: Caller;
let offer = 0;
let foreign = 0;
beforeAll(async () => {
  app = await createManagementModules(['catalog-admin']);
  own = await app.caller(await app.addPublisher());
  other = await app.caller(await app.addPublisher());
  offer = (await addCatalogue(own)).offer as number;
  foreign = (await addCatalogue(other)).offer as number;
});
afterAll(() => app.close());
beforeEach(async () => {
  await app.pool.query(
    "update offers set translations = '{}', description = 'Cheap, \"fresh\"\nand near' where id = $1",
    [offer],
  );
});

const csv = { 'content-type': 'text/csv' };
const send = (text: string | Buffer, query = '') => own.call('POST', `/translations${query}`, text, csv);
const download = async (query = '', { key } = own) => {
  const answer = await app.app.inject({ url: `/manage/v1/translations?api_key=${key}${query}` });
  return { status: answer.statusCode, headers: answer.headers, body: answer.body };
};
const stored = async (id = offer) =>
  (await app.pool.query('select translations from offers where id = $1', [id])).rows[0].translations;
const paths = (body: Record<string, unknown>) =>
  (body.error as { details: { path: string; message: string }[] }).details.map(({ path }) => path);

describe('the translation file', () => {
  test('has a row for each text with its limit and original, and a column for each language', async () => {
    await own.call('PATCH', `/offers/${offer}`, { translations: { de: { title: 'Halber Preis' }, 'pt-BR': {} } });
    const { status, headers, body } = await download();
    expect([status, headers['content-type'], headers['cache-control']]).toEqual([
      200,
      'text/csv; charset=utf-8',
      'no-store',
    ]);
    const [head, title, description] = readCsv(body);
    expect(head).toEqual(['offer_id', 'text', 'limit', 'original', 'de', 'pt-BR']);
    expect(title?.slice(0, 5)).toEqual([`${offer}`, 'title', '90', 'Half off', 'Halber Preis']);
    expect(description?.slice(0, 4)).toEqual([`${offer}`, 'description', '220', 'Cheap, "fresh"\nand near']);
  });

  test('contains only the requested languages, offer or campaign', async () => {
    const [head] = readCsv((await download(`&languages=fr,zh-hant&offer_id=${offer}`)).body);
    expect(head).toEqual(['offer_id', 'text', 'limit', 'original', 'fr', 'zh-Hant']);
    expect(readCsv((await download('&campaign_id=999999')).body)).toHaveLength(1);
    expect(readCsv((await download(`&offer_id=${foreign}`)).body)).toHaveLength(1);
    for (const query of ['&languages=German', '&languages=de&languages=1', '&offer_id=x', '&campaign_id=-1'])
      expect((await download(query)).status, query).toBe(400);
  });

  test('can be imported unchanged without any effect', async () => {
    const title = '=SUM("a", b)\n-10 %';
    await own.call('PATCH', `/offers/${offer}`, { translations: { de: { title, description: "'=x" } } });
    const before = await stored();
    const { body } = await send((await download()).body);
    expect(body.data).toMatchObject({ dry_run: false, offers: 0, texts: 0, languages: ['de'] });
    expect(await stored()).toEqual(before);
  });
});

describe('an import', () => {
  test('imports texts, even with semicolons from a spreadsheet, and ignores empty cells', async () => {
    await own.call('PATCH', `/offers/${offer}`, { translations: { fr: { title: 'Moitié prix' } } });
    const lines = ['\uFEFFoffer_id;text;fr;de', `${offer};title;;Halber Preis`, `${offer};cta_yes;Oui;Ja, gern`];
    const { status, body } = await send(lines.join('\r\n'));
    expect([status, body.data]).toMatchObject([200, { dry_run: false, offers: 1, texts: 3, languages: ['fr', 'de'] }]);
    expect(await stored()).toEqual({
      fr: { title: 'Moitié prix', cta_yes: 'Oui' },
      de: { title: 'Halber Preis', cta_yes: 'Ja, gern' },
    });
    const audit = await app.pool.query("select count(*)::int as count from audit_log where resource = 'offers'");
    expect(audit.rows[0].count).toBeGreaterThan(0);
  });

  test('writes nothing in a dry run', async () => {
    const { body } = await send(`offer_id,text,de\n${offer},title,Neu`, '?dry_run=true');
    expect(body.data).toMatchObject({ dry_run: true, offers: 1, texts: 1, languages: ['de'], rows: 1, bad: 0 });
    expect(await stored()).toEqual({});
  });

  test('is rejected if dry_run is misspelt, and writes nothing', async () => {
    for (const query of ['?dry_run=1', '?dry_run=True', '?dry_run', '?dry_run=true&dry_run=true'])
      expect((await send(`offer_id,text,de\n${offer},title,Neu`, query)).status, query).toBe(400);
    expect(await stored()).toEqual({});
  });

  test.each([
    ['offer_id,text,de\nX,title,a\nOFFER,headline,b', ['/lines/2/offer_id', '/lines/3/text']],
    ['offer_id,text,de\nOFFER,title,Gut\nFOREIGN,title,Fremd', ['/lines/3/offer_id']],
    [`offer_id,text,de\nOFFER,title,Gut\nOFFER,cta_yes,${'ü'.repeat(26)}`, ['/lines/3/de']],
    ['offer_id,text,en\nOFFER,title,Good', ['/lines/2/en']],
    ['offer_id,text,de\nOFFER,title,a\nOFFER,title,b', ['/lines/3']],
    ['offer_id,text,German', ['/columns/German']],
    ['offer_id,text,de,DE', ['/columns']],
    ['offer,text,de', ['/columns/offer_id']],
    ['', ['/columns/offer_id', '/columns/text']],
    ['offer_id,text,de\nOFFER,title,a\0b', ['/lines/2']],
    ['offer_id,text,de\nOFFER,title,a "b" c', ['/lines/2']],
  ])('with %j is rejected by line and column, and changes nothing', async (text, expected) => {
    await own.call('PATCH', `/offers/${offer}`, { language: 'en' });
    const { status, body } = await send(text.replaceAll('OFFER', `${offer}`).replaceAll('FOREIGN', `${foreign}`));
    expect([status, paths(body)]).toEqual([400, expected]);
    expect(await stored()).toEqual({});
    expect(await stored(foreign)).toEqual({});
  });

  test('is rejected if its encoding or type is wrong, if it is too large, or without permission', async () => {
    const latin = Buffer.from(`offer_id,text,de\n${offer},title,für`, 'latin1');
    expect(paths((await send(latin)).body)).toEqual(['/lines/2']);
    expect((await own.call('POST', '/translations', { offers: [] })).status).toBe(415);
    expect((await send(`offer_id,text,de\n${'x'.repeat(4 * 1024 * 1024)}`)).status).toBe(413);
    const reader = await app.caller(own.publisherId, ['reports']);
    expect((await reader.call('POST', '/translations', 'offer_id,text', csv)).status).toBe(403);
  });

  test('removes harmful markup from terms', async () => {
    await send(`offer_id,text,de\n${offer},terms_and_conditions,"<p onclick=""x()"">A<script>b</script></p>"`);
    expect(await stored()).toEqual({ de: { terms_and_conditions: '<p>A</p>' } });
  });
});

test('the command line exports and imports the file', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'perkwire-texts-'));
  const url = await app.app.listen({ host: '127.0.0.1', port: 0 });
  const run = (...args: string[]) => runCommand(args, { PERKWIRE_URL: url, PERKWIRE_KEY: own.key });
  try {
    const file = join(folder, 'texts.csv');
    expect((await run('translations', 'export', file, '--languages', 'de')).code).toBe(0);
    const text = await readFile(file, 'utf8');
    await writeFile(file, text.replace('Half off,', 'Half off,Halber Preis'));
    expect((await run('translations', 'import', file, '--dry-run')).out).toContain('1 string of 1 offer would change');
    expect((await run('translations', 'import', file)).code).toBe(0);
    expect(await stored()).toEqual({ de: { title: 'Halber Preis' } });
    await writeFile(file, 'offer_id,text,de\n0,title,x');
    const refused = await run('translations', 'import', file);
    expect([refused.code, refused.err]).toEqual([3, expect.stringContaining('/lines/2/offer_id')]);
  } finally {
    await rm(folder, { recursive: true });
  }
});
