import type { Page } from 'playwright-core';

/**
 * Opens a page from the dashboard's main navigation, in English: enters or leaves the settings if necessary, and
 * expands the group of the page.
 */
export async function openFromNavigation(page: Page, name: string): Promise<void> {
  const navigation = page.getByRole('navigation', { name: 'Main' });
  const entry = page.locator('a', { hasText: new RegExp(`^\\s*${name}(\\s+\\d|\\s*$)`) });
  const link = navigation.locator(entry);
  if ((await link.count()) === 0) {
    const back = navigation.locator('a.back');
    await ((await back.count()) > 0 ? back : navigation.getByRole('link', { name: 'Settings' })).click();
    await link.waitFor({ state: 'attached' });
  }
  if (!(await link.isVisible())) await navigation.locator('details', { has: entry }).locator('summary').click();
  await link.click();
}
