import { execFile } from 'node:child_process';
import type { Stats } from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** System user that runs PostgreSQL when this process runs as root, because PostgreSQL refuses to run as root. */
export interface Account {
  uid: number;
  gid: number;
}

/**
 * Returns the system user that should run the server, or `undefined` if this process is not root; the server then runs
 * as the current user. An existing cluster keeps its owner, so that a single start with sudo does not lock the owner
 * out.
 */
export async function serverAccount(existingCluster: Stats | undefined): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  if (existingCluster !== undefined && existingCluster.uid !== 0)
    return { uid: existingCluster.uid, gid: existingCluster.gid };
  for (const name of ['postgres', 'nobody']) {
    const [uid, gid] = await Promise.all([idOf('-u', name), idOf('-g', name)]);
    if (uid !== undefined && gid !== undefined) return { uid, gid };
  }
  throw new Error(
    'PostgreSQL cannot run as root, and there is no user "postgres" or "nobody" to run it as; ' +
      'set DATABASE_URL instead',
  );
}

/** Whether the account can execute a file or traverse a folder. This is tested by trying it as that user. */
export async function canReach(account: Account, path: string): Promise<boolean> {
  return run('/bin/sh', ['-c', 'test -x "$1"', 'sh', path], { ...account, cwd: '/' }).then(
    () => true,
    () => false,
  );
}

/** Runs a PostgreSQL program to completion as the account, without environment variables that could affect it. */
export async function runProgram(program: string, args: string[], account: Account | undefined): Promise<void> {
  try {
    await run(program, args, { ...account, cwd: dirname(program), env: programEnv(), windowsHide: true });
  } catch (err) {
    const { message, stderr } = err as Error & { stderr?: string };
    throw new Error(`${program} failed: ${stderr?.trim() || message}`, { cause: err });
  }
}

/**
 * Returns the environment for PostgreSQL programs:
 * - `PG*` variables are removed, because they would change defaults.
 * - The locale is set, because without it the server becomes multithreaded on macOS and refuses to start.
 * - The time zone is set, because otherwise initdb compares every time zone with the system's.
 */
export function programEnv(): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(PG|LC_|LANG)/i.test(name));
  return { ...Object.fromEntries(inherited), LC_ALL: 'C', TZ: 'UTC' };
}

async function idOf(option: '-u' | '-g', name: string): Promise<number | undefined> {
  return run('id', [option, name]).then(
    ({ stdout }) => Number(stdout),
    () => undefined,
  );
}
