import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { databaseFolder } from '../support/database-folder.ts';
import { ensureBuilt } from '../support/resources.ts';
import { endChild, freePort, untilReady } from '../support/server-process.ts';
import { timeLimit } from '../support/time-limit.ts';

const run = promisify(execFile);

type ReceiverList = { count: number; secret: string; webhooks: { headers: Record<string, string>; body: string }[] };

/** Starts the server with `npm start`, and returns it with the commands it prints. */
async function startServer(folder: string, port: string) {
  const child = spawn('npm', ['start'], {
    env: { ...process.env, PORT: port, DATA_DIR: join(folder, 'data') },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  await untilReady(`http://127.0.0.1:${port}/health/ready`, child);
  while (!output.includes('"wrap"')) await new Promise((resolve) => setTimeout(resolve, 20));
  return { child, commands: output.split('\n').filter((line) => line.startsWith('curl ')) };
}

/** Stops the process group of `npm start` and removes its folder. */
async function stopServer(child: ChildProcess, folder: string): Promise<void> {
  process.kill(-(child.pid as number), 'SIGTERM');
  await endChild(child, 'SIGTERM');
  // The database may still be shutting down.
  await rm(folder, { recursive: true, force: true, maxRetries: 50, retryDelay: 200 });
}

// Long timeout: the test builds the package and starts the server twice.
test('the README commands start a server and end with a signed webhook, even after a kill', {
  timeout: timeLimit(180_000),
}, async () => {
  await ensureBuilt();
  const readme = await readFile('README.md', 'utf8');
  expect(readme).toContain('npm ci && npm start');
  const folder = await databaseFolder('perkwire-start-');
  const port = String(await freePort());
  const start = () => startServer(folder, port);
  const list = async (): Promise<ReceiverList> =>
    (await fetch(`http://127.0.0.1:${port}/demo/receiver`)).json() as Promise<ReceiverList>;

  let server = await start();
  try {
    expect(server.commands).toHaveLength(4);
    const outputs: string[] = [];
    for (const command of server.commands) outputs.push((await run('bash', ['-c', command], { cwd: folder })).stdout);
    expect(outputs[1]).toContain('beacon: 200');
    expect(JSON.parse(outputs[2] as string)).toMatchObject({ data: { status: 'open' } });
    expect(JSON.parse(outputs[3] as string)).toMatchObject({ data: { status: 'wrapped' } });

    await expect.poll(async () => (await list()).count).toBe(1);
    const { secret, webhooks } = await list();
    const [webhook] = webhooks;
    const payload = new Webhook(secret).verify(webhook?.body as string, webhook?.headers as Record<string, string>);
    expect(payload).toMatchObject({ body: { pub_user_id: 'user-1', selected: 1, campaigns: [{}] } });

    // Kill all of npm's processes at the same time, so that none can clean up.
    process.kill(-(server.child.pid as number), 'SIGKILL');
    await new Promise((resolve) =>
      server.child.exitCode === null && server.child.signalCode === null
        ? server.child.once('exit', resolve)
        : resolve(null),
    );
    server = await start();
    const again = await run('bash', ['-c', server.commands[3] as string], { cwd: folder });
    // The demo adds coupons in the background. Since then, the response also has the campaigns.
    expect(JSON.parse(again.stdout), 'the session of before the kill is still there').toMatchObject(
      JSON.parse(outputs[3] as string),
    );
  } finally {
    await stopServer(server.child, folder);
  }
});

/** Returns the shell commands of a document, one string per code block. */
const shellBlocks = (markdown: string): string[] =>
  [...markdown.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block);

test('the commands of "Get started" end with a verified webhook', async () => {
  await ensureBuilt();
  const markdown = await readFile('docs/get-started.md', 'utf8');
  const [install, ...commands] = shellBlocks(markdown);
  expect(install).toBe('npm ci\nnpm start &\n');
  // A command may continue on the next line.
  const untilWebhook = markdown.slice(0, markdown.indexOf('## 6.'));
  const lines = shellBlocks(untilWebhook).join('').replaceAll(/\\\n/g, '').trim().split('\n');
  expect(lines.length).toBeLessThanOrEqual(8);
  const folder = await databaseFolder('perkwire-get-started-');
  const [port, receiverPort] = [String(await freePort()), String(await freePort())];
  const { child } = await startServer(folder, port);
  // The receiver runs in the background, and ends with the shell's process group.
  const script = commands.join('\n').replaceAll('localhost:8080', `127.0.0.1:${port}`).replaceAll('3000', receiverPort);
  const shell = spawn('bash', ['-eu', '-c', script], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  try {
    const outputs: string[] = [];
    shell.stdout.on('data', (chunk) => outputs.push(String(chunk)));
    expect(await new Promise((resolve) => shell.once('close', resolve)), outputs.join('')).toBe(0);
    const output = outputs.join('');
    expect(output).toContain('Impression: 200');
    expect(output).toMatch(/^whsec_\S+$/m);
    expect(output).toContain('"status":"wrapped"');
    // The demo's receiver shows the webhook of the selection, and the own receiver gets a sample.
    expect(output).toContain('verified: true');
    expect(output).toContain('user-1');
    const [, body = ''] = /^Verified webhook: (.+)$/m.exec(output) ?? [];
    expect(JSON.parse(body)).toMatchObject({ body: { campaigns: expect.any(Array) } });
  } finally {
    process.kill(-(shell.pid as number), 'SIGTERM');
    await stopServer(child, folder);
  }
});
