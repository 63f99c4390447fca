import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { recordPoints } from '../../src/experiments/report/over-time.ts';
import { openAs, signInAs } from '../dashboard/support.ts';
import { violations } from '../support/axe.ts';
import { closeContexts, openBrowser } from '../support/browser.ts';
import { portOf } from '../support/request.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { callsOf, collectAll } from './support.ts';

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

const halves = (changes: object) => [
  { key: 'control', share: 0.5, changes: {} },
  { key: 'b', share: 0.5, changes },
];

const save = (page: Page) =>
  page
    .getByRole('button', { name: 'Create' })
    .or(page.getByRole('button', { name: 'Save' }))
    .first()
    .click();

async function open(role: 'admin' | 'analyst', path: string, locale = 'en-GB'): Promise<Page> {
  const user = await signInAs(t, role);
  const base = `http://127.0.0.1:${await portOf(t.app)}`;
  return openAs(browser, user, base, `/dashboard/p/${t.publisher.id}${path}`, { locale });
}

test('a marketer creates an experiment, starts it, reads its report and stops it', async () => {
  const page = await open('admin', '/experiments/new');
  const field = (name: string) => page.locator(`[name="${name}"]`);
  await field('name').fill('One offer instead of three');
  await field('key').fill('one-offer');
  await field('control').fill('50');
  await page.getByText('Enter shares above 0 that add up to at most 100%').waitFor();
  await field('holdout').fill('10');
  await field('layer').fill('not a layer');
  await field('arm1.key').fill('one');
  await field('arm1.share').fill('60');
  await field('arm1.offers_per_response').fill('1');
  await save(page);
  await page.getByText('at most 1').first().waitFor();
  await page.locator('[name="layer"][aria-invalid="true"]').waitFor();
  await field('layer').fill('unit');
  await field('arm1.share').fill('40');
  await page.getByText('The duration can’t be estimated yet').waitFor();
  await field('smallest_lift').fill('3');
  await field('ramp').fill('0 10\n24 much');
  await save(page);
  await page.getByText('Line 2').first().waitFor();
  await field('ramp').fill('0 10\n24 100');
  await save(page);
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Start' }).click();
  await page.getByText('Experiment started.').waitFor();
  const { data } = (await api.manage('GET', '/one-offer')).body;
  expect(data).toMatchObject({ state: 'running', placements: null, holdout: 0.1, layer: 'unit', smallest_lift: 0.03 });
  expect(data.ramp).toEqual([
    { after_hours: 0, share: 0.1 },
    { after_hours: 24, share: 1 },
  ]);
  expect(data.arms).toEqual([
    { key: 'control', share: 0.5, changes: {} },
    { key: 'one', share: 0.4, changes: { offers_per_response: 1 } },
  ]);
  await api.manage('PATCH', '/one-offer', { ramp: null });
  for (let at = 0; at < 10; at += 1) await api.fetch({ pub_user_id: `page-${at}` });
  await collectAll(t);
  await page.reload();
  await page.getByText('There are too few users for a comparison yet.').waitFor();
  expect(await violations(page)).toEqual([]);
  await page.getByRole('button', { name: 'Stop', exact: true }).click();
  await page.getByText('Experiment stopped.').waitFor();
  await page.goto(page.url().replace('/one-offer', ''));
  await page.getByText('Stopped', { exact: true }).first().waitFor();
  await page.getByText('40% of users get one offer.').first().waitFor();
  expect(await violations(page)).toEqual([]);
});

test('an admin adopts an arm after a confirmation and undoes it, and the history shows both', async () => {
  await api.start({ key: 'decide', placements: ['cart'], arms: halves({ offers_per_response: 1 }) });
  const page = await open('admin', '/experiments/decide');
  await page.getByRole('button', { name: 'Make b permanent' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Make b permanent' }).click();
  await page.getByText('b is now permanent, and the experiment has stopped.').waitFor();
  await page.getByText(': – → 1').waitFor();
  expect((await api.call('GET', '/manage/v1/placements/cart')).body.data.offers_per_response).toBe(1);
  expect(await violations(page)).toEqual([]);
  await page.getByRole('button', { name: 'Undo' }).first().click();
  await page.getByText('The previous settings are active again.').waitFor();
  expect((await api.call('GET', '/manage/v1/placements/cart')).body.data.offers_per_response).toBeNull();
  await page.getByText('Variant b no longer permanent').waitFor();
});

test('a report shows its interval by day, and segments with a note on multiple comparisons', async () => {
  await api.start({ key: 'read', arms: halves({}) });
  const { rows } = await t.pool.query(
    "update experiments set started_at = started_at - interval '9 days' where key = 'read' returning id",
  );
  await t.pool.query(
    `insert into experiment_units (experiment_id, version, arm, unit_key, first_at, sessions, would_see, revenue_micros,
      device)
    select $1, 1, (array['control', 'b'])[1 + n % 2], gen_random_uuid(), now(), 1, 1, 1000000 * (n % 5), 'mobile'
    from generate_series(1, 900) n`,
    [rows[0].id],
  );
  for (const ago of [2, 1]) await recordPoints(t.pool, t.deps.now() - ago * 86_400_000);
  const page = await open('analyst', '/experiments/read');
  await page.getByText('Variant b compared with control: revenue per 1,000 sessions').waitFor();
  await page.locator('[data-chart] canvas').waitFor();
  await page.getByRole('link', { name: 'Device' }).click();
  await page.getByText('If you compare many segments, some differences are due to chance.').waitFor();
  await page.getByText('This interval is correct with a probability of 95%.').waitFor();
  expect(await violations(page)).toEqual([]);
});

/** Presses Tab until the control has focus. Fails if it is never reached, because keyboard users could not use it. */
async function tabTo(page: Page, selector: string): Promise<void> {
  for (let presses = 0; presses < 150; presses += 1) {
    if (await page.evaluate((target) => document.activeElement?.matches(target) === true, selector)) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`Tab does not reach ${selector}`);
}

test('an experiment is created, started, read, ended and adopted by keyboard only', async () => {
  const page = await open('admin', '/experiments/new');
  const type = async (name: string, text: string): Promise<void> => {
    await tabTo(page, `[name="${name}"]`);
    await page.keyboard.press('Control+A');
    await page.keyboard.type(text);
  };
  await type('name', 'By keyboard');
  await type('key', 'keys');
  await type('arm1.key', 'one');
  await type('arm1.share', '50');
  await type('arm1.offers_per_response', '1');
  await page.getByText('50% of users get one offer.').first().waitFor();
  await page.keyboard.press('Enter');
  await page.waitForURL(/experiments\/keys/);
  await tabTo(page, 'form[action$="/start"] button');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor();
  await tabTo(page, 'dialog .button.main, dialog button[value="confirm"]');
  await page.keyboard.press('Enter');
  await page.getByText('Experiment started.').waitFor();
  await tabTo(page, '.tabs a[href*="population=all"]');
  await page.keyboard.press('Enter');
  await page.waitForURL(/population=all/);
  await tabTo(page, '.table[role="region"]');
  await tabTo(page, 'form[action$="/stop"] button');
  await page.keyboard.press('Enter');
  await page.getByText('Experiment stopped.').waitFor();
  await tabTo(page, 'form[action$="/adopt"] button');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor();
  await tabTo(page, 'dialog .button.main, dialog button[value="confirm"]');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Undo' }).first().waitFor();
  expect((await api.manage('GET', '/keys')).body.data).toMatchObject({ state: 'stopped', adopted: { arm: 'control' } });
});

test('unit texts have their own fields, and are saved together with other settings', async () => {
  const page = await open('admin', '/experiments/new');
  const field = (name: string) => page.locator(`[name="${name}"]`);
  await field('name').fill('Texts');
  await field('key').fill('texts');
  await field('arm1.key').fill('b');
  await field('arm1.share').fill('50');
  for (const summary of ['Unit texts', 'Advanced unit settings']) await page.getByText(summary).first().click();
  await field('arm1.labels.close').fill('Not now');
  await field('arm1.texts').fill('{"settings":{"delay":5}}');
  await save(page);
  await page.getByRole('button', { name: 'Start', exact: true }).waitFor();
  expect((await api.manage('GET', '/texts')).body.data.arms[1].changes).toEqual({
    settings: { delay: 5 },
    labels: { close: 'Not now' },
  });
  expect(await field('arm1.labels.close').inputValue()).toBe('Not now');
});

test('a running experiment is renamed without a new version, with a second arm that changes nothing', async () => {
  const arms = [
    { key: 'b', share: 0.3, changes: { offers_per_response: 1 } },
    { key: 'control', share: 0.3, changes: {} },
    { key: 'same', share: 0.3, changes: {} },
  ];
  await api.start({ key: 'runs', arms, placements: ['confirmation', 'not-seen-yet', 'cart'] });
  const page = await open('admin', '/experiments/runs');
  await page.locator('[name="name"]').fill('Renamed');
  await save(page);
  await page.getByText('Renamed saved.').waitFor();
  const { data } = (await api.manage('GET', '/runs')).body;
  expect([data.name, data.version, data.arms.length]).toEqual(['Renamed', 1, 3]);
  expect(data.placements.sort()).toEqual(['cart', 'confirmation', 'not-seen-yet']);
});

test('a variant with a share but no name is rejected with its input, and an empty variant is ignored', async () => {
  const page = await open('admin', '/experiments/new');
  const field = (name: string) => page.locator(`[name="${name}"]`);
  await field('key').fill('nameless');
  await field('arm1.share').fill('50');
  await field('arm1.offers_per_response').fill('1');
  await page.getByText('Advanced unit settings').first().click();
  await field('arm1.texts').fill('{"settings":');
  await page.getByText('50% of users get one offer, different texts or settings').waitFor();
  await expect.poll(() => page.locator('#plan').innerText()).not.toMatch(/0, 1, 2/);
  await field('arm1.texts').fill('');
  await save(page);
  await page.locator('[name="arm1.key"][aria-invalid="true"]').waitFor();
  expect(await field('arm1.offers_per_response').inputValue()).toBe('1');
  await field('arm1.key').fill('one');
  await save(page);
  await page.getByText('nameless saved.').waitFor();
  for (const name of ['arm1.key', 'arm1.share']) await field(name).fill('');
  await save(page);
  await expect.poll(async () => (await api.manage('GET', '/nameless')).body.data.arms.length).toBe(1);
});

test('an unreliable report starts with a warning and the reason', async () => {
  await api.start({ key: 'wrong', arms: halves({}) });
  await t.pool.query(
    `insert into experiment_units (experiment_id, version, arm, unit_key, first_at, sessions, would_see, before_clicks)
    select e.id, 1, (array['control', 'b'])[1 + n % 2], gen_random_uuid(), now(), 1, 1, n / 2 % 7 + 3 * (n % 2)
    from experiments e, generate_series(1, 900) n`,
  );
  const page = await open('analyst', '/experiments/wrong');
  await page.getByText('Do not rely on these results').waitFor();
  await page.getByText('Users of b already differed from the control').waitFor();
});

test("scheduled start and end times use the publisher's time zone, and keep their seconds", async () => {
  await t.pool.query("update publishers set time_zone = 'Asia/Tokyo'");
  await t.deps.catalog.refresh();
  const page = await open('admin', '/experiments/new');
  const field = (name: string) => page.locator(`[name="${name}"]`);
  await field('name').fill('Later');
  await field('key').fill('later');
  await field('holdout').fill('10');
  await field('start_at').fill('2100-05-01T09:00');
  await field('end_at').fill('2100-04-01T09:00');
  await save(page);
  await page.getByText('The end must be after the start.').first().waitFor();
  await field('end_at').fill('2100-06-01T09:00');
  await save(page);
  await page.getByText('Version 1 scheduled').first().waitFor();
  const times = async () => {
    const { start_at, end_at, version } = (await api.manage('GET', '/later')).body.data;
    return [start_at, end_at, version];
  };
  expect(await times()).toEqual(['2100-05-01T00:00:00.000Z', '2100-06-01T00:00:00.000Z', 1]);
  await api.manage('PATCH', '/later', { start_at: '2100-05-01T00:00:30Z' });
  await page.reload();
  expect(await field('start_at').inputValue()).toBe('2100-05-01T09:00');
  await field('name').fill('Later on');
  await field('end_at').fill('');
  await save(page);
  await page.getByText('Later on saved.').waitFor();
  expect(await times()).toEqual(['2100-05-01T00:00:30.000Z', null, 2]);
});

test('an analyst can read reports, also in German, but cannot change anything', async () => {
  await api.start({ key: 'read', holdout: 0.5 });
  const page = await open('analyst', '/experiments/read', 'de-DE');
  await page.getByText('zu wenige Nutzer').first().waitFor();
  for (const name of ['Stoppen', 'dauerhaft']) expect(await page.getByRole('button', { name }).count(), name).toBe(0);
});
