import { execFileSync } from 'node:child_process';
import { chmod, chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { idOf, postgresBinaries } from '../chaos/patroni.ts';
import { freePort } from '../support/server-process.ts';

/** A machine with a PostgreSQL of its own, as the operating system brings it, and an empty database. */
export type Machine = { url: string; folder: string; close: () => Promise<void> };

/** The programs of PostgreSQL first. */
export const programPath = (): string => `${postgresBinaries()}:${process.env.PATH}`;

/** @throws where no PostgreSQL is installed, saying how it is */
export async function startMachine(): Promise<Machine> {
  const binDir = postgresBinaries();
  const folder = await mkdtemp(join(tmpdir(), 'perkwire-machine-'));
  await chmod(folder, 0o755);
  const ids = process.getuid?.() === 0 ? { uid: idOf('-u'), gid: idOf('-g') } : {};
  if ('uid' in ids) await chown(folder, ids.uid as number, ids.gid as number);
  const [data, port] = [join(folder, 'data'), await freePort()];
  const run = (program: string, ...args: string[]): void => {
    execFileSync(join(binDir, program), args, { ...ids, cwd: folder, stdio: 'ignore' });
  };
  run('initdb', '--pgdata', data, '--username', 'postgres', '--auth', 'trust', '--encoding', 'UTF8');
  const settings = `-c unix_socket_directories=${folder} -c max_connections=200`;
  const options = `-p ${port} -c listen_addresses=127.0.0.1 ${settings}`;
  run('pg_ctl', 'start', '--wait', '--pgdata', data, '--log', join(folder, 'log'), '--options', options);
  run('createdb', '--host', '127.0.0.1', '--port', String(port), '--username', 'postgres', 'perkwire');
  return {
    url: `postgres://postgres@127.0.0.1:${port}/perkwire`,
    folder,
    close: async () => {
      run('pg_ctl', 'stop', '--mode', 'immediate', '--pgdata', data);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
