import { spawnSync } from 'node:child_process';

/**
 * Runs the browser tests of the SDK in Firefox (and, as in the whole suite, in Chromium): `npm run test:browsers`,
 * `npm run test:browsers -- firefox test/browser/sdk/usp.test.ts`. Says what is not installed.
 */
const programs: Record<string, readonly string[]> = { chromium: [], firefox: ['firefox-esr'] };

const isInstalled = (program: string): boolean => spawnSync('which', [program]).status === 0;

const given = process.argv.slice(2);
const named = given.filter((argument) => argument in programs);
const paths = given.filter((argument) => !(argument in programs));

const results = (named.length > 0 ? named : Object.keys(programs)).map((browser) => {
  const missing = (programs[browser] ?? []).filter((program) => !isInstalled(program));
  if (missing.length > 0) return `${browser}: not installed; apt-get install ${missing.join(' ')}`;
  const { status } = spawnSync('npx', ['vitest', 'run', ...(paths.length > 0 ? paths : ['test/browser/sdk'])], {
    stdio: 'inherit',
    env: { ...process.env, BROWSER: browser },
  });
  if (status !== 0) process.exitCode = 1;
  return `${browser}: ${status === 0 ? 'passed' : 'failed'}`;
});
process.stdout.write(`\n${results.join('\n')}\n`);
