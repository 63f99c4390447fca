import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { publint } from 'publint';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ensureBuilt } from '../../../support/resources.ts';
import { type Stage, startStage } from '../support.ts';

const run = promisify(execFile);
const rootFolder = fileURLToPath(new URL('../../../../', import.meta.url));
const modules = join(rootFolder, 'node_modules');
/** Maximum size of the packed package, in bytes. 4 kB of it are the licence. */
const maxPackedBytes = 37_000;

let stage: Stage;
/** Folder of a separate Vite app that has the package installed from its tarball. */
let app: string;
let tarball: string;

beforeAll(async () => {
  await ensureBuilt();
  stage = await startStage();
  app = await mkdtemp(join(tmpdir(), 'perkwire-client-'));
  const packed = await run(
    'npm',
    ['pack', '--json', '--ignore-scripts', '--workspace', '@perkwire/client', '--pack-destination', app],
    { cwd: rootFolder },
  );
  tarball = join(app, (JSON.parse(packed.stdout) as [{ filename: string }])[0].filename);
  await cp(new URL('./app/', import.meta.url), app, { recursive: true });
  const dependencies = { '@perkwire/client': `file:${tarball}` };
  await writeFile(join(app, 'package.json'), JSON.stringify({ private: true, type: 'module', dependencies }));
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund'], { cwd: app });
  // Link the versions from the lock file instead of downloading them again.
  await mkdir(join(app, 'node_modules/@types'));
  for (const name of ['react', 'react-dom', 'vite', '@types/react', '@types/react-dom'])
    await symlink(join(modules, name), join(app, 'node_modules', name));
  await buildApp();
});
afterAll(async () => {
  await rm(app, { recursive: true, force: true });
  await stage.close();
});

const installed = (path: string): string => join(app, 'node_modules/@perkwire/client', path);

test(`the package is at most ${maxPackedBytes / 1000} kB and has no dependencies`, async () => {
  expect((await stat(tarball)).size).toBeLessThanOrEqual(maxPackedBytes);
  const manifest = JSON.parse(await readFile(installed('package.json'), 'utf8'));
  expect([manifest.dependencies, manifest.peerDependenciesMeta]).toEqual([undefined, { react: { optional: true } }]);
  await expect(stat(installed('node_modules'))).rejects.toThrow('ENOENT');
});

test('the package loads in Node without React', async () => {
  const code = "import('@perkwire/client').then((all) => console.log(Object.keys(all).sort().join(' ')))";
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', code], { cwd: app });
  for (const name of ['NavigationGuard', 'fetchOffers', 'renderCheckoutHtml', 'renderPrefetchHtml', 'verifyWebhook'])
    expect(stdout.split(/\s/)).toContain(name);
});

test('a CommonJS program can require the package', async () => {
  const code =
    "const { fetchOffers: first, verifyWebhook: last } = require('@perkwire/client');" +
    'console.log(typeof first, typeof last)';
  const { stdout } = await run(process.execPath, ['--input-type=commonjs', '--eval', code], { cwd: app });
  expect(stdout.trim()).toBe('function function');
});

test('publint finds no problems with the exports', async () => {
  const { messages } = await publint({ pkgDir: installed(''), strict: true });
  expect(messages).toEqual([]);
});

/** Event callbacks as publishers write them. */
const callbacks = `import type { AdConfig } from '@perkwire/client';
export const configs: AdConfig[] = [
  { callback: (event) => event === 'closed_ads' },
  { callback: (event: string) => event.length },
  { callback: () => {} },
  { callback: (event, payload) => (event === 'ads_found' ? payload.offerCount : 0) },
];
// @ts-expect-error An event is a text.
export const wrong: AdConfig = { callback: (event: number) => event };
`;

test.each([
  ['ES module', 'consumer.mts', 'node16', 'node16'],
  ['CommonJS', 'consumer.cts', 'node16', 'node16'],
  ['bundled', 'consumer.ts', 'preserve', 'bundler'],
])('the types compile in strict mode in an %s program', async (_kind, file, module, moduleResolution) => {
  await writeFile(join(app, file), callbacks);
  const tsc = join(modules, 'typescript/bin/tsc');
  const flags = [
    '--module',
    module,
    '--moduleResolution',
    moduleResolution,
    '--target',
    'es2023',
    '--lib',
    'es2023,dom',
  ];
  await run(process.execPath, [tsc, ...flags, '--strict', '--noEmit', '--ignoreConfig', file], { cwd: app });
});

test('the types compile in a React app, and on a server without DOM and React', async () => {
  const tsc = join(modules, 'typescript/bin/tsc');
  await run(process.execPath, [tsc, '-p', app], { cwd: app });
  await writeFile(join(app, 'server.ts'), "export { fetchOffers, type Ad, verifyWebhook } from '@perkwire/client';\n");
  const server = ['--module', 'nodenext', '--target', 'es2023', '--lib', 'es2023', '--strict', '--noEmit'];
  const types = ['--types', 'node', '--typeRoots', join(modules, '@types')];
  await run(process.execPath, [tsc, ...server, ...types, '--ignoreConfig', 'server.ts'], { cwd: app });
});

test('a unit renders as an empty container on a server', async () => {
  const code = `import { createElement } from 'react'; import { renderToString } from 'react-dom/server';
import { OfferUnit } from '@perkwire/client/react';
console.log(renderToString(createElement(OfferUnit, { placement: 'checkout', className: 'perks' })));`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', code], { cwd: app });
  expect(stdout.trim()).toBe('<div class="perks"></div>');
});

async function buildApp(): Promise<void> {
  await run(process.execPath, [join(modules, 'vite/bin/vite.js'), 'build', '--logLevel', 'warn'], {
    cwd: app,
    env: { ...process.env, NODE_ENV: '', VITE_SERVICE: stage.url, VITE_SDK_ID: stage.t.publisher.sdkId },
  });
}

/** Serves the built app. */
async function serveApp(): Promise<{ url: string; close: () => void }> {
  const types: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript' };
  const server = createServer(async (request, response) => {
    const path = new URL(request.url ?? '/', 'http://app').pathname;
    const file = join(app, 'dist', path === '/' ? 'index.html' : path);
    const content = await readFile(file).catch(() => null);
    response.writeHead(content === null ? 404 : 200, { 'content-type': types[extname(file)] ?? 'text/plain' });
    response.end(content);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, close: () => server.close() };
}

const logOf = async (page: Page): Promise<string[]> => ((await page.textContent('#log')) ?? '').split('\n');

test('a perk is selected and confirmed once in a built app in React strict mode', async () => {
  const served = await serveApp();
  const page = await (await stage.newContext()).newPage();
  const requests: string[] = [];
  const problems: string[] = [];
  page.on('request', (request) => requests.push(new URL(request.url()).pathname));
  page.on('pageerror', (err) => problems.push(String(err)));
  await page.goto(`${served.url}?user=react-1`);
  await page.locator('.tile').first().waitFor();
  expect(await page.locator('[data-perkwire]').count()).toBe(1);
  await page.getByRole('checkbox').first().check();
  await expect.poll(() => logOf(page)).toContain('selected number');
  await page.getByRole('button', { name: 'Place order' }).click();
  await expect.poll(() => logOf(page)).toContain('confirmed 1');
  const { rows } = await stage.t.pool.query("select id from sessions where pub_user_id = 'react-1'");
  expect(rows).toHaveLength(1);
  expect(requests.filter((path) => path.endsWith('/launcher.min.js'))).toHaveLength(1);

  await page.getByRole('button', { name: 'Leave' }).click();
  await expect.poll(() => page.locator('[data-perkwire]').count()).toBe(0);
  await page.getByRole('button', { name: 'Return' }).click();
  await page.locator('.tile').first().waitFor();
  expect(requests.filter((path) => path.endsWith('/launcher.min.js'))).toHaveLength(1);
  expect(await logOf(page)).toEqual(['offers 3', 'selected number', 'confirmed 1', 'offers 3']);
  expect(problems).toEqual([]);
  served.close();
});

test('an order placed before the unit has loaded is confirmed once it has loaded', async () => {
  const served = await serveApp();
  const page = await (await stage.newContext()).newPage();
  let release: () => void = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route('**/launcher.min.js', async (route) => {
    await released;
    await route.continue();
  });
  await page.goto(`${served.url}?user=react-2`);
  await page.getByRole('button', { name: 'Place order' }).click();
  release();
  await expect.poll(() => logOf(page)).toContain('confirmed 0');
  served.close();
});
