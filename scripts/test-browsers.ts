import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Runs the SDK's browser tests in Chromium (like the full test suite), Firefox and WebKit: `npm run test:browsers`,
 * `npm run test:browsers -- firefox test/browser/sdk/usp.test.ts`. Reports browsers that are not installed.
 */
const programs: Record<string, Readonly<Record<string, string>>> = {
  chromium: {},
  firefox: { 'firefox-esr': 'firefox-esr' },
  webkit: { WebKitWebDriver: 'webkit2gtk-driver', Xvfb: 'xvfb' },
};

const isInstalled = (program: string): boolean => spawnSync('which', [program]).status === 0;

const commandArguments = process.argv.slice(2);
const requestedBrowsers = commandArguments.filter((argument) => argument in programs);
const paths = commandArguments.filter((argument) => !(argument in programs));

type Report = { testResults: { message: string; assertionResults: { status: string; fullName: string }[] }[] };

/**
 * Summarizes a run from vitest's JSON report, or returns null if the run failed. Skipped tests need features that the
 * driver lacks (`lacks` in test/).
 */
function summary(reportPath: string): string | null {
  if (!existsSync(reportPath)) return null;
  const { testResults } = JSON.parse(readFileSync(reportPath, 'utf8')) as Report;
  const tests = testResults.flatMap(({ assertionResults }) => assertionResults);
  const namesOf = (status: string): string[] =>
    tests.filter((test) => test.status === status).map((test) => test.fullName);
  if (namesOf('failed').length > 0 || testResults.some(({ message }) => message !== '')) return null;
  const skipped = namesOf('skipped');
  const rest = skipped.length > 0 ? `, ${skipped.length} skipped because the driver does not support them:` : '';
  return [`${namesOf('passed').length} passed${rest}`, ...skipped].join('\n  - ');
}

const folder = mkdtempSync(join(tmpdir(), 'perkwire-browsers-'));
const results = (requestedBrowsers.length > 0 ? requestedBrowsers : Object.keys(programs)).map((browser) => {
  const missing = Object.entries(programs[browser] ?? {}).flatMap(([program, name]) =>
    isInstalled(program) ? [] : [name],
  );
  if (missing.length > 0) return `${browser}: not run; apt-get install ${missing.join(' ')}`;
  const report = join(folder, `${browser}.json`);
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const files = paths.length > 0 ? paths : ['test/browser/sdk'];
  spawnSync('npx', ['vitest', 'run', '--maxWorkers=1', ...reporters, ...files], {
    stdio: 'inherit',
    env: { ...process.env, BROWSER: browser },
  });
  const result = summary(report);
  if (result === null) process.exitCode = 1;
  return `${browser}: ${result ?? 'failed'}`;
});
rmSync(folder, { recursive: true });
process.stdout.write(`\n${results.join('\n')}\n`);
