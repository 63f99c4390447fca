import { runCommands } from './service.ts';

const test = "npx vitest run test/e2e/command-line.test.ts -t 'from two tarballs'";

/**
 * The first hour with Perkwire of somebody who has nothing of it: npm installs both packages from their tarballs into
 * an empty folder, with the dependencies that its registry has now; `perkwire start` brings its own database.
 */
export async function hour(): Promise<string> {
  await runCommands(test, { INSTALL_FROM_REGISTRY: '1', NO_COLOR: '1' });
  return 'installed, listened, verified, broken, told, repaired, retried';
}
