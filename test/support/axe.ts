import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

/** The script is evaluated instead of loaded, because the pages' policies don't allow third-party scripts. */
const script = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

type Scope = {
  /** Rules to check. Default: all. */
  rules?: readonly string[] | undefined;
  /** Selectors of elements to exclude. */
  without?: readonly string[];
};

/**
 * Returns the accessibility rules that a page violates, including its shadow roots, with the rule, the element and the
 * fix.
 */
export async function violations(page: Page, { rules, without = [] }: Scope = {}): Promise<string[]> {
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(script);
  // Only request details of violations. On a long page, describing the passed rules takes longer than checking them.
  const options = { resultTypes: ['violations'], ...(rules && { runOnly: rules }) };
  const context = without.length === 0 ? 'document' : JSON.stringify({ exclude: without });
  return page.evaluate(`axe.run(${context}, ${JSON.stringify(options)}).then(({ violations }) =>
    violations.flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => id + ' ' + target.join(' ') + ': ' + (failureSummary ?? ''))))`);
}
