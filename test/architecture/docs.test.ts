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

/** Returns the heading anchors of a document, as GitHub generates them. */
const anchorsOf = (text: string): Set<string> =>
  new Set(
    [...text.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\- ]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );

/**
 * Returns the reason why a link is broken, or null if it works. `target` is a path from the repository root, with an
 * optional anchor.
 */
function problemOf(target: string): string | null {
  const [path = '', anchor] = target.split('#');
  if (!existsSync(new URL(path, root))) return 'there is no such file';
  return anchor === undefined || anchorsOf(readText(path)).has(anchor) ? null : 'it has no such heading';
}

test('every link in a document leads to an existing file and heading', () => {
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

test('every document and heading that the code refers to exists', () => {
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

test('no comment refers to a document outside the repository', () => {
  const elsewhere =
    /\b(decisions?|specification),? (section )?\d|\b(decisions|offer-service|design|conventions)\.md\b/i;
  const matches = code
    .filter((path) => path !== 'test/architecture/docs.test.ts')
    .filter((path) => elsewhere.test(readText(path)));
  expect(matches).toEqual([]);
});

/** Returns text on one line, without comment markers. */
const flat = (text: string): string => text.replace(/\s+(\*|\/\/)?\s*/g, ' ').toLowerCase();

test('each search in "Where is …?" finds the file that answers the question', () => {
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

type Packages = { scripts: Record<string, string> };

/** Returns the reason why a command in promises.md cannot be run, or null if it can. */
function problemOfCommand(command: string): string | null {
  const [, tests] = /^npm test -- (.+)$/.exec(command) ?? [];
  if (tests !== undefined) {
    const missing = tests.split(' ').filter((path) => !existsSync(new URL(path, root)));
    return missing.length === 0 ? null : `there is no ${missing.join(', ')}`;
  }
  const { scripts } = JSON.parse(readText('package.json')) as Packages;
  const [, script = '', words = ''] = /^npm run ([\w:]+)(?: -- (.+))?$/.exec(command) ?? [];
  if (scripts[script] === undefined) return `there is no script "${script}"`;
  const [, scenario] = /--scenario ([\w-]+)/.exec(words) ?? [];
  const names = scenario === undefined ? (script === 'procedures' ? words.split(' ') : []) : [scenario];
  const runner = scripts[script].split(' ').at(-1) as string;
  const unknown = names.filter((name) => !readText(runner).includes(name));
  return unknown.length === 0 ? null : `${runner} has no ${unknown.join(', ')}`;
}

test('each documented guarantee has an existing command and a figure', () => {
  const rows = [...readText('docs/promises.md').matchAll(/^\| (.+) \| (.*) \| (.*) \|$/gm)]
    .map(([, guarantee = '', command = '', figure = '']) => ({ guarantee, command, figure }))
    .filter(({ guarantee }) => !/^(Guarantee|---|\*\*.+)$/.test(guarantee));
  expect(rows.length).toBeGreaterThan(50);
  const broken = rows.flatMap(({ guarantee, command, figure }) => {
    const [, words] = /^`([^`]+)`$/.exec(command) ?? [];
    const problem = words === undefined ? 'it has no command' : problemOfCommand(words);
    return problem === null && figure !== '' ? [] : [`"${guarantee}": ${problem ?? 'it has no figure'}.`];
  });
  expect(broken).toEqual([]);
});

test.each(['docs/operations.md', ...listFiles('docs/reference/', /\.md$/)])(
  '%s begins with links to all its headings',
  (path) => {
    const text = readText(path);
    const [contents = ''] = text.split(/^## /m);
    const listed = new Set([...contents.matchAll(/\]\(#([\w-]+)\)/g)].map(([, anchor = '']) => anchor));
    expect([...anchorsOf(text)].slice(1).filter((anchor) => !listed.has(anchor))).toEqual([]);
  },
);

test('performance.md has at most 1800 words', () => {
  expect(readText('docs/performance.md').split(/\s+/).length).toBeLessThanOrEqual(1800);
});

/** Converts a name to lower-case words separated by spaces. */
const words = (text: string): string => {
  const parts = flat(text.replace(/([a-z])([A-Z])/g, '$1 $2'));
  return parts.replace(/[_\-\s]+/g, ' ');
};

test('every glossary term is defined once and used in the code', () => {
  const terms = [...readText('docs/glossary.md').matchAll(/^\| (.+?) \| .+ \|$/gm)]
    .map(([, term = '']) => term)
    .filter((term) => !/^(Term|---)$/.test(term))
    .flatMap((term) => term.replace(/ \(.*?\)/g, '').split(', '));
  expect(terms.length).toBeGreaterThan(150);
  expect(terms.filter((term, at) => terms.indexOf(term) !== at)).toEqual([]);
  const used = words(
    code
      .filter((path) => /^(src|packages|migrations)\//.test(path))
      .map(readText)
      .join('\n'),
  );
  expect(terms.filter((term) => !used.includes(words(term)))).toEqual([]);
});
