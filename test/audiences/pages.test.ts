import { randomUUID } from 'node:crypto';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openAs, signInAs } from '../dashboard/support.ts';
import { type DemoServer, startDemoServer } from '../demo/support.ts';
import { closeContexts, openBrowser } from '../support/browser.ts';

let demo: DemoServer;
let browser: Browser;
let page: Page;
const base = () => `/dashboard/p/${demo.t.publisher.id}`;

beforeAll(async () => {
  demo = await startDemoServer();
  browser = await openBrowser();
  page = await openAs(browser, await signInAs(demo.t, 'admin'), demo.url, `${base()}/audiences`);
  page.setDefaultTimeout(10_000);
});
afterAll(async () => {
  await closeContexts(browser);
  await demo?.close();
});

const press = (name: string) => page.getByRole('button', { name, exact: true }).first().click();
const toast = (text: string | RegExp) => page.locator('.toast').filter({ hasText: text }).first().waitFor();
const go = (path: string) => page.goto(demo.url + base() + path);

let fetches = 0;

/** Returns the IDs of the campaigns that a user's fetch returns. */
async function shownTo(pub_user_id: string): Promise<number[]> {
  fetches += 1;
  const answer = await fetch(`${demo.url}/native/v4/offers.json?api_key=${demo.t.publisher.key}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ placement: 'checkout', pub_user_id }),
  });
  const { data } = (await answer.json()) as { data: { offers: { campaign_id: number }[] } };
  return data.offers.map(({ campaign_id: id }) => id);
}

test('a manager creates an audience, fills it from a file, looks up a user, and excludes it in one click', async () => {
  const [campaign] = await shownTo('someone');
  await go('/audiences/new');
  await page.getByRole('textbox', { name: 'Key', exact: true }).fill('Customers');
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Existing customers');
  await press('Save');
  await page.getByRole('heading', { name: 'Existing customers' }).waitFor();
  const csv = 'id\nknown-1\nknown-2\nme@mail.example\n';
  await page.getByLabel('CSV file').setInputFiles({ name: 'c.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) });
  await press('Check file');
  await page.getByText('More than 1% of the rows are invalid').waitFor();
  await page.getByText('Line 4: The ID is invalid. The value must not be an e-mail address').waitFor();
  expect(await page.getByRole('button', { name: 'Import 2 rows' }).count()).toBe(0);
  await page.getByLabel('Import the valid rows').check();
  await press('Check file');
  await page.getByRole('cell', { name: 'known-1' }).waitFor();
  await press('Import 2 rows');
  await toast('2 members added. 1 row could not be read (lines 4).');
  await page.getByText('2 members.').waitFor();
  await page.getByLabel('User ID (pub_user_id)').fill('known-1');
  await press('Check membership');
  await toast('The user is a member of this audience.');
  await go(`/campaigns/${campaign}?edit=users`);
  const excluded = page.getByRole('combobox', { name: 'Excluded audiences' });
  await excluded.fill('customers');
  await excluded.press('Enter');
  await press('Save');
  await toast('Saved.');
  await expect.poll(() => shownTo('known-1')).not.toContain(campaign);
  expect(await shownTo('someone')).toContain(campaign);
  await go(`/campaigns/${campaign}?edit=users`);
  expect(await page.locator('[name="rules.targeting.audiences.exclude"]').inputValue()).toBe('customers');
});

test('all pasted IDs are added, or none if the list is too long', async () => {
  const ids = (count: number) => Array.from({ length: count }, (_, index) => `${randomUUID()}-${index}`).join('\n');
  const add = (typed: string) =>
    page.evaluate(async (text) => {
      const form = document.querySelector<HTMLFormElement>('form[action$="/members"]');
      const data = new FormData(form ?? undefined);
      data.set('ids', text);
      return (await fetch(form?.action ?? '', { method: 'POST', body: data })).text();
    }, typed);
  await go('/audiences/customers');
  expect(await add(ids(2500))).toContain('2,500 members added.');
  expect(await add(ids(15_000))).toContain('larger than 512 kB');
  await go('/audiences/customers');
  await page.getByText('2,502 members.').waitFor();
});

test('a rule audience shows what its rule counts, and cannot be filled manually', async () => {
  await go('/audiences/new');
  await page.getByRole('textbox', { name: 'Key', exact: true }).fill('clicked');
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Clicked lately');
  await page.getByLabel('Source of members').selectOption({ label: 'Clicked an offer' });
  await page.getByLabel('Minimum number of times').fill('2');
  await page.getByLabel('Period (days)').fill('7');
  await press('Save');
  await page.getByText('The rule adds users within seconds.').waitFor();
  expect(await page.getByRole('button', { name: 'Add members' }).count()).toBe(0);
  await page.getByLabel('Overlap with').selectOption({ label: 'customers' });
  await press('Count shared members');
  await toast('No members are also in customers: 0% of this audience and 0% of the other one.');
  await go('/audiences');
  await page.getByText('Clicked an offer, at least 2 times within 7 days').waitFor();
});

test('a blocked brand, shown with its cost, and a stopped campaign are missing from the next responses', async () => {
  const [blocked] = await shownTo('somebody');
  const { rows } = await demo.t.pool.query<{ name: string }>(
    'select a.name from campaigns c join advertisers a on a.id = c.advertiser_id where c.id = $1',
    [blocked],
  );
  await go('/settings/controls');
  await page.locator('#f-blocked-brands').fill(rows[0]?.name ?? '');
  await press('Save');
  await toast('Block rules saved.');
  await expect.poll(() => shownTo('somebody')).not.toContain(blocked);
  // When decisions used several catalogues, only those of the most frequent catalogue are replayed. These visits make
  // it the current one.
  const visits = fetches + 12;
  for (let visit = 0; visit < visits; visit += 1) await shownTo(`visitor-${visit}`);
  await page.getByRole('link', { name: 'Calculate cost' }).click();
  await page.getByRole('table', { name: 'Cost of the rules' }).waitFor();
  // A decision can be replayed once its catalogue is stored, which happens outside of requests.
  await expect
    .poll(async () => {
      await page.reload();
      const costs = page.getByRole('table', { name: 'Cost of the rules' }).getByRole('row');
      return costs
        .filter({ hasText: rows[0]?.name ?? '' })
        .first()
        .innerText();
    })
    .toMatch(/\t[1-9]\d*(\.\d+)?%/);
  const [stopped] = await shownTo('somebody');
  await go(`/campaigns/${stopped}`);
  await press('Stop now');
  await page.getByRole('dialog').getByRole('button', { name: 'Stop now', exact: true }).click();
  await page.getByText('No offers are shown until you resume delivery.').waitFor();
  await expect.poll(() => shownTo('somebody')).not.toContain(stopped);
});
