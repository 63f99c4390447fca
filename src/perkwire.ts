#!/usr/bin/env node
import { addAbortSignal } from 'node:stream';
import { exitCodes } from './command-line/command.ts';
import { createOutput } from './command-line/output.ts';
import { runCommandLine } from './command-line/run-command-line.ts';
import { commands, services } from './commands.ts';

/**
 * Minimum time after the first interrupt before a second one forces an exit, in milliseconds. A single Ctrl-C can
 * arrive twice, because the terminal sends it to all processes and npm forwards it again.
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
  // It is not an error if the reader closes the pipe early, as `head` does.
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
// Abandoned operations may still be running and keep the process alive, so exit explicitly.
if (exitCode === exitCodes.stopped) process.exit(exitCode);
process.exitCode = exitCode;
// From here on, the server of `start` has its own signal handlers.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, onSignal);
