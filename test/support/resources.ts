/**
 * Resources shared by all tests of a run. The global set-up starts or builds each one when a test file first requests
 * it.
 */
export type Resources = {
  /** URL of the template database, with all migrations and the demo catalogue. */
  postgres: string;
  /** The contents of `dist/sdk`, which pages load. */
  sdk: null;
  /** All of `dist` and `packages/client/dist`, for separate processes and for packages. */
  build: null;
  /** Path of the unpacked Chromium. */
  chromium: string;
};

/**
 * Environment variable with the URL of the global set-up, which workers inherit. It is unset in benches, whose commands
 * build in advance.
 */
export const resourcesVariable = 'PERKWIRE_TEST_RESOURCES';

const requests = new Map<keyof Resources, Promise<unknown>>();

/** Resolves when the resource is available, which is immediately if this worker already has it. */
export function resource<Name extends keyof Resources>(name: Name): Promise<Resources[Name]> {
  const request = requests.get(name) ?? ask(name);
  requests.set(name, request);
  return request as Promise<Resources[Name]>;
}

export const hasResources = (): boolean => process.env[resourcesVariable] !== undefined;

/** Resolves when `dist` and `packages/client/dist` are up to date. Benches have built them in advance. */
export async function ensureBuilt(): Promise<void> {
  if (hasResources()) await resource('build');
}

async function ask(name: keyof Resources): Promise<unknown> {
  const answer = await fetch(`${process.env[resourcesVariable]}/${name}`);
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}
