import { execFile } from 'node:child_process';
import type { Stats } from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** System user for PostgreSQL if this process is root, which PostgreSQL refuses to run as. */
export interface Account {
  uid: number;
  gid: number;
}

/**
 * Returns the user for the server, or `undefined` unless this process is root: then the server runs as the same user. A
 * cluster that belongs to another user keeps its owner, so that starting once with sudo does not lock that user out.
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

/** Whether the account may execute the file, or pass through the folder. Checked by trying it as that user. */
export async function canReach(account: Account, path: string): Promise<boolean> {
  return run('/bin/sh', ['-c', 'test -x "$1"', 'sh', path], { ...account, cwd: '/' }).then(
    () => true,
    () => false,
  );
}

/**
 * Runs one of PostgreSQL's programs to its end as the account, without variables of our environment that could affect
 * it.
 */
export async function runProgram(program: string, args: string[], account: Account | undefined): Promise<void> {
  try {
    await run(program, args, { ...account, cwd: dirname(program), env: programEnv(), windowsHide: true });
  } catch (err) {
    const { message, stderr } = err as Error & { stderr?: string };
    throw new Error(`${program} failed: ${stderr?.trim() || message}`, { cause: err });
  }
}

/**
 * Environment of PostgreSQL's programs. PG* variables would set defaults. Without a locale the server becomes
 * multithreaded on macOS and refuses to start; without a time zone initdb compares all time zones with the system's.
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
