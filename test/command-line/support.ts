import { PassThrough } from 'node:stream';
import { finished } from 'node:stream/promises';
import { createOutput } from '../../src/command-line/output.ts';
import { runCommandLine } from '../../src/command-line/run-command-line.ts';
import { commands as all, services } from '../../src/commands.ts';

/** Runs a command in this process with empty standard input. `code` is its exit code. */
export async function runCommand(
  args: readonly string[],
  env: Record<string, string> = {},
  commands = all,
  signal = new AbortController().signal,
): Promise<{ code: number; out: string; err: string }> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  let [out, err] = ['', ''];
  stdout.on('data', (chunk) => (out += chunk));
  stderr.on('data', (chunk) => (err += chunk));
  const outputOf = (isJson: boolean) => createOutput(isJson, { stdout, stderr });
  const code = await runCommandLine(args, {
    commands,
    ...services,
    env,
    stdin,
    stderr,
    outputOf,
    signal,
  });
  for (const stream of [stdout, stderr]) await finished(stream.end());
  return { code, out, err };
}
