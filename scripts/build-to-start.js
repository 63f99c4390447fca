// Writes the same files as `npm run build`, but in a third of the time: its parts run concurrently, and the server's
// types aren't checked.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const cwd = fileURLToPath(new URL('..', import.meta.url));

/** Runs a command. Resolves to its exit code. */
const run = (command) =>
  new Promise((resolve) => {
    spawn(command, { cwd, stdio: 'inherit', shell: true }).on('exit', (code) => resolve(code ?? 1));
  });

const codes = await Promise.all(
  ['tsc -p tsconfig.build.json --noCheck', 'npm run --silent build:client', 'tsx scripts/build-sdk.ts'].map(run),
);
process.exitCode = codes.find((code) => code !== 0) ?? (await run('node scripts/prune-dist.js'));
