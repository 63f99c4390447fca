import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { embeddedDemoIds } from '../../src/demo/catalogue.ts';
import { clonePool } from '../support/database.ts';
import {
  endChild,
  freePort,
  processSecrets,
  type ServerProcess,
  startServerProcess,
} from '../support/server-process.ts';
import { timeLimit } from '../support/time-limit.ts';
import { type Hook, startHook } from '../webhooks/dispatcher/support.ts';
import { type Installed, installPackages } from './packages.ts';

type Line = Record<string, unknown>;
type Listening = { child: ChildProcess; lines: Line[]; id: number; secret: string };

/**
 * Whether to install dependencies from npm's registry and use the embedded database, as in `npm run procedures --
 * hour`.
 */
const fromRegistry = process.env.INSTALL_FROM_REGISTRY === '1';

let installed: Installed;
let database: Awaited<ReturnType<typeof clonePool>>;
let server: ServerProcess;
let hook: Hook;
let hookStatus = 200;
const children: ChildProcess[] = [];

beforeAll(async () => {
  [installed, database] = await Promise.all([installPackages(fromRegistry), clonePool(1)]);
  server = await startServer();
  hook = await startHook((response) => {
    response.statusCode = hookStatus;
    response.setHeader('x-shop', 'open');
    response.end('thanks');
  });
});
afterAll(async () => {
  await Promise.all(children.map((child) => endChild(child, 'SIGKILL')));
  await hook?.close();
  await server?.stop();
  await database?.close();
  await rm(installed.folder, { recursive: true, force: true, maxRetries: 50, retryDelay: 200 });
});

const startServer = (port?: number): Promise<ServerProcess> =>
  startServerProcess({
    databaseUrl: fromRegistry ? '' : database.url,
    env: fromRegistry ? { TOKEN_KEYS: '', USER_PEPPER: '', SECRETS_KEY: '', PUBLIC_URL: '' } : {},
    folder: installed.folder,
    program: [installed.program, 'start'],
    ...(port === undefined ? {} : { port }),
  });

function start(args: readonly string[], env: Record<string, string> = {}): ChildProcess {
  const child = spawn(process.execPath, [installed.program, ...args], {
    cwd: installed.folder,
    env: { ...process.env, PERKWIRE_URL: server.url, PERKWIRE_KEY: embeddedDemoIds.key, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  return child;
}

async function run(args: readonly string[], env: Record<string, string> = {}) {
  const child = start(args, env);
  const [out, err] = await Promise.all([
    text(child.stdout as never),
    text(child.stderr as never),
    once(child, 'close'),
  ]);
  return { code: child.exitCode, out, err, lines: () => linesOf(out) };
}

const linesOf = (out: string): Line[] =>
  out
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Line);

/** Starts `perkwire listen`, which runs until it is stopped. */
async function listen(forward: string, ...options: string[]): Promise<Listening> {
  const child = start(['listen', '--forward', forward, '--json', ...options]);
  const lines: Line[] = [];
  createInterface({ input: child.stdout as never }).on('line', (line) => lines.push(JSON.parse(line) as Line));
  await expect.poll(() => lines.length).toBeGreaterThan(0);
  return { child, lines, id: lines[0]?.listener as number, secret: lines[0]?.secret as string };
}

const trigger = async (): Promise<string> => {
  const { code, err, lines } = await run(['trigger', 'usp.selection', '--json']);
  expect([code, err]).toEqual([0, '']);
  const [{ deliveries }] = lines() as [{ deliveries: { webhook_id: string }[] }];
  return deliveries[0]?.webhook_id as string;
};

const received = () => hook.requests.map(({ headers }) => headers['webhook-id']);

// Long timeout: the test builds and installs packages.
test('two installed tarballs listen, verify, alert about a broken server, and retry after the repair', {
  timeout: timeLimit(240_000),
}, async () => {
  const { verifyWebhook } = await installed.importClient();
  const listening = await listen(hook.url);
  const alerts = await listen(`${hook.url}/alerts`, '--events', 'endpoint.failing');
  const first = await trigger();
  await expect.poll(received).toEqual([first]);
  const [webhook] = hook.requests;
  const { headers = {}, body = '' } = webhook ?? {};
  expect(await verifyWebhook({ headers, body, secret: listening.secret })).toMatchObject({
    type: 'usp.selection',
    payload: { body: { selected: 1 } },
  });
  expect(webhook?.headers).toMatchObject({ 'perkwire-event': 'usp.selection', 'perkwire-dev': '1' });
  await expect
    .poll(() => listening.lines.at(-1))
    .toMatchObject({ webhook_id: first, status: 200, recorded: 'delivered' });

  hookStatus = 503;
  const broken = [await trigger(), await trigger(), await trigger()];
  hook.requests.length = 0;
  await expect.poll(() => alerts.lines.map(({ event }) => event)).toContain('endpoint.failing');
  hookStatus = 200;
  const retried = await run(['deliveries', 'retry', '--endpoint', String(listening.id)]);
  expect([retried.code, retried.err]).toEqual([0, '']);
  await expect.poll(() => broken.filter((id) => !received().includes(id))).toEqual([]);
  const ofEndpoint = ['deliveries', 'tail', '--once', '--json', '--endpoint', String(listening.id)];
  await expect
    .poll(async () => (await run(ofEndpoint)).lines().map(({ webhook_id: id, status }) => [id, status]))
    .toEqual([first, ...broken].map((id) => [id, 'delivered']));

  // The attempt is logged like those of the dispatcher, with request and response headers and the response body.
  const log = await fetch(`${server.url}/manage/v1/deliveries/${first}?api_key=${embeddedDemoIds.key}`);
  const { attempts } = ((await log.json()) as { data: { attempts: unknown[] } }).data;
  expect(attempts).toMatchObject([
    {
      outcome: 'delivered',
      request: { url: hook.url, headers: { 'webhook-signature': webhook?.headers['webhook-signature'] } },
      response: { status: 200, headers: { 'x-shop': 'open' }, body: 'thanks' },
      remote_address: 'perkwire listen',
    },
  ]);

  const tail = start(['deliveries', 'tail', '--json']);
  const tailed: Line[] = [];
  createInterface({ input: tail.stdout as never }).on('line', (line) => tailed.push(JSON.parse(line) as Line));
  await expect.poll(() => tailed.length).toBeGreaterThan(0);
  await server.kill();
  await once(tail.stderr as never, 'data');
  server = await startServer(server.port);
  const afterCut = await trigger();
  await expect.poll(received).toContain(afterCut);
  await expect.poll(() => tailed.map(({ webhook_id: id }) => id)).toContain(afterCut);
  expect(await endChild(tail, 'SIGTERM')).toBe(0);

  const ended = once(listening.child, 'exit');
  listening.child.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
  const response = await fetch(
    `${server.url}/manage/v1/webhook-endpoints/${listening.id}?api_key=${embeddedDemoIds.key}`,
  );
  expect(response.status).toBe(404);
});

test('rejected, unreachable, invalid and looping calls end with their exit code and a message', async () => {
  const nowhere = `http://127.0.0.1:${await freePort()}`;
  const calls: [string[], Record<string, string>, number, string][] = [
    [['listen'], {}, 2, '--forward'],
    [['trigger', 'usp.selection', '--nonsense'], {}, 2, "Unknown option '--nonsense'"],
    [['deliveries', 'retry'], {}, 2, 'Expected delivery IDs'],
    [['trigger', 'usp.selection'], { PERKWIRE_KEY: '' }, 2, 'PERKWIRE_KEY'],
    [['trigger', 'usp.selection'], { PERKWIRE_KEY: 'pk_wrong' }, 3, 'unknown, expired or revoked'],
    [['trigger', 'no.event'], {}, 3, 'Unknown event type'],
    [['listen', '--forward', `${server.url}/hook`], {}, 3, 'must not point to this service'],
    [['trigger', 'usp.selection'], { PERKWIRE_URL: nowhere }, 4, 'ECONNREFUSED'],
    [['explain', '--placement', 'checkout', '--offer', '999'], {}, 1, 'not provisioned'],
  ];
  const ended = await Promise.all(calls.map(([args, env]) => run(args, env)));
  for (const [index, [args, , code, sentence]] of calls.entries()) {
    expect([args, ended[index]?.code]).toEqual([args, code]);
    expect(ended[index]?.err).toContain(sentence);
  }
});

test('doctor reports a healthy installation as healthy, and the problems of a broken one', async () => {
  const env = {
    ...processSecrets,
    DATABASE_URL: database.url,
    PUBLIC_URL: `http://localhost:${server.port}`,
    WEBHOOK_ALLOW_NETS: '127.0.0.0/8',
    WEBHOOK_ALLOW_HTTP: 'true',
  };
  const [sound, wrong, otherTokens, unread, none] = await Promise.all([
    run(['doctor', '--json'], env),
    run(['doctor', '--json'], { ...env, SECRETS_KEY: Buffer.alloc(32, 1).toString('base64') }),
    run(['doctor', '--json'], { ...env, TOKEN_KEYS: `1:${'another-token-key-'.repeat(2)}` }),
    run(['doctor'], { ...env, TOKEN_KEYS: 'short' }),
    run(['doctor'], { DATABASE_URL: '', DATA_DIR: '/there/is/none' }),
  ]);
  expect(sound.lines().filter(({ state }) => state === 'bad')).toEqual([]);
  expect(sound.code).toBe(0);
  // The killed process counts as running until some time after its last heartbeat, so the heartbeat is moved into the
  // past.
  await database.pool.query("update processes set seen_at = seen_at - interval '1 min' where pid <> $1", [
    server.child.pid,
  ]);
  await expect
    .poll(async () => (await run(['doctor', '--json'], env)).lines())
    .toContainEqual({ check: 'Processes', state: 'good', text: 'role worker: 1 running' });
  expect(wrong.code).toBe(1);
  expect(wrong.lines().filter(({ state }) => state === 'bad')).toMatchObject([
    { check: 'Keys', text: expect.stringContaining('SECRETS_KEY') },
  ]);
  expect(otherTokens.code).toBe(1);
  expect(otherTokens.lines().filter(({ state }) => state === 'bad')).toMatchObject([
    { check: 'Keys', text: expect.stringContaining('TOKEN_KEYS: the secret with the id 1') },
  ]);
  expect([unread.code, unread.out]).toEqual([1, expect.stringContaining('TOKEN_KEYS')]);
  expect([none.code, none.out]).toEqual([1, expect.stringContaining('/there/is/none contains no Perkwire data')]);
});
