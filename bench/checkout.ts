import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const git = async (...args: string[]): Promise<string> => (await run('git', args)).stdout.trim();

/** A built checkout of another version. */
export type Checkout = { name: string; folder: string };

/**
 * Returns a built checkout of a commit, in a subfolder of `parent`. A folder that is already built is returned
 * unchanged.
 * @param version a commit or a folder; if undefined, the last tag, or the previous commit if there is no tag
 */
export async function checkOut(parent: string, version: string | undefined): Promise<Checkout> {
  if (version !== undefined && existsSync(join(version, 'dist/server.js')))
    return {
      name: await git('-C', version, 'rev-parse', '--short', 'HEAD').catch(() => basename(version)),
      folder: resolve(version),
    };
  const lastTag = await git('describe', '--tags', '--abbrev=0').catch(() => 'HEAD~1');
  const commit = await git('rev-parse', '--short', version ?? lastTag);
  const checkout = join(parent, 'before');
  await mkdir(checkout);
  await run('sh', ['-c', `git archive ${commit} | tar -x -C "${checkout}"`]);
  await run('cp', ['-al', 'node_modules', join(checkout, 'node_modules')]).catch(() =>
    run('cp', ['-a', 'node_modules', join(checkout, 'node_modules')]),
  );
  await run('npm', ['run', '--silent', 'build'], { cwd: checkout });
  return { name: commit, folder: checkout };
}

/**
 * Seeding functions of one version. They are loaded per version, because the tables of another version may lack
 * columns.
 */
type Seeds = Pick<typeof import('../src/demo/catalogue.ts'), 'embeddedDemoIds' | 'loadDemoCatalogue'> &
  Pick<typeof import('./catalogue.ts'), 'createPublisher'> &
  Pick<typeof import('./fetch.ts'), 'prepareCaps'>;

/** Loads the seeding functions from the sources in a folder. */
export async function seedsOf(folder: string): Promise<Seeds> {
  const files = ['src/demo/catalogue.ts', 'bench/catalogue.ts', 'bench/fetch.ts'];
  return Object.assign({}, ...(await Promise.all(files.map((file) => import(resolve(folder, file))))));
}
