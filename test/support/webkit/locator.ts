import type { Locator, Page } from 'playwright-core';
import { type ElementRef, orCannot, type Window, waitLimitMs } from './page.ts';

/** One step of a locator (find.js). */
type Step = Record<string, unknown>;

type TextOptions = { name?: string | RegExp; hasText?: string | RegExp; exact?: boolean; level?: number };

/** Converts a string or pattern to a value that can be passed to the page. */
const portable = (text: string | RegExp | undefined): unknown =>
  text instanceof RegExp ? { source: text.source, flags: text.flags } : text;

const elementKey = 'element-6066-11e4-a52e-4f735466cecf';

export const createLocators = (
  window: Window,
  steps: readonly Step[] = [],
): Pick<Page, 'locator' | 'getByRole' | 'getByText'> => ({
  locator: (css: string, { hasText }: TextOptions = {}) =>
    createLocator(window, [...steps, { css }, ...(hasText === undefined ? [] : [{ hasText: portable(hasText) }])]),
  getByRole: (role: string, { name, exact, level }: TextOptions = {}) =>
    createLocator(window, [...steps, { role, name: portable(name), exact, level }]),
  getByText: (text: string | RegExp, { exact }: TextOptions = {}) =>
    createLocator(window, [...steps, { text: portable(text), exact }]),
});

/** Implements the part of Playwright's `Locator` that the SDK tests use. */
function createLocator(window: Window, steps: readonly Step[]): Locator {
  const { run, call } = window;
  const locators = createLocators(window, steps);
  const nth = (index: number): Locator => createLocator(window, [...steps, { nth: index }]);
  const count = () => run<number>('(steps) => find(steps).length', steps);
  const read = async <Value>(body: string): Promise<Value> => {
    await waitFor({ state: 'attached' });
    return run<Value>(`(steps) => { const element = find(steps)[0]; return ${body}; }`, steps);
  };

  async function waitFor({ state = 'visible' }: { state?: string } = {}): Promise<void> {
    const visible = "getComputedStyle(one).visibility === 'visible' && one.getClientRects().length > 0";
    const endMs = performance.now() + waitLimitMs;
    for (;;) {
      const [matchCount = 0, visibleCount = 0] = await run<[number, number]>(
        `(steps) => { const found = find(steps); return [found.length, found.filter((one) => ${visible}).length]; }`,
        steps,
      );
      const stateChecks = {
        attached: matchCount > 0,
        detached: matchCount === 0,
        visible: visibleCount > 0,
        hidden: visibleCount === 0,
      };
      if (stateChecks[state as keyof typeof stateChecks]) return;
      if (performance.now() > endMs) throw new Error(`waited in vain for ${JSON.stringify(steps)} to be ${state}`);
    }
  }

  /** Returns the only matching element, scrolled into view. */
  async function element(): Promise<string> {
    await waitFor();
    const elements = await run<ElementRef[]>(
      "(steps) => { const found = find(steps); found[0]?.scrollIntoView({ block: 'nearest' }); return found; }",
      steps,
    );
    if (elements.length !== 1) throw new Error(`${JSON.stringify(steps)} are ${elements.length} elements`);
    return elements[0]?.[elementKey] as string;
  }

  const click = async (): Promise<unknown> => call('POST', `/element/${await element()}/click`);
  const isChecked = () => read<boolean>('element.checked');
  const setChecked = async (checked: boolean): Promise<void> => {
    if ((await isChecked()) !== checked) await click();
  };

  const locator = {
    ...locators,
    nth,
    first: () => nth(0),
    last: () => nth(-1),
    all: async () => Array.from({ length: await count() }, (_one, index) => nth(index)),
    boundingBox: () => read<object>('element.getBoundingClientRect().toJSON()'),
    filter: ({ hasText }: TextOptions) => createLocator(window, [...steps, { hasText: portable(hasText) }]),
    count,
    waitFor,
    click,
    isChecked,
    check: () => setChecked(true),
    uncheck: () => setChecked(false),
    isDisabled: () => read<boolean>("element.matches(':disabled')"),
    isEnabled: () => read<boolean>("!element.matches(':disabled')"),
    isVisible: async () =>
      (await count()) > 0 && (await run<boolean>('(steps) => find(steps)[0].getClientRects().length > 0', steps)),
    textContent: () => read<string>('element.textContent'),
    innerText: () => read<string>('element.innerText'),
    inputValue: () => read<string>('element.value'),
    getAttribute: (name: string) => read<string | null>(`element.getAttribute(${JSON.stringify(name)})`),
    allTextContents: () => run<string[]>('(steps) => find(steps).map((element) => element.textContent)', steps),
    focus: () => read<void>('element.focus()'),
    scrollIntoViewIfNeeded: () => read<void>("element.scrollIntoView({ block: 'center' })"),
    evaluate: (pageFunction: unknown, argument?: unknown) =>
      run(`(steps, argument) => (${pageFunction})(find(steps)[0], argument)`, steps, argument),
    evaluateAll: (pageFunction: unknown, argument?: unknown) =>
      run(`(steps, argument) => (${pageFunction})(find(steps), argument)`, steps, argument),
    fill: async (text: string) => {
      const id = await element();
      await call('POST', `/element/${id}/clear`);
      if (text !== '') await call('POST', `/element/${id}/value`, { text });
    },
    press: async (key: string) => {
      await read<void>('element.focus()');
      await call('POST', `/element/${await element()}/value`, { text: key === 'Enter' ? '\uE007' : key });
    },
  };
  return orCannot(locator) as unknown as Locator;
}
