import { readFileSync } from 'node:fs';
import { createLocators } from './locator.ts';
import type { Network } from './network.ts';
import type { Session } from './session.ts';

const findSource = readFileSync(new URL('./find.js', import.meta.url), 'utf8').replace('export ', '');

/** Timeout of every wait, in milliseconds. It only ends tests that hang. */
export const waitLimitMs = 60_000;

/** WebDriver's reference to an element. */
export type ElementRef = Record<string, string>;

/** One window of a WebDriver session. */
export type Window = {
  /** Runs the text of a function in the page, with `find` in scope, and awaits promises. */
  run: <Value>(functionText: string, ...args: unknown[]) => Promise<Value>;
  /** Calls WebDriver for this window. */
  call: Session['call'];
};

export function openWindow(session: Session, handle: string, current: { handle: string }): Window {
  const call: Session['call'] = async (method, path, body) => {
    if (current.handle !== handle) await session.call('POST', '/window', { handle });
    current.handle = handle;
    return session.call(method, path, body);
  };
  const run = async <Value>(functionText: string, ...args: unknown[]): Promise<Value> => {
    const script = `const done = arguments[arguments.length - 1];
${findSource}
Promise.resolve().then(() => (${functionText})(...arguments[0]))
  .then((value) => done({ value }), (err) => done({ error: String(err) }));`;
    const { value, error } = (await call('POST', '/execute/async', { script, args: [args] })) as {
      value: Value;
      error?: string;
    };
    if (error !== undefined) throw new Error(`page: ${error}`);
    return value;
  };
  return { run, call };
}

/**
 * Throws an error for features that WebDriver lacks. Tests that need them are counted separately
 * (scripts/test-browsers.ts).
 */
const cannot = (what: string): never => {
  throw new Error(`WebDriver of WebKit cannot ${what}.`);
};

/** Wraps an object so that access to a missing member throws an error, which is counted separately. */
export const orCannot = <Target extends object>(target: Target): Target =>
  new Proxy(target, {
    get: (object, name) =>
      name in object || typeof name === 'symbol' || name === 'then'
        ? Reflect.get(object, name)
        : new Proxy(() => cannot(`do "${name}"`), { get: () => cannot(`do "${name}"`) }),
  });

const keys: Record<string, string> = { Tab: '\uE004', Enter: '\uE007', Escape: '\uE00C', Shift: '\uE008', Space: ' ' };

function isExpression(text: string): boolean {
  try {
    new Function(`(${text}\n)`);
    return true;
  } catch {
    return false;
  }
}

/** Implements the part of Playwright's `Page` that the SDK tests use. */
export function createPage(window: Window, network: Network, context: object, waitForPage: () => Promise<unknown>) {
  const { run, call } = window;
  const locators = createLocators(window);

  const press = async (combination: string): Promise<void> => {
    const values = combination.split('+').map((name) => keys[name] ?? name);
    const actions = [
      ...values.map((value) => ({ type: 'keyDown', value })),
      ...values.reverse().map((value) => ({ type: 'keyUp', value })),
    ];
    await call('POST', '/actions', { actions: [{ type: 'key', id: 'keyboard', actions }] });
  };

  return orCannot({
    ...locators,
    goto: (url: string) => call('POST', '/url', { url }),
    reload: () => call('POST', '/refresh'),
    /** Returns a promise, unlike Playwright. */
    url: () => call('GET', '/url'),
    textContent: (css: string) => locators.locator(css).textContent(),
    evaluate: (pageFunction: unknown, argument?: unknown) =>
      typeof pageFunction === 'function'
        ? run(String(pageFunction), argument)
        : isExpression(String(pageFunction))
          ? run(`() => { const value = (${pageFunction}\n); return typeof value === 'function' ? value() : value; }`)
          : run(`() => { ${pageFunction} }`),
    waitForFunction: async (pageFunction: unknown, argument?: unknown) => {
      const text = typeof pageFunction === 'function' ? String(pageFunction) : `() => (${pageFunction})`;
      const endMs = performance.now() + waitLimitMs;
      while (!(await run(text, argument))) if (performance.now() > endMs) throw new Error(`waited in vain for ${text}`);
    },
    waitForTimeout: (ms: number) => new Promise((resolve) => setTimeout(resolve, ms)),
    setViewportSize: async ({ width, height }: { width: number; height: number }) => {
      const resize = async (extra: [number, number]) =>
        call('POST', '/window/rect', { width: width + extra[0], height: height + extra[1] });
      await resize([0, 0]);
      const inner = await run<[number, number]>('() => [innerWidth, innerHeight]');
      await resize([width - inner[0], height - inner[1]]);
    },
    keyboard: { press },
    addScriptTag: ({ content }: { content?: string }) =>
      content === undefined ? cannot('load a script') : run(`() => { (0, eval)(${JSON.stringify(content)}); }`),
    emulateMedia: async ({ colorScheme }: { colorScheme?: string }) =>
      colorScheme === 'dark' ? cannot('be dark') : undefined,
    mouse: orCannot({
      wheel: (x: number, y: number) => run('([x, y]) => scrollBy(x, y)', [x, y]),
    }),
    setDefaultTimeout: () => {},
    route: async (...parameters: Parameters<Network['route']>) => network.route(...parameters),
    unroute: async (pattern: string) => network.unroute(pattern),
    /** Supports only `request`: page errors and console messages are not visible through WebDriver. */
    on: (event: string, listener: () => void) => event === 'request' && network.onRequest(listener),
    context: () => context,
    waitForEvent: waitForPage,
    close: () => call('DELETE', '/window'),
  });
}
