import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { ensureBuilt } from '../support/resources.ts';

const run = promisify(execFile);
const names = ['perkwire', '@perkwire/client'] as const;
type Manifest = { bin: { perkwire: string }; dependencies: Record<string, string> };

/** A folder outside the repository with `perkwire` and `@perkwire/client` installed from their tarballs. */
export type Installed = {
  folder: string;
  /** Path of the `perkwire` command. */
  program: string;
  /** Imports `@perkwire/client` as a program in the folder would. */
  importClient: () => Promise<typeof import('@perkwire/client')>;
};

/**
 * Builds and installs both packages.
 * @param fromRegistry whether npm installs the tarballs with dependencies from its registry; otherwise, the tarballs
 * are unpacked, and get only their declared dependencies, from this repository
 */
export async function installPackages(fromRegistry: boolean): Promise<Installed> {
  await ensureBuilt();
  const folder = await mkdtemp(join(tmpdir(), 'perkwire-installed-'));
  await chmod(folder, 0o755); // as root, the embedded database runs as another user, who must get in
  const packed = await run(
    'npm',
    ['pack', '--json', '--ignore-scripts', '--pack-destination', folder, '.', './packages/client'],
    { maxBuffer: 10_000_000 },
  );
  const tarballs = (JSON.parse(packed.stdout) as { filename: string }[]).map(({ filename }) => `./${filename}`);
  await writeFile(join(folder, 'package.json'), '{"private":true}');
  if (fromRegistry)
    await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', ...tarballs], { cwd: folder });
  else await unpack(folder, tarballs);
  return {
    folder,
    program: join(folder, 'node_modules/.bin/perkwire'),
    importClient: () => import(createRequire(join(folder, 'package.json')).resolve('@perkwire/client')),
  };
}

async function unpack(folder: string, tarballs: readonly string[]): Promise<void> {
  const modules = join(folder, 'node_modules');
  for (const [index, name] of names.entries()) {
    const target = join(modules, name);
    await mkdir(target, { recursive: true });
    await run('tar', ['-xzf', tarballs[index] as string, '-C', target, '--strip-components=1'], { cwd: folder });
  }
  const { bin, dependencies } = JSON.parse(await readFile(join(modules, 'perkwire/package.json'), 'utf8')) as Manifest;
  for (const name of Object.keys(dependencies).filter((dependency) => dependency !== '@perkwire/client')) {
    await mkdir(dirname(join(modules, name)), { recursive: true });
    await symlink(resolve('node_modules', name), join(modules, name));
  }
  await mkdir(join(modules, '.bin'));
  await symlink(join('../perkwire', bin.perkwire), join(modules, '.bin/perkwire'));
}
