import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

/** Evaluated, not loaded: the pages' policies allow no script of others. */
const script = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

type Scope = {
  /** Rules to check. Default: all. */
  rules?: readonly string[] | undefined;
  /** Selectors of elements to leave out. */
  without?: readonly string[];
};

/** Rules of accessibility that the page breaks, shadow roots included: the rule, the element and the correction. */
export async function violations(page: Page, { rules, without = [] }: Scope = {}): Promise<string[]> {
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(script);
  // Only violations are described: on a long page, describing what passes takes longer than the rules.
  const options = { resultTypes: ['violations'], ...(rules && { runOnly: rules }) };
  const context = without.length === 0 ? 'document' : JSON.stringify({ exclude: without });
  return page.evaluate(`axe.run(${context}, ${JSON.stringify(options)}).then(({ violations }) =>
    violations.flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => id + ' ' + target.join(' ') + ': ' + (failureSummary ?? ''))))`);
}
