// Runs before `npm start`. Checks the Node.js version, and builds if the sources differ from those of the last build.
import './check-node.js';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const stamp = join(root, 'dist/.built');
const lock = join(root, 'dist/.building');
const client = ['src', 'package.json', 'tsconfig.json', 'tsconfig.cjs.json', 'mark-cjs.js'];
const inputs = [
  ...['src', 'scripts', 'tsconfig.json', 'tsconfig.build.json', 'package-lock.json'],
  ...client.map((path) => `packages/client/${path}`),
];
const guard = `${lock}.stale`;
const pollMs = 200;
const staleGuardMs = 5000;

const isOutdated = () => readStamp() !== digestOf(inputs);

if (isOutdated()) {
  takeLock();
  process.on('exit', () => rmSync(lock, { force: true }));
  // Check again, because the process that held the lock may have built.
  if (isOutdated()) build();
}

function build() {
  const digest = digestOf(inputs); // If a file changes during the build, the next start builds again.
  const { status } = spawnSync('npm run --silent build:to-start', { cwd: root, stdio: 'inherit', shell: true });
  if (status !== 0) process.exit(status ?? 1);
  writeFileSync(stamp, digest);
}

/** Waits until no other process builds in this checkout, because they would write the same files. */
function takeLock() {
  mkdirSync(join(root, 'dist'), { recursive: true });
  let isAnnounced = false;
  for (;;) {
    try {
      writeFileSync(lock, String(process.pid), { flag: 'wx' });
      return;
    } catch (err) {
      if (err.code !== 'EEXIST') throw err;
    }
    const owner = lockOwner();
    if (owner === null) continue;
    if (!isAlive(owner)) {
      removeStale(owner);
      continue;
    }
    if (!isAnnounced) process.stderr.write('Waiting for another build in this folder.\n');
    isAnnounced = true;
    sleep();
  }
}

/**
 * Removes the lock of a dead process. Two waiting processes may both find the lock stale, and the slower one could then
 * remove the new lock of the faster one. A second lock therefore lets only one process at a time check again.
 */
function removeStale(owner) {
  try {
    writeFileSync(guard, '', { flag: 'wx' });
  } catch {
    if (Date.now() - modifiedMs(guard) > staleGuardMs) rmSync(guard, { force: true });
    sleep();
    return;
  }
  if (lockOwner() === owner) rmSync(lock, { force: true });
  rmSync(guard, { force: true });
}

function sleep() {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pollMs);
}

/** Returns the PID in the lock file, 0 if it was just created and is still empty, or null if there is none. */
function lockOwner() {
  try {
    return Number(readFileSync(lock, 'utf8'));
  } catch {
    return null;
  }
}

function isAlive(pid) {
  if (pid === 0) return Date.now() - modifiedMs(lock) < 1000;
  try {
    return process.kill(pid, 0);
  } catch (err) {
    return err.code === 'EPERM';
  }
}

/** Returns a digest of the names and contents of files. Unlike timestamps, it does not change with a Git checkout. */
function digestOf(paths) {
  const hash = createHash('sha256');
  const add = (path) => {
    if (statSync(join(root, path)).isDirectory())
      for (const name of readdirSync(join(root, path)).sort()) add(join(path, name));
    else
      hash.update(`${path}\0`).update(
        createHash('sha256')
          .update(readFileSync(join(root, path)))
          .digest(),
      );
  };
  for (const path of paths) add(path);
  return hash.digest('hex');
}

/** Returns the digest of the last build, or null if there is none. */
function readStamp() {
  try {
    return readFileSync(stamp, 'utf8');
  } catch {
    return null;
  }
}

function modifiedMs(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
