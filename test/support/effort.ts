import type { Page } from 'playwright-core';

/** Number of pages that a task opens, of fields that it fills in, and of fields in the forms that it submits. */
export type Effort = { pages: number; filled: number; visible: number };

const binding = 'recordFields';

/** Reports the fields that a user changes, and those that are visible in a form when it is submitted. */
function reportFields(name: string): void {
  const send = (kind: keyof Effort, fields: readonly Element[]): void => {
    const report = (globalThis as unknown as Record<string, (kind: string, fields: string[]) => void>)[name];
    const names = fields.map((field) => `${location.pathname}#${field.getAttribute('name')}`);
    report?.(kind, names);
  };
  const isField = (target: EventTarget | null): target is HTMLElement =>
    target instanceof HTMLElement && target.matches('main :is(input, select, textarea)[name]:not([type=hidden])');
  // A picker hides its field and shows its own controls instead.
  const isVisible = (field: HTMLElement): boolean => ((field.hidden && field.parentElement) || field).checkVisibility();
  for (const type of ['input', 'change'])
    document.addEventListener(type, ({ target }) => isField(target) && send('filled', [target]), true);
  document.addEventListener(
    'submit',
    ({ target }) => {
      if (target instanceof HTMLFormElement) send('visible', [...target.elements].filter(isField).filter(isVisible));
    },
    true,
  );
}

/** Returns the URL path of a page. Each step of a wizard is a page of its own. */
function pageOf(url: string): string {
  const { pathname, searchParams } = new URL(url);
  return `${pathname}?${searchParams.get('step') ?? ''}`;
}

/**
 * Counts the pages and fields that a task takes from now on. A page counts each time it is opened from another page. A
 * group of choices is one field, and so is a field that is filled in twice.
 */
export async function countEffort(page: Page): Promise<() => Effort> {
  const fields = { filled: new Set<string>(), visible: new Set<string>() };
  let current = pageOf(page.url());
  let pages = 0;
  page.on('framenavigated', (frame) => {
    if (frame !== page.mainFrame() || pageOf(frame.url()) === current) return;
    current = pageOf(frame.url());
    pages += 1;
  });
  await page.exposeFunction(binding, (kind: keyof typeof fields, names: string[]) => {
    for (const name of names) fields[kind].add(name);
  });
  await page.addInitScript(reportFields, binding);
  await page.evaluate(reportFields, binding);
  return () => ({ pages, filled: fields.filled.size, visible: fields.visible.size });
}
