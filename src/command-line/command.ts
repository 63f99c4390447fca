import type { Readable, Writable } from 'node:stream';
import type { EmbeddedDatabases } from '../platform/db/embedded.ts';
import type { Output } from './output.ts';

/** Exit codes of commands (docs/command-line.md#exit-codes). */
export const exitCodes = {
  ok: 0,
  /** The command ran and found a problem: differences, failures, or nothing to act on. */
  problem: 1,
  usage: 2,
  /** The service, or a check before a write, refused. */
  refused: 3,
  unavailable: 4,
  /** The user stopped the command; like the code of shells for Ctrl-C. */
  stopped: 130,
} as const;

/** Ends a command with a message. */
export class CommandError extends Error {
  readonly exitCode: number;
  constructor(exitCode: number, message: string) {
    super(message);
    this.name = 'CommandError';
    this.exitCode = exitCode;
  }
}

export const usageError = (message: string): CommandError => new CommandError(exitCodes.usage, message);

export type Option = {
  type: 'string' | 'boolean';
  short?: string;
  /** Placeholder of its value in the help. */
  value?: string;
  about: string;
};

/** An option with a value, shown as `value` in the help. */
export const text = (value: string, about: string): Option => ({ type: 'string', value, about });
export const flag = (about: string): Option => ({ type: 'boolean', about });

export type Values = Readonly<Record<string, string | boolean | undefined>>;

/** Input stream that reports whether it is a terminal. */
export type Input = Readable & { isTTY?: boolean };

/** A call of a command. */
export type Call = {
  options: Values;
  args: readonly string[];
  /** All available commands. */
  commands: readonly Command[];
  out: Output;
  env: Readonly<Record<string, string | undefined>>;
  /** Absent in a program without embedded databases. */
  embedded?: EmbeddedDatabases;
  stdin: Input;
  stderr: Writable;
  /** Aborted when the user stops the command. */
  signal: AbortSignal;
};

/** @returns the exit code @throws CommandError, or an error of the modules */
export type Run = (call: Call) => Promise<number>;

export type Command = {
  /** Name such as `deliveries retry`. */
  name: string;
  /** Arguments, for the help. */
  args?: string;
  about: string;
  options: Readonly<Record<string, Option>>;
  /** Whether it calls the service, and so accepts --url, --key and --publisher. */
  callsService?: true;
  examples: readonly string[];
  load: () => Promise<Run>;
};

/** Waits for work that does not end by itself when the user stops the command. @throws AbortError */
export function untilStopped<T>({ signal }: { signal: AbortSignal }, work: Promise<T>): Promise<T> {
  const stopped = new Promise<never>((_resolve, reject) => {
    const stop = (): void => reject(signal.reason);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
  return Promise.race([work, stopped]);
}

/** Text of an option; empty if absent. */
export function textOption({ options }: { options: Values }, name: string): string {
  const value = options[name];
  return typeof value === 'string' ? value : '';
}

/** Value of an option as a whole number from 1. @throws CommandError */
export function idOption(call: { options: Values }, name: string): number | null {
  const text = textOption(call, name);
  if (text === '') return null;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw usageError(`--${name} must be a positive whole number.`);
  return Number(text);
}
