import { describe, expect, test } from 'vitest';
import { type SourceFile, sources } from './source.ts';

const importsOf = (path: string): SourceFile['imports'] => sources.get(path)?.imports ?? [];

/** Returns all files that are loaded at run time with a folder, each with the file that imports it. */
function loadedBy(folder: string): { target: string; from: string }[] {
  const loadedFiles: { target: string; from: string }[] = [];
  const waiting = filesIn(folder);
  const visitedPaths = new Set(waiting);
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    for (const { target, typeOnly } of importsOf(path)) {
      if (typeOnly) continue;
      loadedFiles.push({ target, from: path });
      if (sources.has(target) && !visitedPaths.has(target)) {
        visitedPaths.add(target);
        waiting.push(target);
      }
    }
  }
  return loadedFiles;
}

function filesIn(folder: string): string[] {
  const paths = [...sources.keys()].filter((path) => path.startsWith(folder));
  expect(paths, `files in ${folder}`).not.toEqual([]);
  return paths;
}

/** Returns "path:line: text" for each line that breaks the rule. */
function lines(paths: Iterable<string>, breaks: (line: string, path: string) => boolean): string[] {
  return [...paths].flatMap((path) =>
    (sources.get(path)?.text ?? '')
      .split('\n')
      .flatMap((line, index) => (breaks(line, path) ? [`${path}:${index + 1}: ${line.trim()}`] : [])),
  );
}

describe('the pure decision', () => {
  const modules = 'fs|net|http|https|http2|tls|dns|dgram|child_process|cluster|worker_threads|process|readline|timers';
  const packages = 'pg|fastify|@fastify|undici|pino';
  const io = new RegExp(`^(node:(${modules})\\b|(${packages})(/|$)|src/platform/db/)`);

  test('does not import I/O, not even indirectly', () => {
    expect(loadedBy('src/decision/').filter(({ target }) => io.test(target))).toEqual([]);
  });

  test('does not import database code, not even types', () => {
    const direct = filesIn('src/decision/').flatMap((path) => importsOf(path).map(({ target }) => target));
    expect(direct.filter((target) => io.test(target))).toEqual([]);
  });

  test('uses no clock or randomness except its arguments', () => {
    const own = /\b(Date\.now|new Date\(\)|performance\.now|Math\.random|random(Bytes|UUID|Int)|getRandomValues)/;
    expect(lines(filesIn('src/decision/'), (line) => own.test(line))).toEqual([]);
  });
});

test('the dispatcher does not import a web framework, not even indirectly', () => {
  const framework = /^(fastify|@fastify\/.*)$/;
  expect(loadedBy('src/webhooks/dispatcher/').filter(({ target }) => framework.test(target))).toEqual([]);
  const targets = filesIn('src/webhooks/dispatcher/').flatMap((path) => importsOf(path).map(({ target }) => target));
  expect(targets.filter((target) => framework.test(target))).toEqual([]);
});

test('only the entry points use the process object', () => {
  const isEmbedded = (path: string) => path.startsWith('src/embedded/');
  const isEntry = (path: string) =>
    path === 'src/server.ts' || path === 'src/perkwire.ts' || (path.startsWith('src/demo/') && !isEmbedded(path));
  const measures = ['hrtime', 'memoryUsage', 'cpuUsage'];
  // The embedded database runs as a separate process. Its code reads the platform and passes its environment on.
  const embedded = [...measures, 'arch', 'env', 'getuid', 'kill', 'pid', 'platform'];
  // Separate processes render the drawings and evaluate transformations.
  const drawing = ['env', 'execPath'];
  const evaluating = ['allowedNodeEnvironmentFlags', 'execPath'];
  const spawning: Readonly<Record<string, readonly string[]>> = {
    'src/catalog-admin/images/draw.ts': drawing,
    'src/webhooks/transformations/evaluators.ts': evaluating,
  };
  const allowedIn = (path: string) => (isEmbedded(path) ? embedded : (spawning[path] ?? measures));
  const touches = (line: string, path: string) => {
    const allowed = allowedIn(path);
    return [...line.matchAll(/(?<![\w.])process\??\.(\w+)/g)].some(([, member = '']) => !allowed.includes(member));
  };
  expect(
    lines(
      [...sources.keys()].filter((path) => !isEntry(path)),
      touches,
    ),
  ).toEqual([]);
  const byImport = [...sources.keys()].filter((path) =>
    importsOf(path).some(({ target }) => /^(node:)?process$/.test(target)),
  );
  expect(byImport).toEqual([]);
});

test('no file has a default export', () => {
  expect(lines(sources.keys(), (line) => /^\s*export\s+default\b|\bas\s+default\b/.test(line))).toEqual([]);
});

test('local imports resolve and end in .ts', () => {
  const own = [...sources.keys()].flatMap((path) => importsOf(path).map(({ target }) => ({ from: path, target })));
  const broken = own.filter(({ target }) => target.startsWith('src/') && !sources.has(target));
  expect(own.length).toBeGreaterThan(50);
  expect(broken).toEqual([]);
});
