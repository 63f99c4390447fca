import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const fromRivals = createRequire(new URL('../../rivals/package.json', import.meta.url));

/** Imports a package from `bench/rivals`, which is installed on demand. The caller declares the types it uses. */
export const importRival = async <Module>(name: string): Promise<Module> =>
  (await import(pathToFileURL(fromRivals.resolve(name)).href)) as Module;
