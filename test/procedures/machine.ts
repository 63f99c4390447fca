import { execFileSync } from 'node:child_process';
import { chmod, chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { idOf, postgresBinaries } from '../chaos/patroni.ts';
import { freePort } from '../support/server-process.ts';

/** A simulated machine with its own PostgreSQL server and an empty database. */
export type Machine = {
  url: string;
  folder: string;
  /** @returns the database URL */
  createDatabase: (name: string) => Promise<string>;
  close: () => Promise<void>;
};

/** Returns a PATH that starts with PostgreSQL's programs. */
export const programPath = (): string => `${postgresBinaries()}:${process.env.PATH}`;

/** Returns the account that PostgreSQL runs as, or undefined to use the current account. */
export const accountIds = (): { uid: number; gid: number } | undefined =>
  process.getuid?.() === 0 ? { uid: idOf('-u'), gid: idOf('-g') } : undefined;

/**
 * @param binDir folder of PostgreSQL's programs; default: those of the operating system
 * @throws if PostgreSQL is not installed, with installation instructions
 */
export async function startMachine(binDir = postgresBinaries()): Promise<Machine> {
  const folder = await mkdtemp(join(tmpdir(), 'perkwire-machine-'));
  await chmod(folder, 0o755);
  const ids = accountIds();
  if (ids !== undefined) await chown(folder, ids.uid, ids.gid);
  const [data, port] = [join(folder, 'data'), await freePort()];
  const run = (program: string, ...args: string[]): void => {
    execFileSync(join(binDir, program), args, { ...ids, cwd: folder, stdio: 'ignore' });
  };
  run('initdb', '--pgdata', data, '--username', 'postgres', '--auth', 'trust', '--encoding', 'UTF8');
  const settings = `-c unix_socket_directories=${folder} -c max_connections=200`;
  const options = `-p ${port} -c listen_addresses=127.0.0.1 ${settings}`;
  run('pg_ctl', 'start', '--wait', '--pgdata', data, '--log', join(folder, 'log'), '--options', options);
  const urlOf = (name: string): string => `postgres://postgres@127.0.0.1:${port}/${name}`;
  const createDatabase = async (name: string): Promise<string> => {
    const client = new pg.Client({ connectionString: urlOf('postgres') });
    await client.connect();
    await client.query(`create database ${name}`);
    await client.end();
    return urlOf(name);
  };
  return {
    url: await createDatabase('perkwire'),
    folder,
    createDatabase,
    close: async () => {
      run('pg_ctl', 'stop', '--mode', 'immediate', '--pgdata', data);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
