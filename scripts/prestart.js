// Before `npm start`: checks the version of Node.js, and builds when something changed since the last build.
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

const startedAt = new Date(); // a file changed during the build is built by the next start
if (inputs.some((path) => changedSince(join(root, path), modifiedMs(stamp)))) {
  const { status } = spawnSync('npm run --silent build', { cwd: root, stdio: 'inherit', shell: true });
  if (status !== 0) process.exit(status ?? 1);
  writeFileSync(stamp, '');
  utimesSync(stamp, startedAt, startedAt);
}

/** Folders count as well: a removed file changes the time of its folder. */
function changedSince(path, ms) {
  const found = statSync(path);
  if (found.mtimeMs > ms) return true;
  return found.isDirectory() && readdirSync(path).some((name) => changedSince(join(path, name), ms));
}

function modifiedMs(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
