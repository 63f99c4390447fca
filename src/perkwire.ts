#!/usr/bin/env node
import { exitCodes } from './command-line/command.ts';
import { createOutput } from './command-line/output.ts';
import { runCommandLine } from './command-line/run-command-line.ts';
import { commands } from './commands.ts';

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
process.stdout.on('error', (err: NodeJS.ErrnoException) => {
  // A reader that has enough, such as `head`, is no failure.
  if (err.code === 'EPIPE') process.exit(exitCodes.ok);
  process.stderr.write(`${err.message}\n`);
  process.exit(exitCodes.refused);
});

const { stdin, stdout, stderr, env } = process;
process.exitCode = await runCommandLine(process.argv.slice(2), {
  commands,
  env,
  stdin,
  stderr,
  signal: stop.signal,
  outputOf: (isJson) => createOutput(isJson, { stdout, stderr }),
});
