import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { csrfTokenOf } from '../../../src/accounts/access.ts';
import { runCommand } from '../../command-line/support.ts';
import { openAs, postForm, signInAs, type TestUser } from '../../dashboard/support.ts';
import { type DemoServer, startDemoServer } from '../../demo/support.ts';
import { violations } from '../../support/axe.ts';
import { closeContexts, openBrowser } from '../../support/browser.ts';

let demo: DemoServer;
let browser: Awaited<ReturnType<typeof openBrowser>>;
let base = '';
beforeAll(async () => {
  demo = await startDemoServer('coupon stock');
  browser = await openBrowser();
  base = `/dashboard/p/${demo.t.publisher.id}/offers`;
});
afterAll(async () => {
  await closeContexts(browser);
  await demo?.close();
});

async function stored(offer: number) {
  const text = 'select p.*, s.* from coupon_pools p join coupon_stock s using (offer_id) where offer_id = $1';
  return (await demo.t.pool.query(text, [offer])).rows[0];
}

const post = (user: TestUser, path: string) =>
  postForm(
    demo.t,
    path,
    { _csrf: csrfTokenOf(user.cookie.split('=')[1] ?? '') },
    { cookie: user.cookie, origin: demo.url },
  );

test.each([
  [
    'en-GB',
    1,
    'CSV file',
    'Check codes',
    'Import 3 rows',
    '2 codes added. 1 duplicate skipped.',
    'Settings and expiry',
    'Terms and conditions of the code',
  ],
  [
    'de-DE',
    2,
    'CSV-Datei',
    'Codes prüfen',
    '3 Zeilen importieren',
    '2 Codes hinzugefügt. 1',
    'Einstellungen und Ablauf',
    'Bedingungen des Codes',
  ],
] as const)(
  'a manager with locale %s uploads codes, sees the stock and configures the assignment',
  async (...words) => {
    const [locale, offer, file, check, importing, added, settings, terms] = words;
    const page = await openAs(browser, await signInAs(demo.t, 'manager'), demo.url, `${base}/${offer}`, { locale });
    await page.locator('#coupons summary').first().click();
    await page.getByLabel(file).setInputFiles({
      name: 'codes.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from('code\nA-1\nB-2\nA-1\n'),
    });
    await page.getByRole('button', { name: check }).click();
    await page.getByRole('cell', { name: 'B-2' }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: importing }).click();
    await page.getByText(added).first().waitFor();
    expect(await stored(offer)).toMatchObject({ drained_at: null });
    await page.locator('summary', { hasText: settings }).click();
    await page.getByLabel(terms).fill('Once');
    await page.locator('form[action$="/coupons/settings"] button').click();
    await expect.poll(async () => (await stored(offer)).terms).toBe('Once');
    await page.locator('#coupons').waitFor();
    expect(await violations(page)).toEqual([]);
  },
);

test("codes expire at the end of a day in the publisher's time zone, and an unedited time is kept", async () => {
  await demo.t.pool.query("update publishers set time_zone = 'America/New_York'");
  await demo.t.pool.query("update coupon_pools set expires_at = '2031-02-01T03:00:00Z' where offer_id = 1");
  await demo.t.deps.catalog.refresh();
  const page = await openAs(browser, await signInAs(demo.t, 'manager'), demo.url, `${base}/1`);
  const day = page.locator('[name="expires_at"]');
  const save = async (terms: string): Promise<string> => {
    await page.locator('summary', { hasText: 'Settings and expiry' }).click();
    await page.locator('[name="terms"]').fill(terms);
    await page.locator('form[action$="/coupons/settings"] button').click();
    await expect.poll(async () => (await stored(1)).terms).toBe(terms);
    return (await stored(1)).expires_at.toISOString();
  };
  expect(await day.inputValue()).toBe('2031-01-31');
  expect(await save('Twice')).toBe('2031-02-01T03:00:00.000Z');
  await page.locator('summary', { hasText: 'Settings and expiry' }).click();
  await day.fill('2031-02-01');
  await page.locator('summary', { hasText: 'Settings and expiry' }).click();
  expect(await save('Thrice')).toBe('2031-02-02T04:59:59.000Z');
});

test("a rejected form shows the field errors in the reader's language and keeps the entered values", async () => {
  const options = { locale: 'de-DE' };
  const page = await openAs(browser, await signInAs(demo.t, 'manager'), demo.url, `${base}/1`, options);
  await page.locator('summary', { hasText: 'Einstellungen und Ablauf' }).click();
  await page.locator('[name="terms"]').fill('Nur einmal');
  await page.locator('[name="valid_days"]').fill('0');
  await page.locator('form[action$="/coupons/settings"] button').click();
  await page.getByRole('alert').getByRole('link', { name: 'Gültigkeit ab Vergabe (Tage)' }).waitFor();
  expect(await page.locator('[name="terms"]').inputValue()).toBe('Nur einmal');
  expect(await violations(page)).toEqual([]);
  await page.locator('summary', { hasText: 'Codes hinzufügen' }).click();
  await page.getByLabel('Ein Muster').check();
  await page.locator('[name="pattern"]').fill('KURZ-#');
  await page.locator('[name="count"]').fill('500');
  await page.locator('form[action$="/coupons/add"] button').last().click();
  await page.getByRole('alert').getByRole('link', { name: 'Muster' }).waitFor();
  expect(await page.locator('[name="pattern"]').inputValue()).toBe('KURZ-#');
});

test('an analyst sees the stock but no forms', async () => {
  const analyst = await signInAs(demo.t, 'analyst');
  const page = (await analyst.get(`${base}/1`)).body;
  expect(page).toContain('id="coupons"');
  expect(page).not.toContain('/coupons/add');
  expect((await post(analyst, `${base}/1/coupons/remove`)).statusCode).toBe(403);
});

test('a manager of another publisher has no access', async () => {
  const { rows } = await demo.t.pool.query<{ id: number }>(
    "insert into publishers (name, sdk_id) values ('Other', 'aaaabbbbccccdddd') returning id",
  );
  await demo.t.deps.catalog.refresh();
  const other = await signInAs(demo.t, 'manager', rows[0]?.id ?? 0);
  expect((await post(other, `/dashboard/p/${rows[0]?.id}/offers/1/coupons/remove`)).statusCode).toBe(404);
  expect(await stored(1)).toBeDefined();
});

test('the command line adds a file, counts codes and removes them', async () => {
  const env = { PERKWIRE_URL: demo.url, PERKWIRE_KEY: demo.t.publisher.key };
  const folder = await mkdtemp(join(tmpdir(), 'perkwire-coupons-'));
  const file = join(folder, 'codes.csv');
  await writeFile(file, Array.from({ length: 50 }, (_, index) => `CLI-${index}`).join('\n'));
  const added = await runCommand(['coupons', 'add', '3', file, '--json'], env);
  expect([added.code, JSON.parse(added.out)]).toEqual([0, { added: 50, duplicates: 0, bad: 0 }]);
  expect(added.err).toContain('The first row is read as a value.');
  const stock = await runCommand(['coupons', 'show', '3', '--json'], env);
  expect([stock.code, JSON.parse(stock.out)]).toEqual([0, expect.objectContaining({ total: 50, left: 50 })]);
  const removed = await runCommand(['coupons', 'remove', '3'], env);
  expect(removed.out).toContain('Removed 50 codes.');
  expect(removed.err).toContain('The pool is now empty. The offer is paused until you add codes.');
  expect((await runCommand(['coupons', 'remove', '3'], env)).out).toContain('no codes that could be removed');
  expect((await runCommand(['coupons', 'show', '3'], env)).code).toBe(1);
  expect((await runCommand(['coupons', 'remove', '3', '--pool'], env)).code).toBe(0);
  expect((await runCommand(['coupons', 'add', '3'], env)).code).toBe(2);
  await rm(folder, { recursive: true });
});
