import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { withStartLock } from '../src/embedded/locks.ts';

/**
 * Developer tools that have many packages of their own. They are in tools/package.json, so that `npm ci` does not
 * install them, and are installed when they are first needed. Usage: tsx scripts/tools.ts [PROGRAM [ARGUMENTS]]
 */

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = `${root}tools`;
const lock = `${folder}/package-lock.json`;
const stamp = `${folder}/node_modules/.installed-lock.json`;

/** Installs the tools, unless this version of their lock file has been installed. */
export async function installTools(): Promise<void> {
  const isCurrent = (): boolean => existsSync(stamp) && readFileSync(stamp, 'utf8') === readFileSync(lock, 'utf8');
  if (isCurrent()) return;
  const locks = `${root}node_modules/.cache/perkwire-tools`;
  await mkdir(locks, { recursive: true });
  await withStartLock(locks, async () => {
    if (isCurrent()) return;
    process.stderr.write('Installing the developer tools in tools/node_modules\n');
    execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'inherit'],
      shell: process.platform === 'win32',
    });
    writeFileSync(stamp, readFileSync(lock));
  });
}

/** Installs the tools if necessary, and imports one of them. */
export async function loadTool<Tool>(name: string): Promise<Tool> {
  await installTools();
  const { load } = (await import(new URL('../tools/load.js', import.meta.url).href)) as {
    load: (name: string) => Promise<Tool>;
  };
  return load(name);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [program, ...args] = process.argv.slice(2);
  await installTools();
  if (program !== undefined) {
    const options = { cwd: root, stdio: 'inherit', shell: process.platform === 'win32' } as const;
    process.exitCode = spawnSync(`${folder}/node_modules/.bin/${program}`, args, options).status ?? 1;
  }
}
