// Runs before `npm start`. Checks the Node.js version, and builds if a source file has changed since the last build.
import './check-node.js';
import { spawnSync } from 'node:child_process';
import { readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const stamp = join(root, 'dist/.built');
const client = ['src', 'package.json', 'tsconfig.json', 'tsconfig.cjs.json', 'mark-cjs.js'];
const inputs = [
  ...['src', 'scripts', 'tsconfig.json', 'tsconfig.build.json', 'package-lock.json'],
  ...client.map((path) => `packages/client/${path}`),
];

const startedAt = new Date(); // If a file changes during the build, the next start builds again.
if (inputs.some((path) => changedSince(join(root, path), modifiedMs(stamp)))) {
  const { status } = spawnSync('npm run --silent build', { cwd: root, stdio: 'inherit', shell: true });
  if (status !== 0) process.exit(status ?? 1);
  writeFileSync(stamp, '');
  utimesSync(stamp, startedAt, startedAt);
}

/** Includes modification times of directories, because removing a file changes only the time of its directory. */
function changedSince(path, ms) {
  const stats = statSync(path);
  if (stats.mtimeMs > ms) return true;
  return stats.isDirectory() && readdirSync(path).some((name) => changedSince(join(path, name), ms));
}

function modifiedMs(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
