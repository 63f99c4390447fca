import { expect, test } from 'vitest';
import { listFiles, readText } from './source.ts';

/** Patterns that the glossary replaces, each with its standard term (docs/glossary.md). */
const replaced: readonly (readonly [RegExp, string])[] = [
  [/\bshort way\b|\bgoOn\b|\bgiveBack\b/i, 'fast path, next'],
  [/\bpulse\b(?!")|\bsigns? of life\b/i, 'database health, probe'],
  [/\bthe store\b|\bstore is away\b|\bstoreGuard\b/i, 'the database'],
  [/\bis away\b|\bgoes away\b/i, 'is unavailable'],
  [/\bpatience\b|\bpatiently\b/i, 'timeout'],
  [/\bkeptIn\b|\bstartRounds\b|\bstartPresence\b|\baddStock\b/, 'getOrInsert, loop, heartbeat, gauges'],
  [/\bFate\b|\btend(s|ed)?\b(?! to)/, 'settlement result, housekeeping'],
  [/\bstrangers?\b|\bin good standing\b/i, 'unproven endpoint, healthy endpoint'],
  [/\bsayToPeople\b|\brelieveCrowds\b|\bcrowds?\b/, 'error pages, shedIdleConnections'],
  [/\bquietly\b|\bnothings\b/i, 'a name that says what is ignored'],
  [/\bsurroundings\b|\bsomebody\b|\bwhoever\b|\bwhat is known of\b/i, 'client context, a user, callers, user data'],
  [/\b(un)?learnt\b|\bboldness\b|\bpaid run\b|\bcountAgain\b|\bcount again\b/i, 'model, posterior sharpness, recount'],
  [
    /\bfold(s|ed|ing)?\b(?!ers?)|\btally\b|\btidy\b|\bmove zone\b|\bforget values\b|\bown keys?\b/i,
    'rollup, compact, re-bucket',
  ],
  [/\bwhat was promised\b|\bno such thing\b|\bto be mended\b|\bmend(s|ed)?\b/i, 'delivery, not found, fix'],
  [/\bDoor\b|\badmit\(/, 'route dependencies, requirePermission'],
  [/\bnobody waits\b|\bin a circle\b/i, 'consistent lock order'],
];

const folders = ['src/', 'packages/', 'assets/', 'docs/', 'migrations/'];
const files = folders
  .flatMap((folder) => listFiles(folder, /\.(ts|js|mjs|css|html|md|sql)$/))
  .filter((path) => !path.startsWith('docs/images/'));

test('code, pages and documents use the glossary terms', () => {
  expect(files.length).toBeGreaterThan(400);
  const matches = files.flatMap((path) =>
    readText(path)
      .split('\n')
      .flatMap((line, at) =>
        replaced.flatMap(([word, term]) => {
          const [hit] = word.exec(line) ?? [];
          return hit === undefined ? [] : [`${path}:${at + 1} says "${hit}": the term is ${term}.`];
        }),
      ),
  );
  expect(matches).toEqual([]);
});
