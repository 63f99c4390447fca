import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createOutput } from '../../../src/command-line/output.ts';
import { runCommandLine } from '../../../src/command-line/run-command-line.ts';
import { webhookCommands } from '../../../src/webhooks/commands.ts';
import { createWebhooksApp, type WebhooksApp } from '../app.ts';
import { addManager, type Manager } from '../endpoints/manager.ts';

let t: WebhooksApp;
let me: Manager;
let url: string;
let folder: string;
let endpoint: string;
beforeAll(async () => {
  t = await createWebhooksApp();
  url = await t.app.listen({ port: 0, host: '127.0.0.1' });
  folder = await mkdtemp(join(tmpdir(), 'perkwire-transformations-'));
  await writeFile(join(folder, 'body.jsonata'), '\ufeff{ "user": body.pub_user_id }\n');
  await writeFile(join(folder, 'headers.jsonata'), '{ "x-event": $event }');
  await writeFile(join(folder, 'broken.jsonata'), '{ "user": ');
});
afterAll(async () => {
  await t.close();
  await rm(folder, { recursive: true });
});
beforeEach(async () => {
  me = await addManager(t);
  endpoint = String(await me.endpoint('http://127.0.0.1:9/'));
});

/** Runs a command whose file names are in the folder. */
async function run(command: string, input = '') {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  stdin.end(input);
  let text = '';
  for (const stream of [stdout, stderr]) stream.on('data', (chunk) => (text += chunk));
  const args = command.split(' ').map((part) => (part.endsWith('.jsonata') ? join(folder, part) : part));
  const code = await runCommandLine(['transformations', ...args], {
    commands: webhookCommands,
    env: { PERKWIRE_URL: url, PERKWIRE_KEY: me.key },
    stdin,
    stderr,
    signal: new AbortController().signal,
    outputOf: (isJson: boolean) => createOutput(isJson, { stdout, stderr }),
  });
  return { code, text };
}

const stored = async () => (await me.call('GET', `/webhook-endpoints/${endpoint}`)).json().data.transformation;

test('a transformation is previewed with a stored delivery, set from files, shown and removed', async () => {
  const delivery = await me.enqueueDelivery({ payload: Buffer.from('{"body":{"pub_user_id":"u-17"}}') });
  const preview = await run(`preview ${endpoint} body.jsonata --headers headers.jsonata --delivery ${delivery}`);
  expect(preview).toEqual({
    code: 0,
    text: 'content-type: application/json\nx-event: usp.selection\n\n{"user":"u-17"}\n',
  });
  expect(await stored()).toBeNull();
  expect(await run(`set ${endpoint} body.jsonata --headers headers.jsonata`)).toMatchObject({ code: 0 });
  expect(await stored()).toEqual({ body: '{ "user": body.pub_user_id }', headers: '{ "x-event": $event }' });
  expect((await run(`show ${endpoint}`)).text).toBe(
    'Body:\n{ "user": body.pub_user_id }\nHeaders:\n{ "x-event": $event }\n',
  );
  expect((await run(`preview ${endpoint} --delivery ${delivery}`)).text).toContain('{"user":"u-17"}');
  expect(await run(`set ${endpoint} -`, '{ "all": $ }')).toMatchObject({ code: 0 });
  expect(await stored()).toEqual({ body: '{ "all": $ }' });
  expect(await run(`remove ${endpoint}`)).toMatchObject({ code: 0 });
  expect(await stored()).toBeNull();
  expect((await run(`show ${endpoint}`)).text).toBe('This endpoint has no transformation.\n');
});

test('a broken expression is reported with its position, and not saved', async () => {
  const preview = await run(`preview ${endpoint} broken.jsonata`);
  expect(preview.code).toBe(1);
  expect(preview.text).toMatch(/^body, character \d+: /);
  expect(await run(`set ${endpoint} broken.jsonata`)).toMatchObject({ code: 3 });
  expect(await stored()).toBeNull();
});

test('wrong arguments and endpoints of other publishers are refused', async () => {
  for (const command of [
    'show',
    `set ${endpoint}`,
    `set ${endpoint} - --headers -`,
    `show ${endpoint} body.jsonata`,
    `preview ${endpoint} a b`,
  ])
    expect(await run(command), command).toMatchObject({ code: 2 });
  const other = await addManager(t);
  const foreign = await other.endpoint('http://127.0.0.1:9/');
  for (const command of [`show ${foreign}`, `set ${foreign} body.jsonata`, `remove ${foreign}`, `preview ${foreign}`])
    expect(await run(command), command).toMatchObject({ code: 3 });
});
