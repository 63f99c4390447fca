import type { Readable, Writable } from 'node:stream';
import type { EmbeddedDatabases } from '../platform/db/embedded.ts';
import type { Output } from './output.ts';

/** Exit codes of commands (docs/command-line.md#exit-codes). */
export const exitCodes = {
  ok: 0,
  /** The command ran to completion but found a problem, such as differences or failures, or had nothing to do. */
  problem: 1,
  usage: 2,
  /** The service rejected the call, or a check that precedes a change failed. */
  refused: 3,
  unavailable: 4,
  /** The user stopped the command. Shells use the same code for Ctrl-C. */
  stopped: 130,
} as const;

/** Error that ends a command with a message and an exit code. */
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
  /** Placeholder for the option's value in the help text. */
  value?: string;
  about: string;
};

/** Defines an option that takes a value. `value` is the placeholder shown in the help text. */
export const text = (value: string, about: string): Option => ({ type: 'string', value, about });
export const flag = (about: string): Option => ({ type: 'boolean', about });

export type Values = Readonly<Record<string, string | boolean | undefined>>;

/** Input stream that reports whether it is a terminal. */
export type Input = Readable & { isTTY?: boolean };

/** Invocation of a command. */
export type Call = {
  options: Values;
  args: readonly string[];
  commands: readonly Command[];
  out: Output;
  env: Readonly<Record<string, string | undefined>>;
  /** Embedded databases. Absent in programs that are built without them. */
  embedded?: EmbeddedDatabases;
  stdin: Input;
  stderr: Writable;
  /** Signal that is aborted when the user stops the command. */
  signal: AbortSignal;
};

/**
 * Runs a command.
 * @returns the exit code
 * @throws CommandError, or an error of the module that it uses
 */
export type Run = (call: Call) => Promise<number>;

export type Command = {
  /** Command name, such as `deliveries retry`. */
  name: string;
  /** Description of the arguments in the help text. */
  args?: string;
  about: string;
  options: Readonly<Record<string, Option>>;
  /** Whether the command calls the service. If so, it accepts --url, --key and --publisher. */
  callsService?: true;
  examples: readonly string[];
  load: () => Promise<Run>;
};

/**
 * Waits for work that does not end by itself when the user stops the command.
 * @throws AbortError when the user stops the command
 */
export function untilStopped<T>({ signal }: { signal: AbortSignal }, work: Promise<T>): Promise<T> {
  const stopped = new Promise<never>((_resolve, reject) => {
    const stop = (): void => reject(signal.reason);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
  return Promise.race([work, stopped]);
}

/** Returns the value of an option, or an empty string if it is absent. */
export function textOption({ options }: { options: Values }, name: string): string {
  const value = options[name];
  return typeof value === 'string' ? value : '';
}

/**
 * Returns the value of an option as a positive integer, or null if it is absent.
 * @throws CommandError if the value is not a positive integer
 */
export function idOption(call: { options: Values }, name: string): number | null {
  const text = textOption(call, name);
  if (text === '') return null;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw usageError(`--${name} must be a positive whole number.`);
  return Number(text);
}
