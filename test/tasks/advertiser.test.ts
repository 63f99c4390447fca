import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { advertisersOf, pathOf, type TestAdvertiser } from '../advertisers/support.ts';
import { drawStripes } from '../catalog/images/image-fixtures.ts';
import { openAs, signInAs } from '../dashboard/support.ts';
import { violations } from '../support/axe.ts';
import { closeContexts, openBrowser } from '../support/browser.ts';
import { countEffort } from '../support/effort.ts';
import { startTestJobs } from '../support/jobs.ts';
import { type MailServer, startMailServer } from '../support/mail-server.ts';
import { openFromNavigation } from '../support/main-navigation.ts';
import { freePort } from '../support/server-process.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { timeLimit } from '../support/time-limit.ts';
import { fetchOffers } from '../tracking/journey.ts';
import { until } from '../webhooks/dispatcher/support.ts';

let t: TestApp;
let server: MailServer;
let browser: Browser;
let base: string;
let advertiser: TestAdvertiser;
let jobs: Awaited<ReturnType<typeof startTestJobs>>;
beforeAll(async () => {
  server = await startMailServer();
  const { mail } = server;
  const port = await freePort();
  base = `http://127.0.0.1:${port}`;
  t = await createTestApp({ config: { mail, publicUrl: base }, scripts: true });
  await t.app.listen({ port, host: '127.0.0.1' });
  browser = await openBrowser();
  [advertiser] = (await advertisersOf(t, 1)) as [TestAdvertiser];
  jobs = await startTestJobs(t, 'operational events', 'alert messages', 'draft mails');
});
afterAll(async () => {
  await closeContexts(browser);
  await jobs?.stop();
  await t?.close();
  await server?.close();
});

const mailsTo = (email: string): string[] =>
  server.mails.filter(({ to }) => to.includes(email)).map(({ text }) => text);

/** Sends the e-mails about decisions now, instead of a minute later. */
const skipDelay = () => t.pool.query('update draft_mails set next_attempt_at = now()');

/** Leaves the new offer as the only one that can be shown. */
const pauseOthers = async (title: string) => {
  await t.pool.query('update offers set active = title = $1', [title]);
  await t.deps.catalog.refresh();
};

test(
  'an advertiser proposes an offer with an image, changes it as the publisher asks, and users see it',
  async () => {
    const admin = await signInAs(t, 'admin');
    const { user } = advertiser;
    const nameOfDrafts = (count: number) => new RegExp(`^Drafts ${count} `);

    // The advertiser proposes an offer. The preview shows it while it is written.
    const theirs = await openAs(browser, user, base, pathOf(advertiser, `/campaigns/${advertiser.campaign}`));
    const effortOfAdvertiser = await countEffort(theirs);
    await theirs.getByRole('link', { name: 'Propose offer' }).click();
    await theirs.getByLabel('Headline', { exact: true }).fill('Two months free');
    await theirs.getByLabel('Description', { exact: true }).fill('Listen without ads.');
    await theirs.frameLocator('#preview iframe').getByText('Two months free').first().waitFor();
    await theirs.getByLabel('Image', { exact: true }).setInputFiles({
      name: 'stripes.png',
      mimeType: 'image/png',
      buffer: await drawStripes(60, 30),
    });
    await theirs.frameLocator('#preview iframe').locator('img[src^="data:image/png"]').waitFor();
    expect(await violations(theirs)).toEqual([]);
    await theirs.getByRole('button', { name: 'Propose', exact: true }).click();
    await theirs.getByText('Proposed. The change goes live after approval.').waitFor();

    // The admin gets an e-mail and a badge, and refuses the draft with a reason.
    await until(() => mailsTo(admin.email).length, 1);
    expect(mailsTo(admin.email)[0]).toContain('Two months free');
    const ours = await openAs(browser, admin, base, `/dashboard/p/${t.publisher.id}/overview`);
    const effortOfAdmin = await countEffort(ours);
    await ours.locator('nav a', { hasText: /^\s*Drafts\s+1/ }).waitFor({ state: 'attached' });
    await openFromNavigation(ours, 'Drafts');
    await ours.getByRole('link', { name: 'Two months free' }).click();
    await ours.locator('img.draft-image').waitFor();
    await ours.frameLocator('#preview iframe').locator('img[src*="/picture"]').waitFor();
    expect(await violations(ours)).toEqual([]);
    await ours.getByLabel('Reason').fill('One month, please.');
    await ours.getByRole('button', { name: 'Reject' }).click();
    await ours.getByText('Draft rejected.').waitFor();

    // The advertiser reads the reason in an e-mail and on the page, and proposes the draft again with its image.
    await skipDelay();
    await until(() => mailsTo(user.email).length, 1);
    expect(mailsTo(user.email)[0]).toContain('One month, please.');
    await theirs.goto(base + pathOf(advertiser));
    await theirs.getByRole('link', { name: nameOfDrafts(1) }).click();
    await theirs.getByRole('link', { name: 'Two months free' }).click();
    await theirs.getByText('One month, please.').waitFor();
    await theirs.getByRole('link', { name: 'Edit and propose again' }).click();
    await theirs.locator('.kept-image img').waitFor();
    await theirs.getByLabel('Headline', { exact: true }).fill('One month free');
    expect(await violations(theirs)).toEqual([]);
    await theirs.getByRole('button', { name: 'Propose again' }).click();
    await theirs.getByText('Proposed. The change goes live after approval.').waitFor();

    // The admin is told again, sees what has changed, and approves the draft.
    await until(() => mailsTo(admin.email).length, 2);
    await ours.goto(`${base}/dashboard/p/${t.publisher.id}/drafts`);
    await ours.getByRole('link', { name: 'One month free' }).click();
    await ours.getByRole('row', { name: /Headline Changed since/ }).waitFor();
    await ours.getByRole('button', { name: 'Approve' }).click();
    await ours.getByText('Draft approved. The change is live.').waitFor();
    await skipDelay();
    await until(() => mailsTo(user.email).length, 2);
    expect(mailsTo(user.email)[1]).toContain('“One month free” was approved and is live.');

    // Users see the offer with its image.
    await pauseOthers('One month free');
    const { offers } = await fetchOffers(t);
    const [offer] = offers as unknown as { title: string; creatives: { url: string; width: number }[] }[];
    expect(offer?.title).toBe('One month free');
    const image = await fetch(offer?.creatives[0]?.url ?? '');
    expect([image.status, offer?.creatives[0]?.width]).toEqual([200, 60]);
    expect([effortOfAdvertiser(), effortOfAdmin()]).toEqual([
      { pages: 7, filled: 4, visible: 30 },
      { pages: 5, filled: 1, visible: 2 },
    ]);
  },
  timeLimit(120_000),
);
