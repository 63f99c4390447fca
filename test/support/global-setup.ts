import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestProject } from 'vitest/node';
import { type Resources, resourcesVariable } from './resources.ts';

/** A created resource: its value, a log message about it, and how to close it. */
type CreatedResource<Value> = { value: Value; message: string; close?: () => Promise<void> };

const makers: { [Name in keyof Resources]: () => Promise<CreatedResource<Resources[Name]>> } = {
  postgres: async () => (await import('./run-postgres.ts')).startRunPostgres(),
  sdk: async () => {
    const built = await (await import('./builds.ts')).buildSdk();
    return { value: null, message: built ? 'scripts for browsers: built' : 'scripts for browsers: up to date' };
  },
  build: async () => {
    const built = await (await import('./builds.ts')).buildAll();
    return { value: null, message: built ? 'server and packages: built' : 'server and packages: up to date' };
  },
  chromium: async () => {
    const { default: chromium } = await import('@sparticuz/chromium');
    return { value: await chromium.executablePath(), message: 'Chromium: unpacked' };
  },
};

/**
 * Serves the shared test resources on a separate port. Each resource is created once per run, when the first test file
 * requests it. In watch mode, it is created again when its files change.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const resources = new Map<string, Promise<CreatedResource<unknown>>>();
  const print = (text: string): void => project.vitest.logger.log(`set-up: ${text}`);
  print(`TEST_SEED=${project.config.env.TEST_SEED} repeats the generated inputs of this run`);
  const make = async (name: keyof Resources): Promise<CreatedResource<unknown>> => {
    const startMs = performance.now();
    const resource = await makers[name]();
    print(`${resource.message} (${((performance.now() - startMs) / 1000).toFixed(1)} s)`);
    return resource;
  };
  const server = createServer(async ({ url = '' }, response) => {
    const name = url.slice(1) as keyof Resources;
    const creation = resources.get(name) ?? make(name);
    resources.set(name, creation);
    await creation.then(
      ({ value }) => response.end(JSON.stringify(value)),
      (err) => response.writeHead(500).end(`${name}: ${err instanceof Error ? err.stack : err}`),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  process.env[resourcesVariable] = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  project.onTestsRerun(async () => {
    for (const name of ['sdk', 'build']) resources.delete(name);
  });
  return async () => {
    if (resources.size === 0) print('nothing was asked for: neither PostgreSQL nor a build');
    for (const result of await Promise.allSettled(resources.values()))
      if (result.status === 'fulfilled') await result.value.close?.();
    server.close();
    server.closeAllConnections();
  };
}
