import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { recordPoints } from '../../src/experiments/report/over-time.ts';
import { openAs, signInAs } from '../dashboard/support.ts';
import { violations } from '../support/axe.ts';
import { closeContexts, openBrowser } from '../support/browser.ts';
import { portOf } from '../support/request.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { addUsers, callsOf, collectAll } from './support.ts';

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

const save = (page: Page) => page.getByRole('button', { name: 'Save' }).first().click();

async function open(role: 'admin' | 'analyst', path: string, locale = 'en-GB'): Promise<Page> {
  const user = await signInAs(t, role);
  const base = `http://127.0.0.1:${await portOf(t.app)}`;
  return openAs(browser, user, base, `/dashboard/p/${t.publisher.id}${path}`, { locale });
}

/** Opens a section of the form for an existing experiment. */
const section = (page: Page, name: string) => page.locator('summary').filter({ hasText: name }).first().click();

test('a draft is edited in sections, and a section with an error opens by itself', async () => {
  await api.manage('POST', '', { key: 'one-offer', holdout: 0.1, arms: halves({ offers_per_response: 1 }).slice(1) });
  const page = await open('admin', '/experiments/one-offer');
  const field = (name: string) => page.locator(`[name="${name}"]`);
  await page.getByRole('heading', { name: 'Not started yet' }).waitFor();
  await page.getByText('The duration can’t be estimated yet').waitFor();
  expect(await field('name').isVisible()).toBe(false);
  await section(page, 'Name and placements');
  await field('name').fill('One offer instead of three');
  await section(page, 'Variants and shares');
  await field('control').fill('60');
  await page.getByText('Enter shares above 0 that add up to at most 100%').waitFor();
  await save(page);
  await page.getByText('add up to 120%').first().waitFor();
  await field('control').fill('40');
  await section(page, 'Duration and start');
  await field('smallest_lift').fill('3');
  await field('layer').fill('not a layer');
  await field('ramp').fill('0 10\n24 much');
  await save(page);
  await page.getByText('Line 2').first().waitFor();
  await page.locator('[name="layer"][aria-invalid="true"]').waitFor();
  expect(await field('control').isVisible()).toBe(false);
  await field('layer').fill('unit');
  await field('ramp').fill('0 10\n24 100');
  await save(page);
  await page.getByText('One offer instead of three saved.').waitFor();
  expect(await violations(page)).toEqual([]);
  expect((await api.manage('GET', '/one-offer')).body.data).toMatchObject({
    layer: 'unit',
    smallest_lift: 0.03,
    ramp: [
      { after_hours: 0, share: 0.1 },
      { after_hours: 24, share: 1 },
    ],
    arms: [
      { key: 'control', share: 0.4, changes: {} },
      { key: 'b', share: 0.5, changes: { offers_per_response: 1 } },
    ],
  });
});

test('a running experiment shows its state and headline first, and can be stopped', async () => {
  await api.start({ key: 'one-offer', arms: halves({ offers_per_response: 1 }) });
  for (let at = 0; at < 10; at += 1) await api.fetch({ pub_user_id: `page-${at}` });
  await collectAll(t);
  const page = await open('admin', '/experiments/one-offer');
  const verdict = page.locator('main .card').first().locator('.verdict');
  expect(await verdict.innerText()).toMatch(/^Running\s+Too early to say: 10 users so far\./);
  expect(await page.locator('#plan').count()).toBe(0);
  expect(await violations(page)).toEqual([]);
  await page.getByRole('button', { name: 'Stop', exact: true }).click();
  await page.getByText('Experiment stopped.').waitFor();
  await page.getByRole('heading', { name: 'Ended without a result after 10 users.' }).waitFor();
  await page.goto(page.url().replace('/one-offer', ''));
  await page.getByText('Stopped', { exact: true }).first().waitFor();
  await page.getByText('50% of users get one offer.').first().waitFor();
  expect(await violations(page)).toEqual([]);
});

test('no variant is called the best while there is no data, or data for only one variant', async () => {
  await api.start({ key: 'empty', arms: halves({ offers_per_response: 1 }) });
  const best = async () => {
    const page = await open('analyst', '/experiments/empty');
    await page.getByText('All metrics and outcomes').first().click();
    return page.locator('table:has(th:text-is("Probability to be best")) td:last-child').allInnerTexts();
  };
  expect(new Set(await best())).toEqual(new Set(['–']));
  await addUsers(t, 'empty', { control: [1, 2] });
  expect(new Set(await best())).toEqual(new Set(['–']));
  await addUsers(t, 'empty', { b: [0] });
  expect(await best()).toContain('>\u00a099%');
});

test('the remaining time is the same everywhere, and more than a year is not counted in days', async () => {
  await api.start({ key: 'slow', arms: halves({}) });
  await t.pool.query("update experiments set started_at = started_at - interval '9 days' where key = 'slow'");
  await t.pool.query(
    `update experiments set versions = jsonb_set(versions::jsonb, '{0,at}', to_jsonb(started_at)) where key = 'slow'`,
  );
  await addUsers(t, 'slow', { control: [1, 2, 3], b: [1, 2, 3] });
  const page = await open('admin', '/experiments/slow');
  const text = await page.locator('main').innerText();
  const tile = /Days left\s+(\d+)/.exec(text)?.[1];
  expect(tile).toBeDefined();
  expect(new Set([...text.matchAll(/(\d+) (?:more )?days?\b(?! left)/g)].map(([, days]) => days))).toEqual(
    new Set([tile]),
  );
  await api.manage('PATCH', '/slow', { smallest_lift: 0.001 });
  await page.reload();
  await page.getByText('> 365').waitFor();
  await page.getByText('it would take more than a year').first().waitFor();
});

test('an ended experiment has no Start button, and runs again with one click', async () => {
  await api.start({ key: 'over', arms: halves({ offers_per_response: 1 }) });
  await api.manage('POST', '', { key: 'missed', arms: halves({ floor: 1 }), end_at: '2020-01-01T00:00:00Z' });
  await t.pool.query("update experiments set end_at = now() - interval '1 minute' where key = 'over'");
  for (const [key, headline] of [
    ['over', 'Ended without a result, because no users took part.'],
    ['missed', 'The end time passed before the experiment was started.'],
  ] as const) {
    const page = await open('admin', `/experiments/${key}`);
    await page.getByRole('heading', { name: headline }).waitFor();
    expect(await page.getByRole('button', { name: 'Start', exact: true }).count()).toBe(0);
    await page.getByRole('button', { name: 'Run again' }).click();
    await page.getByRole('dialog').getByText('the end time is removed').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Run again' }).click();
    await page.getByText('Experiment started.').waitFor();
    expect((await api.manage('GET', `/${key}`)).body.data).toMatchObject({ state: 'running', end_at: null });
  }
});

test('an admin adopts an arm after a confirmation and undoes it, and the history shows both', async () => {
  await api.start({ key: 'decide', placements: ['cart'], arms: halves({ offers_per_response: 1 }) });
  const page = await open('admin', '/experiments/decide');
  await page.getByRole('link', { name: 'Make b permanent' }).click();
  await page.getByText('There is no result yet that shows whether b is better.').waitFor();
  await page.getByText('There is not enough data for a decision yet.').waitFor();
  await page.getByText('all users at the placement cart get one offer').waitFor();
  expect(await violations(page)).toEqual([]);
  await page.getByRole('link', { name: 'Cancel' }).click();
  expect((await api.manage('GET', '/decide')).body.data).toMatchObject({ state: 'running', adopted: null });
  await page.getByRole('link', { name: 'Make b permanent' }).click();
  await page.getByRole('button', { name: 'Make b permanent' }).click();
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
  await page.getByText('Variant b compared with the control group: revenue per 1,000 sessions').waitFor();
  await page.locator('[data-chart] canvas').waitFor();
  await page.getByRole('link', { name: 'Device' }).click();
  await page.getByText('If you compare many segments, some differences are due to chance.').waitFor();
  await page.getByText('This interval is correct with a probability of 95%.').waitFor();
  expect(await violations(page)).toEqual([]);
});

test('a warning appears before a variant is made permanent that is probably not the best', async () => {
  await api.start({ key: 'worse', arms: halves({ offers_per_response: 1 }) });
  await addUsers(t, 'worse', { control: [2, 3, 4, 9], b: [2, 3, 4, 8] });
  const page = await open('admin', '/experiments/worse/adopt?arm=b');
  const warning = await page.locator('.notice.warn').innerText();
  expect(warning).toMatch(/The probability that b is the best variant is only \d+%\./);
  expect(await page.locator('.button.danger').innerText()).toBe('Make b permanent');
  const url = page.url().replace('?arm=b', '');
  for (const query of ['', '?arm=nobody', '?arm=holdout']) {
    await page.goto(url + query);
    expect(new URL(page.url()).pathname).toMatch(/\/worse$/);
  }
});

test('unit texts have their own fields, and are saved together with other settings', async () => {
  await api.manage('POST', '', { key: 'texts', arms: halves({ settings: { delay: 5 } }) });
  const page = await open('admin', '/experiments/texts');
  const field = (name: string) => page.locator(`[name="${name}"]`);
  await section(page, 'Variants and shares');
  await section(page, 'Unit text');
  await field('arm1.labels.close').fill('Not now');
  await save(page);
  await page.getByText('texts saved.').waitFor();
  expect((await api.manage('GET', '/texts')).body.data.arms[1].changes).toEqual({
    settings: { delay: 5 },
    labels: { close: 'Not now' },
  });
  expect(await field('arm1.labels.close').inputValue()).toBe('Not now');
});

test('a running experiment is renamed without a new version, with a second arm that changes nothing', async () => {
  const arms = [
    { key: 'b', share: 0.3, changes: { offers_per_response: 1 } },
    { key: 'base', share: 0.3, changes: {} },
    { key: 'same', share: 0.3, changes: {} },
  ];
  await api.start({ key: 'runs', arms, placements: ['confirmation', 'not-seen-yet', 'cart'] });
  const page = await open('admin', '/experiments/runs');
  await section(page, 'Name and placements');
  await page.locator('[name="name"]').fill('Renamed');
  await save(page);
  await page.getByText('Renamed saved.').waitFor();
  const { data } = (await api.manage('GET', '/runs')).body;
  expect([data.name, data.version, data.arms.length]).toEqual(['Renamed', 1, 3]);
  expect(data.placements.sort()).toEqual(['cart', 'confirmation', 'not-seen-yet']);
});

test('a variant with a share but no key is rejected with its input, and an empty variant is ignored', async () => {
  await api.manage('POST', '', { key: 'nameless', arms: halves({ offers_per_response: 1 }) });
  const page = await open('admin', '/experiments/nameless');
  const field = (name: string) => page.locator(`[name="${name}"]`);
  await section(page, 'Variants and shares');
  await field('arm1.key').fill('');
  await section(page, 'Advanced unit settings');
  await field('arm1.texts').fill('{"settings":');
  await page.getByText('50% of users get one offer, different wording or settings').waitFor();
  await expect.poll(() => page.locator('#plan').innerText()).not.toMatch(/0, 1, 2/);
  await field('arm1.texts').fill('{"settings": {"show_close": false, "screen_margin": 8}}');
  await page.getByText('different wording or settings (Show close button, screen margin)').waitFor();
  await field('arm1.texts').fill('');
  await save(page);
  await page.locator('[name="arm1.key"][aria-invalid="true"]').waitFor();
  expect(await field('arm1.offers_per_response').inputValue()).toBe('1');
  await field('arm1.key').fill('one');
  await save(page);
  await page.getByText('nameless saved.').waitFor();
  await section(page, 'Variants and shares');
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
  await api.manage('POST', '', { key: 'later', name: 'Later', holdout: 0.1 });
  const page = await open('admin', '/experiments/later');
  const field = (name: string) => page.locator(`[name="${name}"]`);
  await section(page, 'Duration and start');
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
  await section(page, 'Name and placements');
  await field('name').fill('Later on');
  await section(page, 'Duration and start');
  await field('end_at').fill('');
  await save(page);
  await page.getByText('Later on saved.').waitFor();
  expect(await times()).toEqual(['2100-05-01T00:00:30.000Z', null, 2]);
});

test('an analyst can read reports, also in German, but cannot change anything', async () => {
  await api.start({ key: 'read', holdout: 0.5 });
  const page = await open('analyst', '/experiments/read', 'de-DE');
  await page.getByText('Noch keine Aussage möglich').first().waitFor();
  expect(await page.getByRole('button', { name: 'Stoppen' }).count()).toBe(0);
  expect(await page.getByRole('link', { name: 'dauerhaft' }).count()).toBe(0);
});
