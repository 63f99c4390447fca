import { existsSync } from 'node:fs';
import { posix } from 'node:path';
import { expect, test } from 'vitest';
import { listFiles, readText } from './source.ts';

const root = new URL('../../', import.meta.url);

const documents = [...listFiles('docs/', /\.md$/), 'README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md'];

/** Files whose comments may refer to documents. */
const code = ['src/', 'packages/', 'test/', 'bench/', 'migrations/', 'assets/'].flatMap((folder) =>
  listFiles(folder, /\.(ts|js|mjs|sql|css)$/),
);

/** Anchors of a document's headings, as GitHub makes them. */
const anchorsOf = (text: string): Set<string> =>
  new Set(
    [...text.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\- ]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );

/** Why a link leads nowhere, null when it is good. `target`: path from the root, with an optional anchor. */
function problemOf(target: string): string | null {
  const [path = '', anchor] = target.split('#');
  if (!existsSync(new URL(path, root))) return 'there is no such file';
  return anchor === undefined || anchorsOf(readText(path)).has(anchor) ? null : 'it has no such heading';
}

test('every link of a document leads to a file and a heading that exist', () => {
  const links = documents.flatMap((from) =>
    [...readText(from).matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, target = '']) => target)
      .filter((target) => !/^[a-z]+:/.test(target))
      .map((target) => ({
        from,
        target: target.startsWith('#') ? from + target : posix.join(posix.dirname(from), target),
      })),
  );
  expect(links.length).toBeGreaterThan(50);
  const broken = links.flatMap(({ from, target }) => {
    const problem = problemOf(target);
    return problem === null ? [] : [`${from} links to ${target}: ${problem}.`];
  });
  expect(broken).toEqual([]);
});

test('every document that the code refers to exists, with its heading', () => {
  const references = code.flatMap((from) =>
    [...readText(from).matchAll(/\bdocs\/[\w/-]+\.md(?:#[\w-]+)?/g)].map(([target]) => ({ from, target })),
  );
  expect(references.length).toBeGreaterThan(50);
  const broken = references.flatMap(({ from, target }) => {
    const problem = problemOf(target);
    return problem === null ? [] : [`${from} refers to ${target}: ${problem}.`];
  });
  expect(broken).toEqual([]);
});

test('no comment refers to a document that is not in the repository', () => {
  const elsewhere =
    /\b(decisions?|specification),? (section )?\d|\b(decisions|offer-service|design|conventions)\.md\b/i;
  const found = code
    .filter((path) => path !== 'test/house/docs.test.ts')
    .filter((path) => elsewhere.test(readText(path)));
  expect(found).toEqual([]);
});

/** Text on one line, without the marks of comments. */
const flat = (text: string): string => text.replace(/\s+(\*|\/\/)?\s*/g, ' ').toLowerCase();

test('each search of "Where is …?" finds the file that answers', () => {
  const [, section = ''] = readText('CONTRIBUTING.md').split('## Where is …?');
  const rows = [...section.matchAll(/^\| .+ \| `(.+)` \| (.+) \|$/gm)];
  expect(rows.length).toBeGreaterThanOrEqual(15);
  const broken = rows.flatMap(([, words = '', links = '']) =>
    [...links.matchAll(/\]\(([^)#]+)/g)]
      .map(([, path = '']) => path)
      .filter((path) => !flat(readText(path)).includes(words))
      .map((path) => `${path} does not say "${words}".`),
  );
  expect(broken).toEqual([]);
});
