import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { requireProgram } from '../chaos/patroni.ts';
import { endChild, freePort } from '../support/server-process.ts';

/** OpenStack Swift with its S3 interface, a third-party object store that verifies signatures itself. */
export type Swift = {
  endpoint: string;
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
  start: () => Promise<void>;
  stop: () => Promise<void>;
  close: () => Promise<void>;
};

const install = 'apt-get install swift-proxy swift-account swift-container swift-object (Debian)';
const stores = ['account', 'container', 'object'] as const;
const [region, user, secret] = ['eu-central-1', 'perkwire', 'secret-of-the-bucket'];

/**
 * Starts Swift with a single replica in a temporary folder.
 * @throws if a program is missing, with installation instructions
 */
export async function startSwift(): Promise<Swift> {
  for (const name of [...stores, 'proxy']) requireProgram(`swift-${name}-server`, 'bucket', install);
  requireProgram('swift-ring-builder', 'bucket', install);
  const folder = await mkdtemp(join(tmpdir(), 'perkwire-swift-'));
  await mkdir(join(folder, 'devices/one'), { recursive: true });
  const policy = '[storage-policy:0]\nname = one\ndefault = yes\n';
  await writeFile(join(folder, 'swift.conf'), `[swift-hash]\nswift_hash_path_suffix = perkwire\n${policy}`);
  const ports = new Map<string, number>();
  for (const name of stores) {
    ports.set(name, await freePort());
    const ring = (...args: string[]): unknown =>
      execFileSync('swift-ring-builder', [join(folder, `${name}.builder`), ...args], { stdio: 'ignore' });
    ring('create', '4', '1', '1');
    ring('add', `r1z1-127.0.0.1:${ports.get(name)}/one`, '1');
    ring('rebalance');
    const settings = `devices = ${join(folder, 'devices')}\nmount_check = false\n`;
    const app = `[pipeline:main]\npipeline = ${name}-server\n[app:${name}-server]\nuse = egg:swift#${name}\n`;
    await writeFile(join(folder, `${name}.conf`), listening(folder, ports.get(name) as number) + settings + app);
  }
  const port = await freePort();
  await writeFile(join(folder, 'proxy.conf'), listening(folder, port) + proxy);
  ports.set('proxy', port);
  let children: ChildProcess[] = [];
  const start = async (): Promise<void> => {
    children = [...ports.keys()].map((name) =>
      spawn(`swift-${name}-server`, [join(folder, `${name}.conf`)], { stdio: 'ignore' }),
    );
    for (const serverPort of ports.values()) await untilListening(serverPort);
  };
  const stop = async (): Promise<void> => {
    await Promise.all(children.map((child) => endChild(child, 'SIGKILL')));
  };
  process.once('exit', () => {
    for (const child of children) child.kill('SIGKILL');
  });
  await start();
  return {
    endpoint: `http://127.0.0.1:${port}`,
    region,
    accessKeyId: `account:${user}`,
    secretAccessKey: secret,
    start,
    stop,
    close: async () => {
      await stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Runs each Swift server as one process, so that stopping the process stops the server. */
const listening = (folder: string, port: number): string =>
  `[DEFAULT]\nbind_ip = 127.0.0.1\nbind_port = ${port}\nworkers = 0\nuser = ${process.env.USER ?? 'root'}
swift_dir = ${folder}\n`;

/** Proxy configuration. Its authentication requires a cache filter, but works if no cache server responds. */
const proxy = `
[pipeline:main]
pipeline = catch_errors cache s3api tempauth proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:1
[filter:s3api]
use = egg:swift#s3api
location = ${region}
[filter:tempauth]
use = egg:swift#tempauth
user_account_${user} = ${secret} .admin
`;

const startLimitMs = 120_000;

async function untilListening(port: number): Promise<void> {
  const endMs = performance.now() + startLimitMs;
  for (;;) {
    const listens = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(true)).once('error', () => resolve(false));
      socket.once('connect', () => socket.destroy());
    });
    if (listens) return;
    if (performance.now() > endMs) throw new Error('OpenStack Swift did not start');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
