import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { csrfTokenOf } from '../../../src/accounts/access.ts';
import { errorsIn, openAs, postForm, signInAs, type TestUser } from '../../dashboard/support.ts';
import { type DemoServer, startDemoServer } from '../../demo/support.ts';
import { violations } from '../../support/axe.ts';
import { closeContexts, openBrowser } from '../../support/browser.ts';

let demo: DemoServer;
let browser: Awaited<ReturnType<typeof openBrowser>>;
let base = '';
let manager: TestUser;
beforeAll(async () => {
  demo = await startDemoServer();
  browser = await openBrowser();
  base = `/dashboard/p/${demo.t.publisher.id}`;
  manager = await signInAs(demo.t, 'manager');
});
afterAll(async () => {
  await closeContexts(browser);
  await demo?.close();
});

const post = ({ cookie }: TestUser, path: string, fields: Record<string, string> = {}) => {
  const form = { _csrf: csrfTokenOf(cookie.split('=')[1] ?? ''), ...fields };
  return postForm(demo.t, path, form, { cookie, origin: demo.url });
};

const stored = async () => {
  const { rows } = await demo.t.pool.query('select translations, title from offers where id = 1');
  return rows[0] as { translations: Record<string, Record<string, string>>; title: string };
};
beforeEach(async () => {
  await demo.t.pool.query("update offers set translations = '{}', language = null where id = 1");
});

test('a manager translates an offer, sees missing and too long texts, and removes a language', async () => {
  const page = await openAs(browser, manager, demo.url, `${base}/offers/1/languages`);
  await page.getByLabel('New language').fill('he');
  await page.getByRole('button', { name: 'Add language' }).click();
  const headline = page.locator('input[name=title]');
  await headline.waitFor();
  expect(await page.locator('.original').first().textContent()).toBe((await stored()).title);
  expect(await headline.evaluate((element) => getComputedStyle(element).direction)).toBe('rtl');
  expect(await page.locator('main').textContent()).toMatch(/\d+ missing/);
  await headline.fill('א'.repeat(45));
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Longer than recommended.').waitFor();
  expect(await page.locator('main').textContent()).toContain('1 too long');
  expect((await stored()).translations).toEqual({ he: { title: 'א'.repeat(45) } });
  expect(await violations(page)).toEqual([]);
  await page.getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await page.getByText('Hebrew removed.').waitFor();
  expect((await stored()).translations).toEqual({});
});

test('a missing text shows its fallback', async () => {
  await demo.t.pool.query(
    `update offers set translations = '{"pt": {"title": "Metade do preço"}, "pt-BR": {"cta_yes": "Sim"}}' where id = 1`,
  );
  const { body } = await manager.get(`${base}/offers/1/languages?tag=pt-BR`);
  expect(body).toContain('Missing. Users see: Metade do preço');
});

test('a missing button label shows the translation of the unit', async () => {
  await demo.t.pool.query("update offers set cta_yes = 'Yes, please', cta_no = 'Not today' where id = 1");
  const { body } = await manager.get(`${base}/offers/1/languages?tag=de`);
  expect(body).toContain('Missing. Users see: Ja, gern');
  expect(body).toContain('Missing. Users see the original text.');
});

test('a text that is too long is rejected at its field, and the entered values are kept', async () => {
  const answer = await post(manager, `${base}/offers/1/languages`, { tag: 'de', title: 'x'.repeat(91), cta_yes: 'Ja' });
  expect(answer.statusCode).toBe(422);
  expect(answer.body).toContain('x'.repeat(91));
  expect(answer.body).toMatch(/id="f-title-error"/);
  expect((await stored()).translations).toEqual({});
  const stale = await post(manager, `${base}/offers/1/languages`, { tag: 'de', title: 'x', _version: '"old"' });
  expect(stale.statusCode).toBe(422);
});

test('the page shows the progress of languages of all offers, and exports and imports files', async () => {
  await demo.t.pool.query(`update offers set translations = '{"de": {"title": "Halber Preis"}}' where id = 1`);
  const overview = (await manager.get(`${base}/languages?tag=de`)).body;
  expect(overview).toContain('German');
  expect(overview).toContain(`${base}/offers/1/languages?tag=de`);
  // Offers without any German text count, too.
  const listed = [...overview.matchAll(/>(\d+) missing</g)].map(([, missing]) => Number(missing));
  const total = /data-label="Missing translations"[^>]*>\s*<span class="badge warn">(\d+)</.exec(overview)?.[1];
  expect(listed.length).toBeGreaterThan(5);
  expect(Number(total)).toBe(listed.reduce((sum, missing) => sum + missing, 0));
  for (const id of ['1.5', '1e20', 'x'])
    expect((await manager.get(`${base}/languages/export?offer_id=${id}`)).statusCode, id).toBe(400);
  const file = await manager.get(`${base}/languages/export?languages=de&offer_id=1`);
  expect(file.headers['content-type']).toBe('text/csv; charset=utf-8');
  expect(file.body).toContain('Halber Preis');
  const page = await openAs(browser, manager, demo.url, `${base}/languages`);
  const upload = async (text: string) => {
    await page.getByLabel('CSV file').setInputFiles({ name: 'a.csv', mimeType: 'text/csv', buffer: Buffer.from(text) });
    await page.getByRole('button', { name: 'Check file' }).click();
  };
  await upload('offer_id,text,de\n1,title,Neu\n1,cta_yes,Ja');
  await page.getByText('2 translations in 1 offer would change.').waitFor();
  await page.getByRole('cell', { name: 'Neu' }).waitFor();
  expect((await stored()).translations).toEqual({ de: { title: 'Halber Preis' } });
  expect(await violations(page)).toEqual([]);
  await page.getByRole('button', { name: 'Import 2 rows' }).click();
  await page.getByText('2 translations changed in 1 offer.').waitFor();
  expect((await stored()).translations).toEqual({ de: { title: 'Neu', cta_yes: 'Ja' } });
  await upload('offer_id,text,de\n1,title,Neuer\n0,cta_yes,Ja');
  await page.getByText('Line 3: offer_id: The value must be an offer ID.').waitFor();
  expect(await page.getByRole('button', { name: 'Import' }).count()).toBe(0);
  expect((await stored()).translations.de?.title).toBe('Neu');
  expect(await violations(page)).toEqual([]);
});

test.each([
  ['jp', 'en', 'There is no language with the code “jp”. Did you mean ja (Japanese)?'],
  ['german', 'de', 'Es gibt keine Sprache mit dem Kürzel „german“. Meinten Sie de (Deutsch)?'],
  ['xx', 'en', 'There is no language with the code “xx”. Use a code such as de or pt-BR.'],
])('the language %s cannot be added or exported, and the page says why (locale %s)', async (tag, locale, text) => {
  const headers = { 'accept-language': locale };
  for (const path of [`${base}/offers/1/languages?tag=${tag}`, `${base}/languages/export?languages=de,${tag}`]) {
    const { statusCode, body } = await manager.get(path, headers);
    expect([statusCode, errorsIn(body)]).toEqual([422, [text]]);
    expect(body).toContain(tag);
  }
});

test('a language that does not exist is reported as a warning of the offer and the campaign', async () => {
  const warnings = async (path: string, payload: object) => {
    const headers = { authorization: `Bearer ${demo.t.publisher.key}` };
    const answer = await demo.t.app.inject({ method: 'PATCH', url: `/manage/v1${path}`, headers, payload });
    return (answer.json().warnings as { path: string; message: string }[]).map(({ path, message }) => [path, message]);
  };
  const offer = { language: 'jp', translations: { 'en-XX': { title: 'Hello' } } };
  expect(await warnings('/offers/1', offer)).toEqual(
    expect.arrayContaining([
      ['/language', '“jp” does not exist. Did you mean “ja”?'],
      ['/translations/en-XX', '“XX” does not exist. Did you mean “en”?'],
    ]),
  );
  const rules = { targeting: { languages: { include: ['de', 'xx'] } } };
  expect(await warnings('/campaigns/1', { rules })).toEqual(
    expect.arrayContaining([
      ['/rules/targeting/languages/include/1', '“xx” does not exist as a language, script or region.'],
    ]),
  );
  await warnings('/campaigns/1', { rules: {} });
});

test('an image is uploaded for readers of one language', async () => {
  const page = await openAs(browser, manager, demo.url, `${base}/offers/1`);
  const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><rect width="8" height="8"/></svg>';
  const image = { name: 'a.svg', mimeType: 'image/svg+xml', buffer: Buffer.from(svg) };
  await page.locator('summary', { hasText: 'Add image' }).click();
  const form = page.locator('form[action$="/pictures"]');
  await form.locator('input[type=file]').setInputFiles(image);
  await form.getByLabel('Language', { exact: true }).fill('pt-br');
  await form.getByRole('button', { name: 'Upload' }).click();
  await page.locator('.creatives .badge', { hasText: 'Brazilian Portuguese' }).waitFor();
  const { rows } = await demo.t.pool.query('select language from creatives where language is not null');
  expect(rows).toEqual([{ language: 'pt-BR' }]);
});

test("an analyst cannot change translations, and another publisher's offer is not found", async () => {
  const analyst = await signInAs(demo.t, 'analyst');
  expect((await analyst.get(`${base}/offers/1/languages?tag=de`)).statusCode).toBe(200);
  expect((await post(analyst, `${base}/offers/1/languages`, { tag: 'de', title: 'x' })).statusCode).toBe(403);
  expect((await post(analyst, `${base}/languages/import`)).statusCode).toBe(403);
  const { rows } = await demo.t.pool.query<{ id: number }>(
    "insert into publishers (name, sdk_id) values ('Other', 'aaaabbbbccccdddd') returning id",
  );
  await demo.t.deps.catalog.refresh();
  const otherUser = await signInAs(demo.t, 'manager', rows[0]?.id ?? 0);
  const there = `/dashboard/p/${rows[0]?.id}/offers/1/languages`;
  expect((await otherUser.get(there)).statusCode).toBe(404);
  expect((await post(otherUser, there, { tag: 'de', title: 'x' })).statusCode).toBe(404);
});
