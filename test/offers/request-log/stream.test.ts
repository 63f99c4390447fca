import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createOutput } from '../../../src/command-line/output.ts';
import { runCommandLine } from '../../../src/command-line/run-command-line.ts';
import { commands } from '../../../src/commands.ts';
import { hashKey } from '../../../src/platform/http/auth.ts';
import { runCommand } from '../../command-line/support.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

let t: TestApp;
let url: string;
let opened = 0;
beforeAll(async () => {
  t = await createTestApp();
  url = await t.app.listen({ port: 0, host: '127.0.0.1' });
  t.app.server.on('request', ({ url: path }) => {
    if (path?.startsWith('/manage/v1/live-calls/stream')) opened += 1;
  });
});
afterAll(() => t?.close());

async function addKey(key: string, permissions: string): Promise<void> {
  await t.pool.query(
    `insert into api_keys (publisher_id, name, key_hash, permissions) values ($1, 'CI', decode($2, 'hex'), $3)`,
    [t.publisher.id, hashKey(key), `{${permissions}}`],
  );
  await t.deps.catalog.refresh();
}

const send = (path: string, body: object) =>
  t.app.inject({
    method: 'POST',
    url: `${path}?api_key=${t.publisher.sdkId}`,
    headers: { 'content-type': 'application/json' },
    payload: JSON.stringify(body),
  });
const fetchOffers = async (body: object): Promise<number> => (await send('/native/v4/offers.json', body)).statusCode;

/** Runs `perkwire logs tail` until it is stopped or ends by itself. */
function tail(key: string, ...args: string[]) {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const stop = new AbortController();
  let [out, err] = ['', ''];
  stdout.on('data', (chunk) => (out += chunk));
  stderr.on('data', (chunk) => (err += chunk));
  const ended = runCommandLine(['logs', 'tail', ...args], {
    commands,
    env: { PERKWIRE_URL: url, PERKWIRE_KEY: key },
    stdin,
    stderr,
    signal: stop.signal,
    outputOf: (isJson: boolean) => createOutput(isJson, { stdout, stderr }),
  });
  return { ended, stop: () => stop.abort(), out: () => out, err: () => err };
}

/** Waits until `streams` streams have been opened in addition to `before`, and the publisher is being watched. */
async function watched(before: number, streams: number): Promise<void> {
  await expect.poll(() => opened - before).toBe(streams);
  await expect.poll(() => t.deps.requestLog.isWatched(t.publisher.id)).toBe(true);
}
const written = () => t.deps.requestLog.write();

test('shows calls as they arrive, masked and with rejected and ignored values, and applies filters', async () => {
  await addKey('tail', 'configurations');
  const before = opened;
  const all = tail('tail');
  const refused = tail('tail', '--status', '4xx', '--json');
  const atCheckout = tail('tail', '--placement', 'Check_Out', '--json');
  await watched(before, 3);
  expect(await fetchOffers({ placement: 'checkout', pub_user_id: 'user-4711', country: 'Germany' })).toBe(200);
  expect(await fetchOffers({ placements: [{ name: 'check out' }] })).toBe(200);
  expect(await fetchOffers({})).toBe(400);
  await written();
  await expect.poll(all.out).toContain('missing_placement');
  expect(all.out()).toMatch(
    /POST \/native\/v4\/offers\.json checkout 200 [\d.]+ ms [0-9a-f-]{36}\n {4}\/country: Ignored/,
  );
  expect(all.out()).toMatch(/offers\.json 400 [\d.]+ ms missing_placement: The field "placement" is required/);
  await expect.poll(refused.out).toContain('"status":400');
  await expect.poll(atCheckout.out).toContain('"placements":["check-out"]');
  for (const stream of [all, refused, atCheckout]) {
    expect(stream.out()).not.toContain('user-4711');
    stream.stop();
    expect(await stream.ended).toBe(0);
  }
  expect(refused.out().trim().split('\n')).toHaveLength(1);
  expect(atCheckout.out().trim().split('\n')).toHaveLength(1);
});

test('starts with the requested number of earlier calls, including those rejected in the last hour', async () => {
  await addKey('later', 'configurations');
  for (let call = 0; call < 3; call += 1) expect(await fetchOffers({})).toBe(400);
  await written();
  const [few, none] = [tail('later', '--last', '2', '--json'), tail('later', '--last', '0')];
  await expect.poll(() => few.out().split('\n').length).toBe(3);
  expect(none.out()).toBe('');
  for (const stream of [few, none]) stream.stop();
});

test('a perks call requests no offers at any placement, not even at the default one', async () => {
  await addKey('shopper', 'configurations');
  const user = { pub_user_id: 'shopper' };
  await t.pool.query(`update publishers set default_placement = 'checkout' where id = $1`, [t.publisher.id]);
  await t.deps.catalog.refresh();
  const before = opened;
  const atCheckout = tail('shopper', '--placement', 'checkout', '--last', '0', '--json');
  const all = tail('shopper', '--last', '0', '--json');
  await watched(before, 2);
  const { data } = (await send('/native/v4/offers.json', user)).json();
  const select = `/sdk/v4/usp/${data.session_id}/${data.offers[0].campaign_id}/select.json`;
  expect((await send(select, user)).statusCode).toBe(200);
  expect(await fetchOffers({ placement: 'checkout' })).toBe(200);
  await written();
  await expect.poll(() => all.out().trim().split('\n').length).toBe(3);
  await expect.poll(() => atCheckout.out().trim().split('\n').length).toBe(2);
  expect(atCheckout.out().includes('select.json')).toBe(false);
  const calls = all
    .out()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const selectCall = calls.find(({ path }) => path === select);
  expect([selectCall?.placements, selectCall?.session_id]).toEqual([[], data.session_id]);
  for (const stream of [all, atCheckout]) stream.stop();
});

test('ends when its key is revoked, and gets no further calls', async () => {
  await addKey('leaver', 'configurations');
  const before = opened;
  const tailing = tail('leaver', '--last', '0');
  await watched(before, 1);
  await t.pool.query('update api_keys set revoked_at = now() where key_hash = decode($1, $2)', [
    hashKey('leaver'),
    'hex',
  ]);
  await t.deps.catalog.refresh();
  await fetchOffers({ placement: 'after-the-end' });
  await written();
  expect(await tailing.ended).toBe(3);
  expect(tailing.err()).toContain('unknown, expired or revoked');
  expect(tailing.out()).not.toContain('after-the-end');
});

test('403: requires the permission, and names invalid options', async () => {
  await addKey('reader', 'reports');
  const env = { PERKWIRE_URL: url, PERKWIRE_KEY: 'reader' };
  expect(await runCommand(['logs', 'tail'], env)).toMatchObject({
    code: 3,
    err: expect.stringContaining('permission'),
  });
  expect(await runCommand(['logs', 'tail', '--status', 'bad'], env)).toMatchObject({ code: 2 });
  expect(await runCommand(['logs', 'tail', '--last', '201'], env)).toMatchObject({ code: 2 });
  const invalidUrl = `${url}/manage/v1/live-calls/stream?status=9xx`;
  await addKey('asker', 'configurations');
  expect((await fetch(invalidUrl, { headers: { authorization: 'Bearer asker' } })).status).toBe(400);
});
