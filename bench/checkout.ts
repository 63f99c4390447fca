import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const git = async (...args: string[]): Promise<string> => (await run('git', args)).stdout.trim();

/** Another version of the program, built. */
export type Checkout = { name: string; folder: string };

/**
 * A built checkout of a commit in a folder of `parent`; or the given folder, where one is built already.
 * @param given a commit or a folder; undefined: the last tag, else the commit before this one
 */
export async function checkOut(parent: string, given: string | undefined): Promise<Checkout> {
  if (given !== undefined && existsSync(join(given, 'dist/server.js')))
    return {
      name: await git('-C', given, 'rev-parse', '--short', 'HEAD').catch(() => basename(given)),
      folder: resolve(given),
    };
  const lastTag = await git('describe', '--tags', '--abbrev=0').catch(() => 'HEAD~1');
  const commit = await git('rev-parse', '--short', given ?? lastTag);
  const checkout = join(parent, 'before');
  await mkdir(checkout);
  await run('sh', ['-c', `git archive ${commit} | tar -x -C "${checkout}"`]);
  await run('cp', ['-al', 'node_modules', join(checkout, 'node_modules')]).catch(() =>
    run('cp', ['-a', 'node_modules', join(checkout, 'node_modules')]),
  );
  await run('npm', ['run', '--silent', 'build'], { cwd: checkout });
  return { name: commit, folder: checkout };
}

/** What a version seeds its tables with: those of another may lack columns. */
type Seeds = Pick<typeof import('../src/demo/catalogue.ts'), 'embeddedDemoIds' | 'loadDemoCatalogue'> &
  Pick<typeof import('./catalogue.ts'), 'createPublisher'> &
  Pick<typeof import('./fetch.ts'), 'prepareCaps'>;

/** Of the sources in a folder. */
export async function seedsOf(folder: string): Promise<Seeds> {
  const files = ['src/demo/catalogue.ts', 'bench/catalogue.ts', 'bench/fetch.ts'];
  return Object.assign({}, ...(await Promise.all(files.map((file) => import(resolve(folder, file))))));
}
