import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { createOutput } from '../../../src/command-line/output.ts';
import { runCommandLine } from '../../../src/command-line/run-command-line.ts';
import { webhookCommands } from '../../../src/webhooks/commands.ts';
import { createWebhooksApp, type WebhooksApp } from '../app.ts';
import { addManager, type Manager } from '../endpoints/manager.ts';

let t: WebhooksApp;
let url: string;
let me: Manager;
beforeAll(async () => {
  t = await createWebhooksApp();
  url = await t.app.listen({ port: 0, host: '127.0.0.1' });
});
afterAll(() => t.close());
beforeEach(async () => {
  me = await addManager(t);
  await me.call('POST', '/webhook-endpoints', { destination: { kind: 'pull' }, events: ['usp.selection'] });
});

function run(...args: string[]) {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const stop = new AbortController();
  let out = '';
  stdout.on('data', (chunk) => (out += chunk));
  const ended = runCommandLine(['events', 'pull', ...args], {
    commands: webhookCommands,
    env: { PERKWIRE_URL: url, PERKWIRE_KEY: me.key },
    stdin,
    stderr,
    signal: stop.signal,
    outputOf: (isJson: boolean) => createOutput(isJson, { stdout, stderr }),
  });
  const ids = (): string[] =>
    out
      .split('\n')
      .slice(0, -1)
      .map((line) => (JSON.parse(line) as { delivery_id: string }).delivery_id);
  return { ended, ids, stop: () => stop.abort() };
}

const waiting = async (): Promise<number> =>
  (await me.call('GET', '/webhook-endpoints')).json().data[0].state.pending as number;

test('events pull prints every waiting event as a JSON line, and acknowledges them', async () => {
  const ids = [await me.enqueueDelivery(), await me.enqueueDelivery(), await me.enqueueDelivery()];
  const peek = run('--peek', '--limit', '2');
  expect(await peek.ended).toBe(0);
  expect(peek.ids()).toEqual(ids.slice(0, 2));
  expect(await waiting()).toBe(3);
  for (const options of [['--limit', '2'], ['--json']]) {
    const pull = run(...options);
    expect(await pull.ended).toBe(0);
    expect(pull.ids()).toEqual(options.length === 2 ? ids : []);
    expect(await waiting()).toBe(0);
  }
});

test('with --follow, new events are printed at once, and acknowledged when the command is stopped', async () => {
  const pull = run('--follow');
  const first = await me.enqueueDelivery();
  await vi.waitFor(() => expect(pull.ids()).toEqual([first]));
  const second = await me.enqueueDelivery();
  await vi.waitFor(() => expect(pull.ids()).toEqual([first, second]));
  pull.stop();
  await pull.ended;
  expect(await waiting()).toBe(0);
});
