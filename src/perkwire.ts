#!/usr/bin/env node
import { addAbortSignal } from 'node:stream';
import { exitCodes } from './command-line/command.ts';
import { createOutput } from './command-line/output.ts';
import { runCommandLine } from './command-line/run-command-line.ts';
import { commands, services } from './commands.ts';

/**
 * Minimum interval between two interrupts for the second one to force an exit, in milliseconds. The terminal sends
 * Ctrl-C to all processes and npm forwards it again, so an earlier repeat is ignored.
 */
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
  // A reader that closes the pipe early, such as `head`, is not an error.
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
// Abandoned operations may still be running, so exit explicitly.
if (exitCode === exitCodes.stopped) process.exit(exitCode);
process.exitCode = exitCode;
// From here on, the server of `start` has its own signal handlers.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, onSignal);
