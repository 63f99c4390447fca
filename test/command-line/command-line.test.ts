import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, openSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { commands } from '../../src/commands.ts';
import { runCommand } from './support.ts';

const run = (...args: string[]) => runCommand(args);

test('every command has help text and bash completion', async () => {
  const { out: script } = await run('completion', 'bash');
  const complete = (typed: string): string[] => {
    const words = typed.split(' ');
    const set = `COMP_WORDS=(perkwire ${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}`;
    return execFileSync('bash', ['-c', `${script}\n${set}; _perkwire; echo "\${COMPREPLY[*]}"`], { encoding: 'utf8' })
      .trim()
      .split(' ');
  };
  expect(complete('deliveries r')).toEqual(['retry']);
  expect(complete('deliveries retry --e')).toEqual(['--event', '--endpoint']);
  expect(complete('deliveries retry msg_1 --j')).toEqual(['--json']);
  expect(complete('completion f')).toEqual(['fish']);
  const overview = (await run('--help')).out;
  for (const { name, about, options } of commands) {
    expect(overview).toContain(`  ${name} `);
    const { code, out } = await run(...name.split(' '), '--help');
    expect([code, out]).toEqual([0, expect.stringContaining(about)]);
    for (const option of Object.keys(options)) expect(out).toContain(`--${option}`);
    expect(await run('help', ...name.split(' '))).toEqual({ code: 0, out, err: '' });
  }
});

test('the documentation lists every command', async () => {
  const text = await readFile('docs/command-line.md', 'utf8');
  expect(commands.map(({ name }) => name).filter((name) => !text.includes(`\`${name}`))).toEqual([]);
});

test('a mistyped call prints the error and a pointer to the help on standard error, and exits with 2', async () => {
  const calls = {
    nonsense: 'Unknown command "nonsense". See: perkwire --help',
    'catalogue exprt': 'Unknown command "catalogue exprt". See: perkwire catalogue --help',
    '--json doctor': 'Put options such as --json after the command. See: perkwire --help',
    'doctor now': "Unexpected argument 'now'. See: perkwire doctor --help",
    'listen --forwrd x': "Unknown option '--forwrd'. See: perkwire listen --help",
    'deliveries tail --key k --last 0': '--last must be a positive whole number.',
    'deliveries tail --key schlüssel': 'The API key contains invalid characters. Copy it again.',
    'secrets status': /^The configuration has .+ problem/,
  };
  for (const [typed, expectedError] of Object.entries(calls)) {
    const message = typeof expectedError === 'string' ? `${expectedError}\n` : expect.stringMatching(expectedError);
    const env = { ROLES: 'nothing', DATABASE_URL: 'postgres://127.0.0.1:1/none' };
    expect([typed, await runCommand(typed.split(' '), env)]).toEqual([typed, { code: 2, out: '', err: message }]);
  }
});

test('catalogue diff lists differences by row and field, and exits with 1', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'perkwire-diff-'));
  const file = async (name: string, value: object): Promise<string> => {
    await writeFile(join(folder, name), JSON.stringify({ perkwire_catalogue: 1, ...value }));
    return join(folder, name);
  };
  const before = await file('a.json', {
    publisher: { name: 'Shop' },
    offers: [
      { id: 1, title: 'A loaf' },
      { id: 2, title: 'Gone' },
    ],
  });
  const after = await file('b.json', {
    publisher: { name: 'Shop' },
    offers: [
      { id: 1, title: 'A loaf', payout: 3 },
      { id: 3, title: 'New \u001b[31m' },
    ],
  });
  expect(await run('catalogue', 'diff', before, before)).toEqual({ code: 0, out: 'No differences.\n', err: '' });
  const { code, out } = await run('catalogue', 'diff', before, after);
  expect([code, out.split('\n')]).toEqual([
    1,
    ['~ offers 1 A loaf', '    payout: not set → 3', '- offers 2 Gone', '+ offers 3 New �[31m', '3 rows differ.', ''],
  ]);
  const listed = await run('catalogue', 'diff', before, after, '--json');
  expect(
    listed.out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).change),
  ).toEqual(['changed', 'removed', 'added']);
  expect(await run('catalogue', 'diff', 'package.json', before)).toMatchObject({
    code: 3,
    err: expect.stringMatching(/not a catalogue/),
  });
  expect(await run('catalogue', 'diff', before, join(folder, 'c.json'))).toMatchObject({
    code: 3,
    err: expect.stringMatching(/no such file/),
  });
  await rm(folder, { recursive: true });
});

test('an unusable file is named in the error, and the command exits with 3', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'perkwire-files-'));
  const [none, sub, text] = ['none', 'sub', 'text'].map((name) => join(folder, name)) as [string, string, string];
  await mkdir(sub);
  await writeFile(text, '{');
  const calls: [string[], RegExp][] = [
    [['audiences', 'import', 'customers', none], /ENOENT.*none/],
    [['audiences', 'import', 'customers', sub], /sub is a directory/],
    [['translations', 'import', none], /ENOENT.*none/],
    [['translations', 'import', sub], /sub is a directory/],
    [['coupons', 'add', '1', none], /ENOENT.*none/],
    [['coupons', 'add', '1', sub], /EISDIR/],
    [['sources', 'set', none], /ENOENT.*none/],
    [['sources', 'set', sub], /EISDIR/],
    [['sources', 'set', text], /text is not valid JSON/],
    [['catalogue', 'import', text], /text is not valid JSON/],
  ];
  for (const [args, expectedError] of calls)
    expect([args, await runCommand(args, { PERKWIRE_KEY: 'k', PERKWIRE_URL: 'http://127.0.0.1:9' })]).toEqual([
      args,
      { code: 3, out: '', err: expect.stringMatching(expectedError) },
    ]);
  await rm(folder, { recursive: true });
});

test('a mistyped number does not switch off reminders', async () => {
  const { code, err } = await runCommand(['messages', 'set', '--reminder-hours', '48h'], { PERKWIRE_KEY: 'k' });
  expect([code, err]).toEqual([2, '--reminder-hours must be a whole number or no.\n']);
});

test('invalid days or days in the wrong order are rejected instead of reported as consistent', async () => {
  const verify = async (...days: string[]) => (await run('reports', 'verify', ...days)).err;
  expect(await verify('2026-02-30')).toBe('Days must have the form 2026-11-21.\n');
  expect(await verify('2026-11-30', '2026-11-01')).toBe('The first day must not be after the last.\n');
});

test('JSON output keeps text from users and escapes terminal control characters', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'perkwire-json-'));
  const title = 'red \u009b31m \u202eold\u007f \u001b[2J';
  for (const [name, offers] of Object.entries({ a: [], b: [{ id: 1, title }] }))
    await writeFile(join(folder, name), JSON.stringify({ perkwire_catalogue: 1, offers }));
  const { out } = await run('catalogue', 'diff', join(folder, 'a'), join(folder, 'b'), '--json');
  expect(JSON.parse(out)).toMatchObject({ row: `1 ${title}` });
  expect(out).toMatch(/^[ -~]+\n$/);
  await rm(folder, { recursive: true });
});

test.skipIf(!existsSync('/dev/full'))('a command fails if its output cannot be written', () => {
  const { status, stderr } = spawnSync(process.execPath, ['--import', 'tsx', 'src/perkwire.ts', '--help'], {
    stdio: ['ignore', openSync('/dev/full', 'w'), 'pipe'],
    encoding: 'utf8',
  });
  expect([status, stderr]).toEqual([3, expect.stringMatching(/ENOSPC/)]);
});

test('a stopped command that waits for the service exits and reports that it was not completed', async () => {
  let requestCount = 0;
  const silent = createServer(() => {
    requestCount += 1;
  });
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const env = { PERKWIRE_KEY: 'k', PERKWIRE_URL: `http://127.0.0.1:${(silent.address() as AddressInfo).port}` };
  for (const [line, code] of [
    ['roles list', 130],
    ['privacy erase --user u-1', 130],
    ['listen --forward http://127.0.0.1:9/hook', 130],
    ['deliveries tail', 0],
    ['logs tail', 0],
  ] as const) {
    const stop = new AbortController();
    const countBefore = requestCount;
    const run = runCommand(line.split(' '), env, commands, stop.signal);
    await expect.poll(() => requestCount).toBe(countBefore + 1);
    stop.abort();
    expect([line, (await run).code]).toEqual([line, code]);
  }
  silent.closeAllConnections();
  silent.close();
});
