import { execFileSync } from 'node:child_process';
import { chown, copyFile, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../../src/embedded/postgres.ts';
import { findWritable } from '../../../src/platform/db/find-writable.ts';
import { createPool } from '../../../src/platform/db/pool.ts';
import { createServers } from '../../../src/platform/db/servers.ts';
import { openCheckedDatabase } from '../../../src/platform/db/startup-checks.ts';

/* A PostgreSQL with the certificate of an authority that this machine does not know; one without TLS. */

let folder: string;
let server: EmbeddedPostgres;
let plain: EmbeddedPostgres;

const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'ignore' });

/** Creates a key with a certificate signed by the test authority. */
async function sign(name: string, subject: string, extensions: string): Promise<void> {
  openssl(
    'req',
    '-new',
    '-nodes',
    '-newkey',
    'rsa:2048',
    '-keyout',
    `${name}.key`,
    '-out',
    `${name}.csr`,
    '-subj',
    subject,
  );
  await writeFile(join(folder, `${name}.ext`), extensions);
  const by = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '30', '-extfile', `${name}.ext`];
  openssl('x509', '-req', '-in', `${name}.csr`, '-out', `${name}.crt`, ...by);
}

/** Enables TLS, and requires client certificates for the user `by_certificate`. */
async function switchOn({ url }: EmbeddedPostgres): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const data = (await client.query('show data_directory')).rows[0].data_directory as string;
  const { uid, gid } = await stat(data);
  for (const name of ['server.crt', 'server.key', 'ca.crt']) {
    await copyFile(join(folder, name), join(data, name));
    if (process.getuid?.() === 0) await chown(join(data, name), uid, gid);
  }
  await client.query("alter system set ssl_ca_file = 'ca.crt'");
  await client.query('alter system set ssl = on');
  await client.query('create role by_certificate login');
  const rules = [
    'hostssl all by_certificate all cert',
    'hostnossl all by_certificate all reject',
    'host all all all scram-sha-256',
  ];
  await writeFile(join(data, 'pg_hba.conf'), `${rules.join('\n')}\n`);
  await client.query('select pg_reload_conf()');
  await vi.waitFor(async () => expect((await client.query('show ssl')).rows[0].ssl).toBe('on'), { timeout: 30_000 });
  await client.end();
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perkwire-tls-'));
  openssl(
    'req',
    '-x509',
    '-nodes',
    '-newkey',
    'rsa:2048',
    '-keyout',
    'ca.key',
    '-out',
    'ca.crt',
    '-days',
    '30',
    '-subj',
    '/CN=Own CA',
  );
  openssl(
    'req',
    '-x509',
    '-nodes',
    '-newkey',
    'rsa:2048',
    '-keyout',
    'x.key',
    '-out',
    'other-ca.crt',
    '-days',
    '30',
    '-subj',
    '/CN=CA',
  );
  await sign('server', '/CN=db', 'subjectAltName=DNS:localhost');
  await sign('client', '/CN=by_certificate', 'extendedKeyUsage=clientAuth');
  const flags = ['fsync=off'];
  plain = await startEmbeddedPostgres({ dataDir: join(folder, 'plain'), flags });
  server = await startEmbeddedPostgres({ dataDir: join(folder, 'tls'), flags });
  await switchOn(server);
}, 240_000);
afterAll(async () => {
  await Promise.all([server?.stop(), plain?.stop()]);
  await rm(folder, { recursive: true, force: true });
});

type Change = { host?: string; user?: string; to?: EmbeddedPostgres };

/** Returns a server URL with parameters. `{folder}` is replaced with the certificate folder. */
function urlOf(query: string, { host = 'localhost', user, to = server }: Change = {}): string {
  const url = new URL(to.url);
  url.hostname = host;
  if (user !== undefined) [url.username, url.password] = [user, ''];
  return `${url.href}?${query.replaceAll('{folder}', folder)}`;
}

/** Returns whether the connections of a pool, as the service opens them after its start, are encrypted. */
async function isEncrypted(databaseUrl: string): Promise<boolean> {
  const { url, connection } = await findWritable(createServers(databaseUrl), 'perkwire-start');
  connection.destroy();
  const pool = createPool({ url, size: 1, applicationName: 'perkwire-test', onError: () => {} });
  try {
    return (await pool.query('select ssl from pg_stat_ssl where pid = pg_backend_pid()')).rows[0].ssl;
  } finally {
    await pool.end();
  }
}

test.each([
  ['sslmode=disable', false, {}],
  ['sslmode=allow', false, {}],
  ['sslmode=prefer', true, {}],
  ['sslmode=require', true, {}],
  ['sslmode=require', true, { host: '127.0.0.1' }],
  ['sslmode=no-verify', true, {}],
  ['sslmode=require&sslrootcert={folder}/ca.crt', true, {}],
  ['sslmode=verify-ca&sslrootcert={folder}/ca.crt', true, { host: '127.0.0.1' }],
  ['sslmode=verify-full&sslrootcert={folder}/ca.crt', true, {}],
  ['sslmode=require&sslcert={folder}/client.crt&sslkey={folder}/client.key', true, { user: 'by_certificate' }],
  ['sslmode=allow&sslcert={folder}/client.crt&sslkey={folder}/client.key', true, { user: 'by_certificate' }],
  ['application_name=x', false, {}],
] as [string, boolean, Change][])('%s connects like libpq (encrypted: %s, %o)', async (query, expected, change) => {
  expect(await isEncrypted(urlOf(query, change))).toBe(expected);
});

test.each(['sslmode=prefer', 'sslmode=allow', 'sslmode=disable'])(
  '%s connects immediately to a server without TLS',
  async (query) => {
    expect(await isEncrypted(urlOf(query, { to: plain, host: '127.0.0.1' }))).toBe(false);
  },
);

test.each([
  [
    'a server without TLS',
    'sslmode=require',
    { to: 'plain' },
    /the server does not support TLS, which sslmode requires/,
  ],
  [
    'a different certificate authority',
    'sslmode=verify-ca&sslrootcert={folder}/other-ca.crt',
    {},
    /is not trusted: .*Set sslrootcert to the authority that signed it\.$/,
  ],
  ['a different certificate authority', 'sslmode=require&sslrootcert={folder}/other-ca.crt', {}, /is not trusted: /],
  ['a certificate authority unknown to the system', 'sslmode=verify-full&sslrootcert=system', {}, /is not trusted: /],
  [
    'a host name mismatch',
    'sslmode=verify-full&sslrootcert={folder}/ca.crt',
    { host: '127.0.0.1' },
    /is not trusted: .*IP/,
  ],
  [
    'no certificate authority',
    'sslmode=verify-full',
    {},
    /sslmode=verify-full requires the certificate of the authority/,
  ],
  [
    'a missing certificate file',
    'sslmode=verify-ca&sslrootcert=/no/ca.crt',
    {},
    /the file of sslrootcert, \/no\/ca\.crt, cannot be read/,
  ],
  ['an unknown sslmode', 'sslmode=strict', {}, /must have one of these values of sslmode: disable, allow, prefer/],
] as [string, string, { host?: string; to?: 'plain' }, RegExp][])(
  'a start fails immediately with an explanation: %s, %s',
  async (_name, query, { to, ...change }, sentence) => {
    const url = urlOf(query, { ...change, ...(to === 'plain' && { to: plain }) });
    await expect(openCheckedDatabase(url, 3_600_000)).rejects.toThrow(sentence);
  },
);

test('each of several servers is connected to with the encryption that it offers', async () => {
  const [first, second] = [new URL(plain.url), new URL(server.url)];
  const hosts = `127.0.0.1:1,localhost:${second.port}`;
  expect(await isEncrypted(second.href.replace(/@[^/]+/, `@${hosts}`).concat('?sslmode=prefer'))).toBe(true);
  expect(
    await isEncrypted(first.href.replace(/@[^/]+/, `@127.0.0.1:1,127.0.0.1:${first.port}`).concat('?sslmode=prefer')),
  ).toBe(false);
});
