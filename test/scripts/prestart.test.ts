import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const run = promisify(execFile);

test('of several starts in one checkout, only one builds, and only a changed source causes another build', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'perkwire-prestart-'));
  const client = join(folder, 'packages/client');
  for (const path of ['scripts', 'src', 'dist', 'packages/client/src'])
    await mkdir(join(folder, path), { recursive: true });
  for (const file of ['prestart.js', 'check-node.js']) await copyFile(`scripts/${file}`, join(folder, 'scripts', file));
  for (const file of ['tsconfig.json', 'tsconfig.build.json', 'package-lock.json'])
    await writeFile(join(folder, file), '');
  for (const file of ['package.json', 'tsconfig.json', 'tsconfig.cjs.json', 'mark-cjs.js'])
    await writeFile(join(client, file), '{}');
  const build = "node -e \"fs.appendFileSync('builds', 'x'); setTimeout(() => {}, 500)\"";
  const description = { engines: { node: '>=20' }, type: 'module', scripts: { 'build:to-start': build } };
  await writeFile(join(folder, 'package.json'), JSON.stringify(description));
  // A lock that a killed process left behind.
  await writeFile(join(folder, 'dist/.building'), '999999999');

  const start = () => run(process.execPath, [join(folder, 'scripts/prestart.js')]);
  await Promise.all([start(), start(), start()]);
  expect(await readFile(join(folder, 'builds'), 'utf8')).toBe('x');
  const main = join(folder, 'src/main.ts');
  await writeFile(main, '1');
  await start();
  expect(await readFile(join(folder, 'builds'), 'utf8')).toBe('xx');
  await utimes(main, 1, 1);
  await writeFile(join(folder, 'src/other.ts'), '');
  await rm(join(folder, 'src/other.ts'));
  await start();
  expect(await readFile(join(folder, 'builds'), 'utf8')).toBe('xx');
  await rm(folder, { recursive: true });
});
