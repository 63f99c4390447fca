import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { commands } from '../../src/command-line/commands.ts';
import { createOutput } from '../../src/command-line/output.ts';
import { runCommandLine } from '../../src/command-line/run-command-line.ts';

async function run(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const outputOf = (isJson: boolean) => createOutput(isJson, { stdout, stderr });
  const code = await runCommandLine(args, { env: {}, stdin, stderr, signal: new AbortController().signal, outputOf });
  return { code, out: String(stdout.read() ?? ''), err: String(stderr.read() ?? '') };
}

test('every command explains itself, and the completion of bash leads to it', async () => {
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
  const overview = (await run('--help')).out;
  for (const { name, about, options } of commands) {
    expect(overview).toContain(`  ${name} `);
    const { code, out } = await run(...name.split(' '), '--help');
    expect([code, out]).toEqual([0, expect.stringContaining(about)]);
    for (const option of Object.keys(options)) expect(out).toContain(`--${option}`);
  }
  expect(await run('nonsense')).toMatchObject({ code: 2, out: '', err: expect.stringContaining('nonsense') });
});

test('catalogue diff names what differs, row by row and field by field, and exits with 1', async () => {
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
    code: 1,
    err: expect.stringMatching(/no catalogue/),
  });
  await rm(folder, { recursive: true });
});
