import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { chmod, chown, copyFile, mkdir, mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { serverProcesses } from '../support/postgres.ts';
import { type DatabaseProxy, startProxy } from '../support/proxy.ts';
import { endChild, freePort } from '../support/server-process.ts';
import { etcdSection, patroniSettings, postgresSettings } from './patroni-settings.ts';

/** Time that Patroni waits for a silent leader, in seconds. This is the smallest value that it accepts. */
export const ttlS = patroniSettings.ttl;

/** A PostgreSQL server with its Patroni. All other components reach it through proxies that can be frozen. */
type Node = {
  name: string;
  restUrl: string;
  /** Proxy that clients and replicas connect to. */
  front: DatabaseProxy;
  toEtcd: DatabaseProxy;
  /** Proxy through which the other Patroni processes check whether this one is alive. */
  toRest: DatabaseProxy;
  dataDir: string;
  child: ChildProcess;
};

export type PatroniCluster = {
  url: string;
  leader: () => Promise<string>;
  syncStandby: () => Promise<string>;
  kill: (name: string) => void;
  stop: (name: string) => void;
  /** Stops a node like a paused machine, whose connections to etcd do not survive. */
  pause: (name: string) => void;
  cutNetwork: (name: string) => void;
  switchOver: (from: string, to: string) => Promise<void>;
  /** Undoes all failures of a node, and waits until all three nodes run with a synchronous standby. */
  mend: (name: string) => Promise<void>;
  /** Copies the logs of Patroni and PostgreSQL, one file per node. */
  saveLogs: (folder: string) => Promise<void>;
  close: () => Promise<void>;
};

const user = 'postgres';

/** @throws if a program is missing, with installation instructions */
export async function startPatroniCluster(): Promise<PatroniCluster> {
  const binDir = postgresBinaries();
  for (const program of ['patroni', 'etcd']) requireProgram(program, 'failover', install);
  const folder = await mkdtemp(join(tmpdir(), 'perkwire-failover-'));
  await chmod(folder, 0o755);
  const ids = { uid: idOf('-u'), gid: idOf('-g') };
  const etcdIn = etcdSection(execFileSync('patroni', ['--version'], { encoding: 'utf8' }));
  const etcdPort = await freePort();
  const etcd = spawn('etcd', etcdArgs(join(folder, 'etcd'), etcdPort, await freePort()), { stdio: 'ignore' });
  const nodes: Node[] = [];
  const shared = { folder, binDir, etcdPort, etcdIn, ids };
  for (const name of ['one', 'two', 'three']) nodes.push(await startNode({ name, ...shared }));
  const paused = new Set<string>();
  const nodeOf = (name: string): Node => nodes.find((node) => node.name === name) as Node;
  await untilHealthy(nodes);
  return {
    url: `postgres://${user}:${user}@${nodes.map(({ front }) => new URL(front.url).host).join(',')}/postgres`,
    leader: () => memberOf(nodes, 'leader'),
    syncStandby: () => memberOf(nodes, 'sync_standby'),
    kill: (name) => signal(nodeOf(name), 'SIGKILL'),
    stop: (name) => signal(nodeOf(name), 'SIGSTOP'),
    pause: (name) => {
      signal(nodeOf(name), 'SIGSTOP');
      nodeOf(name).toEtcd.freeze();
      nodeOf(name).toEtcd.strand();
      paused.add(name);
    },
    cutNetwork: (name) => {
      nodeOf(name).front.freeze();
      nodeOf(name).toEtcd.freeze();
      nodeOf(name).toRest.freeze();
    },
    switchOver: async (leader, candidate) => {
      const answer = await fetch(`${nodeOf(leader).restUrl}/switchover`, {
        method: 'POST',
        body: JSON.stringify({ leader, candidate }),
      });
      if (!answer.ok) throw new Error(`Patroni did not switch over: ${await answer.text()}`);
    },
    mend: async (name) => {
      const node = nodeOf(name);
      node.front.heal();
      node.toRest.heal();
      if (!paused.delete(name)) node.toEtcd.heal();
      if (node.child.exitCode === null && node.child.signalCode === null) signal(node, 'SIGCONT');
      else node.child = await startPatroni(folder, name, ids);
      await untilHealthy(nodes);
    },
    saveLogs: async (into) => {
      for (const { name } of nodes) await copyFile(logOf(folder, name), join(into, `${name}.log`));
    },
    close: async () => {
      for (const node of nodes) {
        signal(node, 'SIGCONT');
        signal(node, 'SIGKILL');
        node.front.close();
        node.toEtcd.close();
        node.toRest.close();
      }
      await endChild(etcd, 'SIGKILL');
      await rm(folder, { recursive: true, force: true, maxRetries: 50, retryDelay: 200 });
    },
  };
}

const install = 'apt-get install patroni etcd-server postgresql (Debian)';

/**
 * Returns the folder of the newest installed PostgreSQL.
 * @throws if none exists
 */
export function postgresBinaries(): string {
  const root = '/usr/lib/postgresql';
  const newest = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a))[0] : undefined;
  if (newest === undefined) throw new Error(`this needs PostgreSQL in ${root}: ${install}`);
  return join(root, newest, 'bin');
}

/** @throws if the program is missing, with what needs it and how to install it */
export function requireProgram(program: string, neededBy: string, how: string): void {
  const isInstalled = (process.env.PATH ?? '').split(':').some((folder) => existsSync(join(folder, program)));
  if (!isInstalled) throw new Error(`"${neededBy}" needs ${program}: ${how}`);
}

/** Returns the user or group ID of the account that PostgreSQL runs as. */
export const idOf = (flag: string): number => Number(execFileSync('id', [flag, user], { encoding: 'utf8' }));

const etcdArgs = (dataDir: string, port: number, peerPort: number): string[] => {
  const [client, peer] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${peerPort}`];
  return [
    ...['--enable-v2', '--data-dir', dataDir, '--listen-client-urls', client, '--advertise-client-urls', client],
    ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer, '--initial-cluster', `default=${peer}`],
  ];
};

type Ids = { uid: number; gid: number };
type NodeOptions = {
  name: string;
  folder: string;
  binDir: string;
  etcdPort: number;
  etcdIn: ReturnType<typeof etcdSection>;
  ids: Ids;
};

async function startNode({ name, folder, binDir, etcdPort, etcdIn, ids }: NodeOptions): Promise<Node> {
  const [restPort, port] = [await freePort(), await freePort()];
  const front = await startProxy(`postgres://127.0.0.1:${port}/postgres`);
  const toEtcd = await startProxy(`http://127.0.0.1:${etcdPort}`);
  const toRest = await startProxy(`http://127.0.0.1:${restPort}`);
  const home = join(folder, name);
  await mkdir(home);
  await chown(home, ids.uid, ids.gid);
  const rest = `127.0.0.1:${restPort}`;
  const parameters = {
    unix_socket_directories: home,
    max_connections: 200,
    ...postgresSettings,
  };
  const settings = {
    scope: 'perkwire',
    name,
    restapi: { listen: rest, connect_address: new URL(toRest.url).host },
    // Use the proxy instead of the address that etcd advertises.
    [etcdIn]: { hosts: [new URL(toEtcd.url).host], use_proxies: true },
    bootstrap: {
      dcs: {
        ...patroniSettings,
        postgresql: { use_pg_rewind: true, parameters: { ...parameters, unix_socket_directories: undefined } },
      },
      initdb: [{ encoding: 'UTF8' }, 'data-checksums'],
      pg_hba: ['host replication all 127.0.0.1/32 trust', 'host all all 127.0.0.1/32 trust', 'local all all trust'],
    },
    postgresql: {
      listen: `127.0.0.1:${port}`,
      connect_address: new URL(front.url).host,
      data_dir: join(home, 'data'),
      bin_dir: binDir,
      pgpass: join(home, 'pgpass'),
      authentication: {
        superuser: { username: user, password: user },
        replication: { username: 'replicator', password: 'replicator' },
      },
      parameters,
      // Commits don't wait for a standby until the checkpointer has read that setting, which takes seconds if it is
      // busy.
      pre_promote: `${join(binDir, 'psql')} -h ${home} -p ${port} -U ${user} -d postgres -qc checkpoint`,
    },
  };
  // JSON is valid YAML.
  await writeFile(join(home, 'patroni.yml'), JSON.stringify(settings));
  const child = await startPatroni(folder, name, ids);
  return { name, restUrl: `http://${rest}`, front, toEtcd, toRest, dataDir: join(home, 'data'), child };
}

/** Returns the path of Patroni's log, which is also that of its PostgreSQL server. */
const logOf = (folder: string, name: string): string => join(folder, name, 'patroni.log');

async function startPatroni(folder: string, name: string, ids: Ids): Promise<ChildProcess> {
  const log = await open(logOf(folder, name), 'a');
  const child = spawn('patroni', [join(folder, name, 'patroni.yml')], {
    ...ids,
    cwd: join(folder, name),
    stdio: ['ignore', log.fd, log.fd],
  });
  await log.close();
  return child;
}

/** Sends a signal to Patroni, and then to every process of its PostgreSQL. */
function signal({ child, dataDir }: Node, name: NodeJS.Signals): void {
  const ids = existsSync(join(dataDir, 'postmaster.pid')) ? serverProcesses(dataDir) : [];
  for (const id of [child.pid as number, ...ids]) {
    try {
      process.kill(id, name);
    } catch {
      // The process has already ended.
    }
  }
}

type Member = { name: string; role: string; state: string; timeline?: number };

/** Returns the cluster members according to the first Patroni that responds. */
async function membersOf(nodes: readonly Node[]): Promise<Member[]> {
  for (const { restUrl } of nodes) {
    const answer = await fetch(`${restUrl}/cluster`, { signal: AbortSignal.timeout(2000) }).catch(() => null);
    if (answer?.ok) return ((await answer.json()) as { members?: Member[] }).members ?? [];
  }
  return [];
}

async function memberOf(nodes: readonly Node[], role: string): Promise<string> {
  const server = (await membersOf(nodes)).find((member) => member.role === role);
  if (server === undefined) throw new Error(`no server of the cluster is its ${role}`);
  return server.name;
}

const healthyLimitMs = 180_000;

async function untilHealthy(nodes: readonly Node[]): Promise<void> {
  const endMs = performance.now() + healthyLimitMs;
  for (;;) {
    const members = await membersOf(nodes);
    const roles = members.filter(({ state }) => ['running', 'streaming'].includes(state)).map(({ role }) => role);
    // A stopped leader stays on an earlier timeline until it learns of the failover and is rewound.
    const isOneTimeline = new Set(members.map(({ timeline }) => timeline)).size === 1;
    const isWhole = roles.length === nodes.length && isOneTimeline;
    if (isWhole && roles.includes('leader') && roles.includes('sync_standby')) return;
    if (performance.now() > endMs) throw new Error(`the cluster is not whole: ${JSON.stringify(members)}`);
    await sleep(500);
  }
}
