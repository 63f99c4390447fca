import { execFile } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { samplesOf } from '../../../src/reference/operations/samples.ts';

const run = promisify(execFile);
let server: Server;
let baseUrl: string;
const received: unknown[] = [];
beforeAll(async () => {
  server = createServer(async (request, response) => {
    const { authorization, 'content-type': type } = request.headers;
    received.push({ method: request.method, url: request.url, authorization, type, body: await text(request) });
    response.end('received');
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => server.close());

const body = {
  name: `O'Neill & "Sons" \\ Co`,
  tags: ['a', 'b'],
  active: true,
  limit: null,
  nested: { count: 2 },
  none: {},
};
const request = {
  method: 'POST',
  url: '/manage/v1/things?q=a%20b',
  headers: { authorization: 'Bearer demo-key', 'content-type': 'application/json' },
  payload: JSON.stringify(body),
};

const isInstalled = async (program: string): Promise<boolean> =>
  run(program, ['--version']).then(
    () => true,
    () => false,
  );
const hasRequests = await run('python3', ['-c', 'import requests']).then(
  () => true,
  () => false,
);

test.for([
  ['curl', 'bash', ['-c'], await isInstalled('curl')],
  ['TypeScript', process.execPath, ['--input-type=module', '-e'], true],
  ['Python', 'python3', ['-c'], hasRequests],
] as const)('the %s sample makes its call without any changes', async ([name, program, options, isThere], { skip }) => {
  if (!isThere) skip();
  for (const exampleRequest of [request, { method: 'GET', url: '/things', headers: {} }]) {
    received.length = 0;
    const sample = samplesOf(exampleRequest, baseUrl).find((sample) => sample.name === name)?.text ?? '';
    expect((await run(program, [...options, sample])).stdout).toContain('received');
    const [call] = received as { method: string; url: string; authorization?: string; type?: string; body: string }[];
    expect([call?.method, call?.url]).toEqual([exampleRequest.method, exampleRequest.url]);
    if (!('payload' in exampleRequest)) continue;
    expect([call?.authorization, call?.type]).toEqual(['Bearer demo-key', 'application/json']);
    expect(JSON.parse(call?.body ?? '')).toEqual(body);
  }
});

test.for([
  ['curl', 'bash', ['-c'], await isInstalled('curl')],
  ['TypeScript', process.execPath, ['--input-type=module', '-e'], true],
  ['Python', 'python3', ['-c'], hasRequests],
] as const)('the %s sample sends a text body unchanged', async ([name, program, options, isThere], { skip }) => {
  if (!isThere) skip();
  received.length = 0;
  const lines = { ...request, headers: { 'content-type': 'text/csv' }, payload: 'id\n"O\'Neill"\n' };
  const sample = samplesOf(lines, baseUrl).find((sample) => sample.name === name)?.text ?? '';
  await run(program, [...options, sample]);
  expect(received).toMatchObject([{ type: 'text/csv', body: lines.payload }]);
});

test('the PHP and Go samples quote as these languages do', () => {
  const textOf = (name: string) =>
    samplesOf(request, 'https://offers.example').find((sample) => sample.name === name)?.text;
  expect(textOf('PHP')).toContain(`'name' => 'O\\'Neill & "Sons" \\\\ Co'`);
  expect(textOf('PHP')).toContain(`'none' => new stdClass()`);
  expect(textOf('Go')).toContain('strings.NewReader(`{\n  "name": "O\'Neill & \\"Sons\\" \\\\ Co"');
  const inGo = samplesOf({ ...request, payload: JSON.stringify({ name: '`' }) }, '').find(({ name }) => name === 'Go');
  expect(inGo?.text).toContain('strings.NewReader("{\\n  \\"name\\": \\"`\\"\\n}")');
});
