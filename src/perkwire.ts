#!/usr/bin/env node
import { addAbortSignal } from 'node:stream';
import { exitCodes } from './command-line/command.ts';
import { createOutput } from './command-line/output.ts';
import { runCommandLine } from './command-line/run-command-line.ts';
import { commands, services } from './commands.ts';

/** npm passes on the Ctrl-C that the terminal has sent to all: only a later one means at once (milliseconds). */
const repeatedSignalMs = 250;

const stop = new AbortController();
let stoppedMs = 0;
const onSignal = (): void => {
  if (!stop.signal.aborted) {
    stoppedMs = performance.now();
    stop.abort();
  } else if (performance.now() - stoppedMs > repeatedSignalMs) process.exit(exitCodes.stopped);
};
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, onSignal);
process.stdout.on('error', (err: NodeJS.ErrnoException) => {
  // A reader that has enough, such as `head`, is no failure.
  if (err.code === 'EPIPE') process.exit(exitCodes.ok);
  process.stderr.write(`${err.message}\n`);
  process.exit(exitCodes.refused);
});

const { stdin, stdout, stderr, env } = process;
addAbortSignal(stop.signal, stdin);
const exitCode = await runCommandLine(process.argv.slice(2), {
  commands,
  ...services,
  env,
  stdin,
  stderr,
  signal: stop.signal,
  outputOf: (isJson) => createOutput(isJson, { stdout, stderr }),
});
// What was given up may still be under way.
if (exitCode === exitCodes.stopped) process.exit(exitCode);
process.exitCode = exitCode;
// The server of `start` has its own from here on.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, onSignal);
