import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { engines, scripts } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));

/** Runs a script in a Node.js process that reports another version. */
const runAs = (version: string, script: string) => {
  const versions = `Object.defineProperty(process, 'versions', { value: { node: '${version}' } })`;
  const args = ['--import', `data:text/javascript,${encodeURIComponent(versions)}`, script];
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
  return { status, stderr };
};

const check = 'scripts/check-node.js';
const [major, minor] = engines.node.replace('>=', '').split('.').map(Number);

test('npm start and npm run dev reject an older Node.js with one sentence and exit code 1', () => {
  expect(scripts.prestart).toBe('node scripts/prestart.js');
  expect(scripts.predev).toMatch(new RegExp(`^node ${check} && `));
  for (const script of [check, 'scripts/prestart.js'])
    for (const version of ['16.0.0', `${major - 1}.99.8`, `${major}.${minor - 1}.3`])
      expect(runAs(version, script)).toEqual({
        status: 1,
        stderr: `Perkwire requires Node.js ${major}.${minor} or newer, but this is version ${version}.\n`,
      });
});

test('the version required by package.json and newer versions are accepted', () => {
  for (const version of [`${major}.${minor}.0`, `${major}.${minor + 1}.1`, `${major + 2}.0.0`, process.versions.node])
    expect(runAs(version, check)).toEqual({ status: 0, stderr: '' });
});
