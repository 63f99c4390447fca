import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openAs, signInAs } from '../dashboard/support.ts';
import { addUsers, callsOf } from '../experiments/support.ts';
import { violations } from '../support/axe.ts';
import { closeContexts, openBrowser } from '../support/browser.ts';
import { countEffort } from '../support/effort.ts';
import { openFromNavigation } from '../support/main-navigation.ts';
import { portOf } from '../support/request.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { timeLimit } from '../support/time-limit.ts';

let t: TestApp;
let api: ReturnType<typeof callsOf>;
let browser: Browser;
beforeAll(async () => {
  t = await createTestApp();
  api = callsOf(t);
  browser = await openBrowser();
});
afterAll(async () => {
  await closeContexts(browser);
  await t?.close();
});

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
const step = (page: Page, title: string) => page.getByRole('heading', { name: title }).waitFor();

test(
  'a marketer creates an experiment, starts it, reads its result and makes a variant permanent',
  async () => {
    const base = `http://127.0.0.1:${await portOf(t.app)}`;
    const page = await openAs(browser, await signInAs(t, 'admin'), base, `/dashboard/p/${t.publisher.id}/overview`);
    const effort = await countEffort(page);

    // Pages 1 to 5: the list, and the steps of the wizard.
    await openFromNavigation(page, 'Experiments');
    await page.getByRole('link', { name: 'Add experiment' }).first().click();

    await step(page, 'What do you want to learn?');
    await page.getByRole('radio', { name: /How many offers should users see/ }).check();
    await page.getByLabel('Name', { exact: true }).fill('One offer instead of three');
    expect(await violations(page)).toEqual([]);
    await press(page, 'Next');

    await step(page, 'What do users see?');
    await page.getByLabel('Variant name').first().fill('One offer');
    await page.getByLabel('Number of offers').first().fill('1');
    expect(await violations(page)).toEqual([]);
    await press(page, 'Next');

    await step(page, 'Who takes part, and for how long?');
    await page.getByLabel('Users who take part (%)').fill('80');
    await page.getByText('40% of users get one offer.').waitFor();
    await page.getByText('The duration can’t be estimated yet').waitFor();
    expect(await violations(page)).toEqual([]);
    await press(page, 'Next');

    await step(page, 'Is this what you want?');
    await page.getByText('40% of users see the unit without changes. 40% of users get one offer.').waitFor();
    await page.getByText('The other 20% of users do not take part').waitFor();
    await page.getByText('groups by revenue per session. The duration can’t be estimated yet').waitFor();
    expect(await violations(page)).toEqual([]);
    await press(page, 'Start the experiment');

    // Page 6: the experiment, with its result in one sentence.
    await page.getByText('Experiment started.').waitFor();
    await step(page, 'Too early to say: no users have taken part yet.');
    expect((await api.manage('GET', '/one-offer-instead-of-three')).body.data).toMatchObject({
      name: 'One offer instead of three',
      state: 'running',
      placements: null,
      smallest_lift: 0.05,
      arms: [
        { key: 'control', share: 0.4, changes: {} },
        { key: 'one-offer', share: 0.4, changes: { offers_per_response: 1 } },
      ],
    });

    await addUsers(t, 'one-offer-instead-of-three', { control: [0, 1, 2], 'one-offer': [1, 2, 3] });
    await page.reload();
    await step(page, 'Variant one-offer earns 100.0% more per session than the control group (> 99% sure).');
    expect(await violations(page)).toEqual([]);

    // Pages 7 and 8: the variant becomes permanent, which can be undone.
    await page.getByRole('link', { name: 'Make one-offer permanent' }).click();

    await step(page, 'Make “one-offer” permanent?');
    await page.getByText('all users at all placements get one offer').waitFor();
    expect(await page.locator('.notice.warn').count()).toBe(0);
    expect(await violations(page)).toEqual([]);
    await press(page, 'Make one-offer permanent');
    await page.getByText('one-offer is now permanent, and the experiment has stopped.').waitFor();
    expect((await api.call('GET', '/manage/v1/placements/checkout')).body.data.offers_per_response).toBe(1);
    await page.getByRole('button', { name: 'Undo' }).first().click();
    await page.getByText('The previous settings are active again.').waitFor();
    expect(effort()).toEqual({ pages: 8, filled: 4, visible: 7 });
  },
  timeLimit(120_000),
);
