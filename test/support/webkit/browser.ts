import type { Browser } from 'playwright-core';
import { createPage, openWindow, orCannot, waitLimitMs } from './page.ts';
import { startDriver } from './session.ts';

/**
 * Launches WebKit through WebDriver, with the part of Playwright's API that the SDK tests use. Only its most recent
 * context is open.
 */
export async function launchWebkit(): Promise<Browser> {
  const driver = await startDriver();

  async function newContext() {
    const session = await driver.newSession();
    const current = { handle: (await session.call('GET', '/window')) as string };
    const handles = () => session.call('GET', '/window/handles') as Promise<string[]>;
    const knownHandles = new Set(await handles());
    let unused: string | null = current.handle;

    /** Waits for a window that a page opened. */
    const waitForPage = async () => {
      const endMs = performance.now() + waitLimitMs;
      for (;;) {
        const handle = (await handles()).find((candidate) => !knownHandles.has(candidate));
        if (handle !== undefined) return pageOf(handle);
        if (performance.now() > endMs) throw new Error('no window was opened');
      }
    };
    const pageOf = (handle: string) => {
      knownHandles.add(handle);
      return createPage(openWindow(session, handle, current), driver.network, context, waitForPage);
    };
    const newPage = async () => {
      const handle =
        unused ?? ((await session.call('POST', '/window/new', { type: 'window' })) as { handle: string }).handle;
      unused = null;
      return pageOf(handle);
    };
    const { route, expose, addScript } = driver.network;
    const context: object = orCannot({
      newPage,
      route: async (pattern: string, handler: () => unknown) => route(pattern, handler),
      exposeFunction: async (name: string, call: () => unknown) => expose(name, call),
      addInitScript: async (script: string) => addScript(script),
      waitForEvent: waitForPage,
      /** Returns a promise, unlike Playwright. */
      pages: handles,
      setDefaultTimeout: () => {},
      close: session.end,
    });
    return context;
  }

  const contexts = () => [{ close: driver.endSession }];
  return { newContext, contexts, close: driver.close } as unknown as Browser;
}
