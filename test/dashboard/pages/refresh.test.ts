import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { closeContexts, openBrowser } from '../../support/browser.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { openAs, signInAs } from '../support.ts';

let t: TestApp;
let browser: Browser;
let base: string;
beforeAll(async () => {
  t = await createTestApp();
  base = await t.app.listen({ port: 0, host: '127.0.0.1' });
  browser = await openBrowser();
});
afterAll(async () => {
  await closeContexts(browser);
  await t?.close();
});

test.each([
  ['the setup steps', 'analyst', (): string => `/dashboard/p/${t.publisher.id}/overview`, '.checklist', 'a'],
  ['the system tables', 'operator', (): string => '/dashboard/operator/system', '#system', '.table'],
] as const)('%s are refreshed without losing keyboard focus', async (_what, role, path, refreshed, focused) => {
  const page = await openAs(browser, await signInAs(t, role), base, path());
  const control = page.locator(`${refreshed} ${focused}`).nth(1);
  const old = await page.locator(refreshed).elementHandle();
  await control.focus();
  await expect.poll(() => old?.evaluate((element) => element.isConnected)).toBe(false);
  await expect.poll(() => control.evaluate((element) => element === document.activeElement)).toBe(true);
});
