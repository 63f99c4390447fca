import { PassThrough } from 'node:stream';
import { createOutput } from '../../src/command-line/output.ts';
import { runCommandLine } from '../../src/command-line/run-command-line.ts';
import { commands as all } from '../../src/commands.ts';

/** Runs a command in this process, with nothing on its input. `code`: its exit code. */
export async function runCommand(
  args: readonly string[],
  env: Record<string, string> = {},
  commands = all,
  signal = new AbortController().signal,
): Promise<{ code: number; out: string; err: string }> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const outputOf = (isJson: boolean) => createOutput(isJson, { stdout, stderr });
  const code = await runCommandLine(args, {
    ...{ commands, env, stdin, stderr, outputOf, signal },
  });
  return { code, out: String(stdout.read() ?? ''), err: String(stderr.read() ?? '') };
}
