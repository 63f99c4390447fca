import { expect, test } from 'vitest';
import { isPublic, libraries, moduleOf, order } from './modules.ts';
import { sources } from './source.ts';

const isOwn = (path: string): boolean => path.startsWith('src/') || path.startsWith('packages/');
const files = [...sources.values()].filter(({ path }) => isOwn(path));

/** File paths, each with the files that import them. */
const importers = new Map<string, Set<string>>();
for (const { path, imports } of files)
  for (const { target } of imports) importers.set(target, (importers.get(target) ?? new Set()).add(path));

const linesOf = (text: string): number => text.trimEnd().split('\n').length;

/** Imports from below the top level of another module's folder. */
const deep = [...importers].filter(
  ([target, by]) =>
    target.startsWith('src/') &&
    !isPublic(target) &&
    !(libraries as readonly string[]).includes(moduleOf(target)) &&
    [...by].some((path) => moduleOf(path) !== moduleOf(target)),
);

/** Files under 40 lines that only one file imports. Each needs a reason to be separate. */
const tiny = files.filter(
  ({ path, text }) => importers.get(path)?.size === 1 && linesOf(text) < 40 && !path.endsWith('/module.ts'),
);

/** Parameters that accept all dependencies of a module instead of the ones they use. */
const whole = files.flatMap(({ path, text }) =>
  [...text.matchAll(/^.*[({,]\s*(?:deps|\{[^{}]*\})\??: (?:\w+Deps)\b(?!\s*&).*$/gm)]
    .filter(([line]) => /: (?:Platform|Catalog|Account|Offer|Tracking|Webhook|Endpoint)Deps\b/.test(line))
    .map(([line]) => `${path}: ${line.trim()}`),
);

/** Uses of `Pick`, because the reader must look up what such a function accepts. */
const picks = files.flatMap(({ path, text }) =>
  path.startsWith('src/') ? [...text.matchAll(/^.*\bPick<.*$/gm)].map(([line]) => `${path}: ${line.trim()}`) : [],
);

/** Object spreads that only stop the formatter from putting each property on its own line. */
const spreads = files.flatMap(({ path, text }) =>
  [...text.matchAll(/^\s*\.\.\.\{ \w+(?:, \w+)* \},$/gm)].map(([line]) => `${path}: ${line.trim()}`),
);

/** Returns the files at the top of a module's folder, which are its public API. */
const topFiles = (module: string): string[] =>
  files.map(({ path }) => path).filter((path) => new RegExp(`^src/${module}/[^/]+$`).test(path));

/** Imported modules, by the module that imports them. */
const arrows = new Map<string, Set<string>>();
for (const { path, imports } of files)
  for (const { target } of imports) {
    const [from, to] = [moduleOf(path), moduleOf(target)];
    if (!path.startsWith('src/') || order.indexOf(to) >= order.indexOf(from)) continue;
    arrows.set(from, (arrows.get(from) ?? new Set()).add(to));
  }

const chains = new Map<string, readonly string[]>();
/**
 * Returns the longest import chain that starts with a module. Modules only import earlier ones, so the recursion ends.
 */
function chainFrom(module: string): readonly string[] {
  const cached = chains.get(module);
  if (cached !== undefined) return cached;
  const next = [...(arrows.get(module) ?? [])].map(chainFrom);
  const chain = [module, ...next.reduce((longest, other) => (other.length > longest.length ? other : longest), [])];
  chains.set(module, chain);
  return chain;
}
const longestChain = [...arrows.keys()].map(chainFrom).reduce((a, b) => (b.length > a.length ? b : a), []);
const arrowList = [...arrows].flatMap(([from, targets]) => [...targets].map((to) => `${from} → ${to}`));

/** Number of lines in `src`, without the message files. */
const sourceLines = files
  .filter(({ path }) => path.startsWith('src/') && !/^src\/platform\/i18n\/(en|de)\b/.test(path))
  .reduce((sum, { text }) => sum + linesOf(text), 0);
const portFiles = files.map(({ path }) => path).filter((path) => path.endsWith('/ports.ts'));

/** Current values, which are to be reduced to 12. */
const mostTopFiles = { catalog: 12, 'catalog-admin': 12, budgets: 12, learning: 12, shell: 10 };

type Measure = { what: string; now: number; limit: number; matches: readonly string[] };

const show = (measures: readonly Measure[]): void =>
  console.table(Object.fromEntries(measures.map(({ what, now, limit }) => [what, { now, limit }])));

// MEASURE_LISTS=1 prints the matches of each measure.
test('the code stays within its complexity limits', () => {
  const measures: Measure[] = [
    {
      what: 'imported files in subdirectories of other modules',
      now: deep.length,
      limit: 25,
      matches: deep.map(String),
    },
    {
      what: 'files under 40 lines with one importer',
      now: tiny.length,
      limit: 18,
      matches: tiny.map(({ path }) => path),
    },
    { what: 'parameters that accept a whole module', now: whole.length, limit: 0, matches: whole },
    { what: 'lines with Pick<', now: picks.length, limit: 48, matches: picks },
    { what: 'files named ports.ts', now: portFiles.length, limit: 0, matches: portFiles },
    ...Object.entries(mostTopFiles).map(([module, limit]) => {
      const matches = topFiles(module);
      return { what: `public files of ${module}`, now: matches.length, limit, matches };
    }),
    { what: 'spreads that only affect formatting', now: spreads.length, limit: 0, matches: spreads },
    { what: 'pairs of modules with imports between them', now: arrowList.length, limit: 290, matches: arrowList },
    { what: 'modules in the longest import chain', now: longestChain.length, limit: 14, matches: longestChain },
    { what: 'lines of src without language files', now: sourceLines, limit: 153_700, matches: [] },
  ];
  show(measures);
  if (process.env.MEASURE_LISTS !== undefined)
    for (const { what, matches } of measures) console.log(`${what}:\n${matches.join('\n')}`);
  for (const { what, now, limit, matches } of measures)
    expect.soft(now, `${what}:\n${matches.join('\n')}`).toBeLessThanOrEqual(limit);
});
