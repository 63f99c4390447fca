import { runCommands } from './service.ts';

const test = "npx vitest run test/e2e/command-line.test.ts -t 'from two tarballs'";

/**
 * Simulates a new user's first hour with Perkwire. npm installs both packages from their tarballs into an empty folder,
 * with the dependencies currently in the registry. `perkwire start` uses its embedded database.
 */
export async function hour(): Promise<string> {
  await runCommands(test, { INSTALL_FROM_REGISTRY: '1', NO_COLOR: '1' });
  return 'installed, listened, verified, broken, told, repaired, retried';
}
