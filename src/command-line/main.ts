#!/usr/bin/env node
import { createOutput } from './output.ts';
import { runCommandLine } from './run-command-line.ts';

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
// A reader that has enough, such as `head`, is no failure.
process.stdout.on('error', () => process.exit(0));

const { stdin, stdout, stderr, env } = process;
process.exitCode = await runCommandLine(process.argv.slice(2), {
  env,
  stdin,
  stderr,
  signal: stop.signal,
  outputOf: (isJson) => createOutput(isJson, { stdout, stderr }),
});
