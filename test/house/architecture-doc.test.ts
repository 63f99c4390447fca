import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { functionsAlone, order } from './rooms.ts';
import { readText } from './source.ts';

const document = 'docs/architecture.md';

/** What stands beside the rooms: libraries below them, and what calls them above. */
const beside: Record<string, string> = {
  config: 'configuration, read once from the environment',
  client: 'the client package `@perkwire/client` (`packages/client`)',
  runtime: 'assembly of the rooms, running their jobs, several processes on one port',
  root: '`rooms.ts` and `commands.ts`: the lists; `server.ts` with `app.ts`, and `perkwire.ts`: what is started',
};

/** The sentence of a room's function in its `room.ts`. */
function sentenceOf(room: string): string {
  const [, sentence = ''] =
    /\/\*\*\s*([^*]+?)\s*\*\/\nexport (?:async )?(?:function|const) create/.exec(readText(`src/${room}/room.ts`)) ?? [];
  return sentence.charAt(0).toLowerCase() + sentence.slice(1).replace(/\.$/, '');
}

const holds = (room: string): string => beside[room] ?? functionsAlone[room]?.holds ?? sentenceOf(room);

const table = [
  '| Room | Holds |',
  '| --- | --- |',
  ...order.toReversed().map((room) => `| \`${room}\` | ${holds(room)} |`),
].join('\n');

const [start, end] = [/<!-- rooms:.*-->\n/, '<!-- /rooms -->'];

test('the table of rooms is that of the list, the last one on top', () => {
  expect(order.filter((room) => holds(room) === '')).toEqual([]);
  const text = readText(document);
  const from = (start.exec(text)?.index ?? 0) + (start.exec(text)?.[0].length ?? 0);
  const written = `${text.slice(0, from)}${table}\n${text.slice(text.indexOf(end))}`;
  if (process.env.UPDATE_ROOMS !== undefined) writeFileSync(new URL(`../../${document}`, import.meta.url), written);
  else expect(text, 'UPDATE_ROOMS=1 npx vitest run test/house/architecture-doc.test.ts writes it anew').toBe(written);
});

test('the architecture is read in one sitting: at most 150 lines', () => {
  expect(readText(document).trimEnd().split('\n').length).toBeLessThanOrEqual(150);
});
