import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { enteredFiles, type Flows } from './flows.ts';
import { isFace, libraries, roomOf } from './rooms.ts';
import { readText, sources } from './source.ts';

const isOwn = (path: string): boolean => path.startsWith('src/') || path.startsWith('packages/');
const files = [...sources.values()].filter(({ path }) => isOwn(path));

/** Files by path, each with the files that import it. */
const importers = new Map<string, Set<string>>();
for (const { path, imports } of files)
  for (const { target } of imports) importers.set(target, (importers.get(target) ?? new Set()).add(path));

const linesOf = (text: string): number => text.trimEnd().split('\n').length;

/** What is imported from below the top of another room's folder. */
const deep = [...importers].filter(
  ([target, by]) =>
    target.startsWith('src/') &&
    !isFace(target) &&
    !(libraries as readonly string[]).includes(roomOf(target)) &&
    [...by].some((path) => roomOf(path) !== roomOf(target)),
);

/** Files under 40 lines that one file imports: each would have to say why it stands alone. */
const tiny = files.filter(
  ({ path, text }) => importers.get(path)?.size === 1 && linesOf(text) < 40 && !path.endsWith('/room.ts'),
);

/** Parameters that take all that a room works with, instead of what they use. */
const whole = files.flatMap(({ path, text }) =>
  [...text.matchAll(/^.*[({,]\s*(?:deps|\{[^{}]*\})\??: (?:\w+Deps)\b(?!\s*&).*$/gm)]
    .filter(([line]) => /: (?:Platform|Catalog|Account|Offer|Tracking|Webhook|Endpoint)Deps\b/.test(line))
    .map(([line]) => `${path}: ${line.trim()}`),
);

const document = 'docs/architecture.md';

const listOf = (name: string): RegExp => new RegExp(`<!-- ${name} -->(.*)<!-- /${name} -->`);

/** The files that the architecture names for a flow. */
const namedIn = (name: string): string[] =>
  [...(listOf(name).exec(readText(document))?.[1] ?? '').matchAll(/`([^`]+)`/g)].map(([, path]) => `src/${path}.ts`);

function writeFlows(flows: Flows): void {
  const shown = (path: string): string => `\`${path.replace(/^src\/|\.ts$/g, '')}\``;
  const text = Object.entries(flows).reduce(
    (written, [name, entered]) =>
      written.replace(listOf(name), `<!-- ${name} -->${entered.map(shown).join(', ')}<!-- /${name} -->`),
    readText(document),
  );
  writeFileSync(new URL(`../../${document}`, import.meta.url), text);
}

type Measure = { what: string; now: number; limit: number; found: readonly string[] };

const show = (measures: readonly Measure[]): void =>
  console.table(Object.fromEntries(measures.map(({ what, now, limit }) => [what, { now, limit }])));

// HOUSE_LISTS=1 prints what each measure counts.
test('the house stays within its measures', async () => {
  const flows = await enteredFiles();
  if (process.env.UPDATE_FLOWS !== undefined) writeFlows(flows);
  for (const [name, entered] of Object.entries(flows)) {
    const unnamed = entered.filter((path) => !namedIn(name).includes(path));
    expect.soft(unnamed, `UPDATE_FLOWS=1 npm run house names them in ${document}`).toEqual([]);
  }
  const measures: Measure[] = [
    { what: 'files imported from below the top of another room', now: deep.length, limit: 25, found: deep.map(String) },
    { what: 'files a fetch enters', now: flows.fetch.length, limit: 39, found: flows.fetch },
    { what: 'files a beacon enters', now: flows.beacon.length, limit: 20, found: flows.beacon },
    { what: 'files a wrap enters until it is sent', now: flows.wrap.length, limit: 40, found: flows.wrap },
    { what: 'files a saved form enters', now: flows.form.length, limit: 29, found: flows.form },
    {
      what: 'files under 40 lines with one importer',
      now: tiny.length,
      limit: 18,
      found: tiny.map(({ path }) => path),
    },
    { what: 'parameters that take all of a room', now: whole.length, limit: 0, found: whole },
  ];
  show(measures);
  if (process.env.HOUSE_LISTS !== undefined)
    for (const { what, found } of measures) console.log(`${what}:\n${found.join('\n')}`);
  for (const { what, now, limit, found } of measures)
    expect.soft(now, `${what}:\n${found.join('\n')}`).toBeLessThanOrEqual(limit);
});
