import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { functionsAlone, order } from './modules.ts';
import { readText } from './source.ts';

const document = 'docs/architecture.md';

/** Directories that are not modules: libraries below the modules, and their callers above. */
const beside: Record<string, string> = {
  config: 'configuration, read once from the environment',
  client: 'the client package `@perkwire/client` (`packages/client`)',
  runtime: 'assembly of the modules, running their jobs, several processes on one port',
  root: '`modules.ts` and `commands.ts`: the lists; `server.ts` with `app.ts`, and `perkwire.ts`: what is started',
};

/** Returns the sentence that documents a module's create function in its `module.ts`. */
function sentenceOf(module: string): string {
  const [, sentence = ''] =
    /\/\*\*\s*([^*]+?)\s*\*\/\nexport (?:async )?(?:function|const) create/.exec(readText(`src/${module}/module.ts`)) ??
    [];
  return sentence.charAt(0).toLowerCase() + sentence.slice(1).replace(/\.$/, '');
}

const holds = (module: string): string => beside[module] ?? functionsAlone[module]?.holds ?? sentenceOf(module);

const table = [
  '| Module | Holds |',
  '| --- | --- |',
  ...order.toReversed().map((module) => `| \`${module}\` | ${holds(module)} |`),
].join('\n');

const [start, end] = [/<!-- modules:.*-->\n/, '<!-- /modules -->'];

test('the module table matches the module list, with the last module on top', () => {
  expect(order.filter((module) => holds(module) === '')).toEqual([]);
  const text = readText(document);
  const from = (start.exec(text)?.index ?? 0) + (start.exec(text)?.[0].length ?? 0);
  const written = `${text.slice(0, from)}${table}\n${text.slice(text.indexOf(end))}`;
  if (process.env.UPDATE_MODULES !== undefined) writeFileSync(new URL(`../../${document}`, import.meta.url), written);
  else
    expect(text, 'UPDATE_MODULES=1 npx vitest run test/architecture/architecture-doc.test.ts writes it anew').toBe(
      written,
    );
});

test('the architecture document has at most 1700 words', () => {
  expect(readText(document).split(/\s+/).length).toBeLessThanOrEqual(1700);
});
