#!/usr/bin/env node
import { createOutput } from './command-line/output.ts';
import { runCommandLine } from './command-line/run-command-line.ts';
import { commands } from './commands.ts';

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
// A reader that has enough, such as `head`, is no failure.
process.stdout.on('error', () => process.exit(0));

const { stdin, stdout, stderr, env } = process;
process.exitCode = await runCommandLine(process.argv.slice(2), {
  commands,
  env,
  stdin,
  stderr,
  signal: stop.signal,
  outputOf: (isJson) => createOutput(isJson, { stdout, stderr }),
});
