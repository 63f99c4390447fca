import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { openAs, signInAs } from '../dashboard/support.ts';
import { closeContexts, openBrowser } from '../support/browser.ts';
import { portOf } from '../support/request.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { callsOf } from './support.ts';

let t: TestApp;
let api: ReturnType<typeof callsOf>;
let browser: Browser;
beforeAll(async () => {
  t = await createTestApp();
  api = callsOf(t);
  browser = await openBrowser();
});
afterEach(() => api.end());
afterAll(async () => {
  await closeContexts(browser);
  await t?.close();
});

async function open(path: string, options: BrowserContextOptions = {}): Promise<Page> {
  const user = await signInAs(t, 'admin');
  const base = `http://127.0.0.1:${await portOf(t.app)}`;
  return openAs(browser, user, base, `/dashboard/p/${t.publisher.id}${path}`, options);
}

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
const step = (page: Page, title: string) => page.getByRole('heading', { name: title }).waitFor();

test('the wizard works without scripts, and Back keeps what was entered, as does the browser', async () => {
  const page = await open('/experiments/new', { javaScriptEnabled: false });
  await page.getByRole('radio', { name: /How much do offers or a campaign really add/ }).check();
  await page.getByLabel('Name', { exact: true }).fill('Hold-out');
  await press(page, 'Next');
  await step(page, 'What do users see?');
  await page.getByLabel('Offers hidden from the hold-out group').selectOption({ index: 1 });
  await press(page, 'Next');
  const holdout = page.getByLabel('Hold-out group: no offers (%)');
  expect(await holdout.inputValue()).toBe('10');
  await holdout.fill('5');
  await page.getByLabel('Smallest relevant difference').fill('0');
  await press(page, 'Back');
  expect(await page.getByLabel('Offers hidden from the hold-out group').inputValue()).not.toBe('');
  await press(page, 'Question');
  expect(await page.getByRole('radio', { checked: true }).inputValue()).toBe('holdout');
  expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Hold-out');
  await press(page, 'Next');
  await press(page, 'Next');
  expect(await holdout.inputValue()).toBe('5');
  await press(page, 'Next');
  await page.getByText('The value must be a number from 0.1 to 1,000.').first().waitFor();
  await page.getByLabel('Smallest relevant difference').fill('10');
  await press(page, 'Estimate the duration');
  await page.getByText('The duration can’t be estimated yet').waitFor();
  expect(await page.getByLabel('Smallest relevant difference').inputValue()).toBe('10');
  await press(page, 'Next');
  await step(page, 'Is this what you want?');
  await page.getByText('groups by revenue per session. The duration can’t be estimated yet').waitFor();
  await page.goBack();
  expect(await page.getByLabel('Smallest relevant difference').inputValue()).toBe('10');
  await page.goForward();
  await press(page, 'Save as draft');
  await step(page, 'Not started yet');
  expect((await api.manage('GET', '/hold-out')).body.data).toMatchObject({
    state: 'draft',
    holdout: 0.05,
    campaign_id: expect.any(Number),
    arms: [{ key: 'control', share: 0.95, changes: {} }],
  });
});

test('an experiment is created and started by keyboard only', async () => {
  const page = await open('/experiments/new');
  const type = async (label: string, text: string): Promise<void> => {
    const field = page.getByLabel(label, { exact: true }).first();
    for (let presses = 0; !(await field.evaluate((element) => element === document.activeElement)); presses += 1) {
      if (presses > 100) throw new Error(`Tab does not reach ${label}`);
      await page.keyboard.press('Tab');
    }
    await page.keyboard.press('Control+A');
    await page.keyboard.type(text);
  };
  await type('Name', 'By keyboard');
  await page.keyboard.press('Enter');
  await step(page, 'What do users see?');
  await type('Number of offers', '1');
  await page.keyboard.press('Enter');
  await step(page, 'Who takes part, and for how long?');
  await type('Users who take part (%)', '50');
  await page.getByText('25% of users get one offer.').waitFor();
  await page.keyboard.press('Enter');
  await step(page, 'Is this what you want?');
  const start = page.getByRole('button', { name: 'Start the experiment' });
  while (!(await start.evaluate((element) => element === document.activeElement))) await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.getByText('Experiment started.').waitFor();
  expect((await api.manage('GET', '/by-keyboard')).body.data.state).toBe('running');
});

test('the last step describes in German what will happen', async () => {
  const query = new URLSearchParams({
    step: 'check',
    question: 'offers',
    name: 'Weniger',
    'arm1.offers_per_response': '1',
    placements: 'checkout',
    start_at: '2100-05-01T09:00',
  });
  const page = await open(`/experiments/new?${query}`, { locale: 'de-DE' });
  await step(page, 'Ist alles richtig?');
  for (const sentence of [
    'Das Experiment startet am 1. Mai 2100',
    'Es läuft am Anzeigenplatz checkout.',
    '50 % der Nutzer bekommen ein Angebot.',
    'Das Experiment läuft, bis Sie es stoppen.',
  ])
    await page.getByText(sentence).waitFor();
  await press(page, 'Experiment planen');
  await page.getByText('Das Experiment wurde angelegt.').waitFor();
  await step(page, 'Startet am 1. Mai 2100');
  expect((await api.manage('GET', '/weniger')).body.data.state).toBe('scheduled');
});
