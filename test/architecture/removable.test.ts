import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { createModules as Create } from '../../src/modules.ts';
import { createLogger } from '../../src/platform/logger.ts';
import { cloneDatabase } from '../support/database.ts';
import { testConfig } from '../support/test-config.ts';
import { order } from './modules.ts';
import { readText, sources } from './source.ts';

/** Feature folders, with the modules that are missing when these folders are removed. */
const features: readonly [folders: readonly string[], modules: readonly string[]][] = [
  [['sources'], ['sources']],
  [['landing-pages'], ['landing-pages']],
  [['messages'], ['messages']],
  [['event-log'], ['event-log']],
  [['agents'], ['agents']],
  [['demo', 'embedded'], ['demo']],
];

const allModules = order.filter((name) => sources.has(`src/${name}/module.ts`) && name !== 'runtime');

/** Files whose lines about a feature are deleted together with its folder. */
const assembly = ['src/modules.ts', 'src/commands.ts', 'src/server.ts'];

const isIn = (folders: readonly string[]) => (path: string) => folders.some((name) => path.startsWith(`src/${name}/`));

/** Returns a file without the lines that mention one of the folders or use its imports. */
function withoutLines(text: string, folders: readonly string[]): string {
  const fromFolder = new RegExp(`'\\./(${folders.join('|')})/`);
  // An optional module with many arguments is added in several lines.
  const added = /^ {2}if \(\w+\)\s+add\(\s+create\w+\(\{[^;]*?\}\),\s+\);/gm;
  const lines = text.replaceAll(added, (statement) => statement.replaceAll(/\s+/g, ' ')).split('\n');
  const names = lines
    .filter((line) => /^import /.test(line) && fromFolder.test(line))
    .flatMap((line) => [...(/\{(.*)\}/.exec(line)?.[1] ?? '').matchAll(/(\w+)(?=\s*(,|$))/g)].map(([name]) => name));
  const uses = new RegExp(`\\b(${names.join('|')})\\b`);
  return lines.filter((line) => !fromFolder.test(line) && !(names.length > 0 && uses.test(line))).join('\n');
}

const run = promisify(execFile);

/**
 * Path of a copy of the repository, with `src` as files and the rest as links. Only the types of the assembly are
 * checked.
 */
let copy = '';
beforeAll(async () => {
  copy = await mkdtemp(join(tmpdir(), 'perkwire-removable-'));
  for (const name of await readdir('.')) if (name !== 'src') await symlink(join(process.cwd(), name), join(copy, name));
  for (const { path, text } of sources.values()) {
    if (!path.startsWith('src/')) continue;
    await mkdir(dirname(join(copy, path)), { recursive: true });
    await writeFile(
      join(copy, path),
      assembly.includes(path) ? text : text.replace(/^(#!.*\n)?/, '$1// @ts-nocheck\n'),
    );
  }
});
afterAll(() => rm(copy, { recursive: true, force: true }));

describe.each(features)('without src/%s', (folders, missing) => {
  beforeAll(async () => {
    for (const name of folders) await rename(join(copy, 'src', name), join(copy, `${name}.removed`));
    for (const path of assembly) await writeFile(join(copy, path), withoutLines(readText(path), folders));
  });
  afterAll(async () => {
    for (const name of folders) await rename(join(copy, `${name}.removed`), join(copy, 'src', name));
  });

  test('no other file imports from it', () => {
    const importing = [...sources.values()].filter(
      ({ path, imports }) => !isIn(folders)(path) && imports.some(({ target }) => isIn(folders)(target)),
    );
    expect(importing.map(({ path }) => path).filter((path) => !assembly.includes(path))).toEqual([]);
  });

  test('the program compiles', async () => {
    // A variable in src/modules.ts that only the removed feature used may remain unused.
    const compilerOptions = { noUnusedLocals: false };
    const project = {
      extends: './tsconfig.json',
      compilerOptions,
      include: [],
      files: ['src/server.ts', 'src/perkwire.ts'],
    };
    await writeFile(join(copy, 'tsconfig.removable.json'), JSON.stringify(project));
    const problems = await run('npx', ['tsc', '-p', 'tsconfig.removable.json'], { cwd: copy }).then(
      () => '',
      ({ stdout }: { stdout: string }) => stdout,
    );
    expect(problems).toBe('');
  });

  test('all other modules start', async () => {
    // Use a unique file name, because each module is loaded only once.
    const path = join(copy, `src/without-${folders.join('-')}.ts`);
    await writeFile(path, withoutLines(readText('src/modules.ts'), folders));
    const { createModules }: { createModules: typeof Create } = await import(path);
    const database = await cloneDatabase();
    const logger = createLogger('silent');
    const options = { config: testConfig(), databaseUrl: database.url, logger, now: Date.now, demo: true, pid: 1 };
    const modules = await createModules({ ...options, queryTimeoutMs: 120_000 });
    const names = modules.contributions.modules.map(({ name }) => name);
    await modules.close();
    await database.drop();
    expect(allModules.filter((name) => !names.includes(name))).toEqual(missing);
  });
});
