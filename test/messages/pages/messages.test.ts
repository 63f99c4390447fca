import { afterAll, beforeAll, expect, test } from 'vitest';
import { csrfTokenOf } from '../../../src/accounts/access.ts';
import { openAs, postForm, signInAs } from '../../dashboard/support.ts';
import { violations } from '../../support/axe.ts';
import { closeContexts, openBrowser } from '../../support/browser.ts';
import { startTestJobs } from '../../support/jobs.ts';
import { freePort } from '../../support/server-process.ts';
import { openMailServer } from '../../support/smtp-server.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { messageCalls } from '../support.ts';

let t: TestApp;
let smtp: Awaited<ReturnType<typeof openMailServer>>;
let job: Awaited<ReturnType<typeof startTestJobs>>;
let browser: Awaited<ReturnType<typeof openBrowser>>;
let base = '';
beforeAll(async () => {
  smtp = await openMailServer();
  const port = await freePort();
  base = `http://127.0.0.1:${port}`;
  t = await createTestApp({ config: { publicUrl: base, mail: smtp.mail } });
  await t.app.listen({ port, host: '127.0.0.1' });
  job = await startTestJobs(t, 'perk messages');
  browser = await openBrowser();
});
afterAll(async () => {
  await closeContexts(browser);
  await job?.stop();
  await t?.close();
  await smtp.close();
});

test.each([
  {
    locale: 'en-GB',
    enabled: 'Send perk messages',
    sender: 'Sender name',
    saved: 'Settings saved.',
    show: 'Show preview',
    sent: 'sent',
    again: 'Send again',
    address: 'E-mail address',
    suppress: 'Suppress',
    isSuppressed: 'rude@example.com is suppressed.',
  },
  {
    locale: 'de-DE',
    enabled: 'Perk-E-Mails senden',
    sender: 'Absendername',
    saved: 'Einstellungen gespeichert.',
    show: 'Vorschau anzeigen',
    sent: 'gesendet',
    again: 'Erneut senden',
    address: 'E-Mail-Adresse',
    suppress: 'Sperren',
    isSuppressed: 'rude@example.com ist gesperrt.',
  },
])('in $locale, an admin sets up messages, previews and tests one, and tracks sent messages', async (words) => {
  const admin = await signInAs(t, 'admin');
  const path = `/dashboard/p/${t.publisher.id}/settings/perk-messages`;
  const page = await openAs(browser, admin, base, path, { locale: words.locale });
  const calls = messageCalls(t);
  smtp.received.length = 0;

  await page.getByLabel(words.enabled).check();
  await page.getByLabel(words.sender).fill(`Perks ${words.locale}`);
  await page.locator(`form[action$="${path}"][method=post] button`).first().click();
  await page.getByText(words.saved).first().waitFor();
  expect((await calls.call('GET', '/settings')).json().data).toMatchObject({
    enabled: true,
    from_name: `Perks ${words.locale}`,
  });

  await page.locator('select[name=language]').selectOption('ar');
  await page.getByRole('button', { name: words.show, exact: true }).click();
  await page.waitForURL(/language=ar/);
  const mail = page.frameLocator('iframe.mail-preview');
  await mail.getByText('SAMPLE-2031').waitFor();
  expect(await mail.locator('html').getAttribute('dir')).toBe('rtl');
  expect(await violations(page)).toEqual([]);

  await page.getByRole('button', { name: admin.email }).click();
  await page.getByText(admin.email).first().waitFor();
  await expect.poll(() => smtp.received.map(({ to }) => to)).toEqual([admin.email]);
  expect(smtp.received[0]?.raw).toContain(`Perks ${words.locale}`);

  const reader = `reader-${words.locale.toLowerCase()}@example.com`;
  smtp.mood = 'is busy';
  const { id } = await calls.wrap(reader.replace('@example.com', ''), { consent: true, email: reader });
  // After the second attempt, the next one is minutes away. An earlier attempt must be caused by the button.
  await expect
    .poll(async () => Date.parse((await calls.logOf(id))?.next_attempt_at ?? '') - t.deps.now())
    .toBeGreaterThan(200_000);
  smtp.mood = 'takes';
  await page.goto(base + path);
  expect(await page.content()).not.toContain(reader);
  await page.getByRole('button', { name: words.again }).first().click();
  await calls.untilState(id, 'sent');
  await page.goto(base + path);
  await page.locator('table').getByText(words.sent, { exact: true }).first().waitFor();
  expect(smtp.received.filter(({ to }) => to === reader)).toHaveLength(1);

  await page.getByLabel(words.address).fill('rude@example.com');
  await page.getByRole('button', { name: words.suppress, exact: true }).click();
  await page.getByText(words.isSuppressed).first().waitFor();
});

test('shows an invalid address again as entered, with an error message', async () => {
  const admin = await signInAs(t, 'admin');
  const path = `/dashboard/p/${t.publisher.id}/settings/perk-messages/suppressions`;
  const headers = { cookie: admin.cookie, origin: base };
  const fields = { _csrf: csrfTokenOf(admin.cookie.split('=')[1] ?? ''), email: 'rude@', action: 'suppress' };
  const { statusCode, body } = await postForm(t, path, fields, headers);
  expect(statusCode, body).toBe(422);
  expect(body).toMatch(/name="email"[^>]*value="rude@"/);
  expect(body).toContain('The value must be a single e-mail address.');
});
