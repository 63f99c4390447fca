import { expect, test } from 'vitest';
import { isPublic, libraries, moduleOf } from './modules.ts';
import { sources } from './source.ts';

const isOwn = (path: string): boolean => path.startsWith('src/') || path.startsWith('packages/');
const files = [...sources.values()].filter(({ path }) => isOwn(path));

/** Files by path, each with the files that import it. */
const importers = new Map<string, Set<string>>();
for (const { path, imports } of files)
  for (const { target } of imports) importers.set(target, (importers.get(target) ?? new Set()).add(path));

const linesOf = (text: string): number => text.trimEnd().split('\n').length;

/** What is imported from below the top of another module's folder. */
const deep = [...importers].filter(
  ([target, by]) =>
    target.startsWith('src/') &&
    !isPublic(target) &&
    !(libraries as readonly string[]).includes(moduleOf(target)) &&
    [...by].some((path) => moduleOf(path) !== moduleOf(target)),
);

/** Files under 40 lines that one file imports: each would have to say why it stands alone. */
const tiny = files.filter(
  ({ path, text }) => importers.get(path)?.size === 1 && linesOf(text) < 40 && !path.endsWith('/module.ts'),
);

/** Parameters that take all that a module works with, instead of what they use. */
const whole = files.flatMap(({ path, text }) =>
  [...text.matchAll(/^.*[({,]\s*(?:deps|\{[^{}]*\})\??: (?:\w+Deps)\b(?!\s*&).*$/gm)]
    .filter(([line]) => /: (?:Platform|Catalog|Account|Offer|Tracking|Webhook|Endpoint)Deps\b/.test(line))
    .map(([line]) => `${path}: ${line.trim()}`),
);

/** Types cut out of others: the reader must look up what a function takes. */
const picks = files.flatMap(({ path, text }) =>
  path.startsWith('src/') ? [...text.matchAll(/^.*\bPick<.*$/gm)].map(([line]) => `${path}: ${line.trim()}`) : [],
);

type Measure = { what: string; now: number; limit: number; found: readonly string[] };

const show = (measures: readonly Measure[]): void =>
  console.table(Object.fromEntries(measures.map(({ what, now, limit }) => [what, { now, limit }])));

// MEASURE_LISTS=1 prints what each measure counts.
test('the code stays within its measures', () => {
  const measures: Measure[] = [
    {
      what: 'files imported from below the top of another module',
      now: deep.length,
      limit: 25,
      found: deep.map(String),
    },
    {
      what: 'files under 40 lines with one importer',
      now: tiny.length,
      limit: 18,
      found: tiny.map(({ path }) => path),
    },
    { what: 'parameters that take all of a module', now: whole.length, limit: 0, found: whole },
    { what: 'lines with Pick<', now: picks.length, limit: 48, found: picks },
  ];
  show(measures);
  if (process.env.MEASURE_LISTS !== undefined)
    for (const { what, found } of measures) console.log(`${what}:\n${found.join('\n')}`);
  for (const { what, now, limit, found } of measures)
    expect.soft(now, `${what}:\n${found.join('\n')}`).toBeLessThanOrEqual(limit);
});
