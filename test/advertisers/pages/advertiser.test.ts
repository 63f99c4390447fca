import { afterAll, beforeAll, expect, test } from 'vitest';
import { openAs, signInAs } from '../../dashboard/support.ts';
import { type DemoServer, startDemoServer } from '../../demo/support.ts';
import { violations } from '../../support/axe.ts';
import { closeContexts, openBrowser } from '../../support/browser.ts';
import { advertisersOf, pathOf, type TestAdvertiser } from '../support.ts';

let demo: DemoServer;
let browser: Awaited<ReturnType<typeof openBrowser>>;
let advertiser: TestAdvertiser;
beforeAll(async () => {
  demo = await startDemoServer('rollup');
  browser = await openBrowser();
  [advertiser] = (await advertisersOf(demo.t, 1)) as [TestAdvertiser];
});
afterAll(async () => {
  await closeContexts(browser);
  await demo?.close();
});

const titleIn = async (): Promise<string> =>
  (await demo.t.pool.query('select title from offers where id = $1', [advertiser.offer])).rows[0].title;

test('an advertiser proposes a change, which the publisher refuses with a reason and then approves', async () => {
  const before = await titleIn();
  const theirs = await openAs(browser, advertiser.user, demo.url, pathOf(advertiser, `/offers/${advertiser.offer}`));
  await theirs.getByLabel('Headline', { exact: true }).fill('Two months free');
  await theirs.getByRole('button', { name: 'Propose', exact: true }).click();
  await theirs.getByText('The change goes live after approval').first().waitFor();
  expect(await violations(theirs)).toEqual([]);

  const drafts = `/dashboard/p/${demo.t.publisher.id}/drafts`;
  const ours = await openAs(browser, await signInAs(demo.t, 'admin'), demo.url, drafts);
  await ours.getByRole('link', { name: 'Two months free' }).click();
  await ours.getByText(before).first().waitFor();
  expect(await violations(ours)).toEqual([]);
  await ours.getByLabel('Reason').fill('One month, please.');
  await ours.getByRole('button', { name: 'Reject' }).click();
  await ours.getByText('Draft rejected.').waitFor();
  expect(await titleIn()).toBe(before);

  await theirs.reload();
  await theirs.getByText('One month, please.').waitFor();
  await theirs.getByRole('link', { name: 'Edit and propose again' }).click();
  await theirs.getByLabel('Headline', { exact: true }).fill('One month free');
  await theirs.getByRole('button', { name: 'Propose again' }).click();
  await theirs.getByText('The change goes live after approval').first().waitFor();

  await ours.goto(demo.url + drafts);
  await ours.getByRole('link', { name: 'One month free' }).click();
  await ours.getByRole('button', { name: 'Approve' }).click();
  await ours.getByText('Draft approved. The change is live.').waitFor();
  expect(await titleIn()).toBe('One month free');
  await ours.getByRole('button', { name: 'Undo' }).click();
  await ours.getByText('Decision undone.').first().waitFor();
  expect(await titleIn()).toBe(before);
});

test.each([
  ['cps', 8, '8% CPS'],
  ['cpa', 12, 'US$12.00 CPA'],
])('an advertiser sees the %s payout in the same format as in campaign lists', async (kind, amount, text) => {
  await demo.t.pool.query('update campaigns set payout_kind = $2, payout_amount = $3 where id = $1', [
    advertiser.campaign,
    kind,
    amount,
  ]);
  const { body } = await advertiser.user.get(pathOf(advertiser, `/campaigns/${advertiser.campaign}`));
  expect(body.replaceAll('\u00a0', ' ')).toContain(text);
});

test('each tracking tag states the page that it belongs on', async () => {
  const { body } = await advertiser.user.get(pathOf(advertiser, '/tracking'));
  expect(body.replaceAll(/aria-label="[^"]*"/g, '')).toContain('Tag for the order confirmation page');
});

test.each([
  ['en-GB', 'Download CSV'],
  ['de-DE', 'CSV herunterladen'],
] as const)('an advertiser with locale %s reads a report on its own campaigns', async (locale, csv) => {
  await demo.t.pool.query(
    `insert into rollups (publisher_id, grain, bucket, placement, offer_id, country, device, os, campaign_id, sessions,
      filled_sessions, impressions, clicks, no_thanks, closes, saves, selections, conversions, revenue_micros)
    select $1, 18, date_trunc('day', now() - interval '1 day', 'UTC'), '', o.id, '', '', '', o.campaign_id, 0, 0,
      case when o.id = $2 then 4321 else 98765 end, 0, 0, 0, 0, 0, 0, 0
    from offers o join campaigns c on c.id = o.campaign_id
    where o.id = $2 or c.advertiser_id <> $3
    on conflict do nothing`,
    [demo.t.publisher.id, advertiser.offer, advertiser.id],
  );
  const page = await openAs(browser, advertiser.user, demo.url, pathOf(advertiser, '/reports'), { locale });
  await page.getByRole('columnheader', { name: 'Impressions' }).waitFor();
  await page.getByText(/4[.,]321/).waitFor();
  expect(await page.getByText(/98[.,]765/).count()).toBe(0);
  await page.getByRole('link', { name: csv }).waitFor();
  expect(await violations(page)).toEqual([]);
});
