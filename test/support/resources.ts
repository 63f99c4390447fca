/** What the tests of one run share and the global set-up starts or builds once, when a test file first asks. */
export type Resources = {
  /** URL of the template database: migrated, with the demo catalogue. */
  postgres: string;
  /** `dist/sdk`, which pages load. */
  sdk: null;
  /** All of `dist` and `packages/client/dist`, for processes of their own and for packages. */
  build: null;
  /** Path of Chromium, unpacked. */
  chromium: string;
};

/** Where the global set-up listens; workers inherit it. Unset in benches, whose commands build beforehand. */
export const resourcesVariable = 'PERKWIRE_TEST_RESOURCES';

const asked = new Map<keyof Resources, Promise<unknown>>();

/** Resolves when the resource is there: at once where this worker had it before. */
export function resource<Name extends keyof Resources>(name: Name): Promise<Resources[Name]> {
  const known = asked.get(name) ?? ask(name);
  asked.set(name, known);
  return known as Promise<Resources[Name]>;
}

export const hasResources = (): boolean => process.env[resourcesVariable] !== undefined;

/** Resolves when `dist` and `packages/client/dist` are those of the sources; benches have built them before. */
export async function ensureBuilt(): Promise<void> {
  if (hasResources()) await resource('build');
}

async function ask(name: keyof Resources): Promise<unknown> {
  const answer = await fetch(`${process.env[resourcesVariable]}/${name}`);
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}
