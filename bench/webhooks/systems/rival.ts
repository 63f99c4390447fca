import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const fromRivals = createRequire(new URL('../../rivals/package.json', import.meta.url));

/** Imports a package of `bench/rivals`, which is installed on demand. The caller declares the used types. */
export const importRival = async <Module>(name: string): Promise<Module> =>
  (await import(pathToFileURL(fromRivals.resolve(name)).href)) as Module;
