import { parseArgs } from 'node:util';
import { ConfigError } from '../config/config-error.ts';
import { isDatabaseUnavailable } from '../platform/db/pool.ts';
import { AppError } from '../platform/errors.ts';
import { StartupError } from '../platform/startup-error.ts';
import { version } from '../platform/version.ts';
import { type Call, type Command, CommandError, exitCodes, usageError, type Values } from './command.ts';
import { commonOptions, helpOf, optionsOf, overview } from './help.ts';
import type { Output } from './output.ts';

type Commands = readonly Command[];

type Environment = Pick<Call, 'commands' | 'env' | 'embedded' | 'stdin' | 'stderr' | 'signal'> & {
  outputOf: (isJson: boolean) => Output;
};

/**
 * Runs a command. Never rejects.
 * @returns the exit code
 */
export async function runCommandLine(argv: readonly string[], { outputOf, ...context }: Environment): Promise<number> {
  const { commands } = context;
  const plain = outputOf(false);
  try {
    const words = argv[0] === 'help' ? [...argv.slice(1), '--help'] : argv;
    const command = findCommand(commands, words);
    if (command === null) return showOverview(commands, words, plain);
    const { values, positionals } = parse(command, words.slice(command.name.split(' ').length));
    if (values.help === true) {
      plain.line(helpOf(command));
      return exitCodes.ok;
    }
    const run = await command.load();
    return await run({ ...context, options: values, args: positionals, out: outputOf(values.json === true) });
  } catch (err) {
    return report(err as Error, plain, context.signal);
  }
}

/** Returns the command whose name matches the start of the arguments. If several match, the longest name wins. */
function findCommand(commands: Commands, argv: readonly string[]): Command | null {
  const matches = commands.filter(({ name }) => name.split(' ').every((word, index) => argv[index] === word));
  return matches.sort((a, b) => b.name.length - a.name.length)[0] ?? null;
}

function showOverview(commands: Commands, argv: readonly string[], out: Output): number {
  const [first = '--help', second = '--help'] = argv;
  const group = commands.filter(({ name }) => name.startsWith(`${first} `));
  if (first === '--version' || first === '-v') out.line(version);
  else if (first === '--help' || first === '-h') out.line(overview(commands));
  else if (first.startsWith('-'))
    throw usageError(`Put options such as ${first} after the command. See: perkwire --help`);
  else if (group.length > 0 && (second === '--help' || second === '-h')) out.line(overview(group));
  else {
    const typed = argv.filter((word) => !word.startsWith('-')).join(' ');
    throw usageError(`Unknown command "${typed}". See: perkwire ${group.length > 0 ? `${first} ` : ''}--help`);
  }
  return exitCodes.ok;
}

function parse(command: Command, args: string[]): { values: Values; positionals: string[] } {
  const options = Object.entries({ ...optionsOf(command), ...commonOptions }).map(([name, { type, short }]) => [
    name,
    { type, ...(short !== undefined && { short }) },
  ]);
  try {
    const allowPositionals = command.args !== undefined;
    const { values, positionals } = parseArgs({ args, options: Object.fromEntries(options), allowPositionals });
    return { values: values as Values, positionals };
  } catch (err) {
    // Show only the first sentence of the parser's message, because the rest is advice for developers.
    throw usageError(`${(err as Error).message.split(/\.\s/)[0]}. See: perkwire ${command.name} --help`);
  }
}

function report(err: Error, out: Output, signal: AbortSignal): number {
  if (signal.aborted && (err.name === 'AbortError' || isDatabaseUnavailable(err))) return exitCodes.stopped;
  const details =
    err instanceof AppError ? (err.details ?? []).map(({ path, message }) => `\n  ${path}: ${message}`) : [];
  out.note(`${err.message}${details.join('')}`);
  if (err instanceof CommandError) return err.exitCode;
  if (err instanceof ConfigError) return exitCodes.usage;
  if (err instanceof AppError || isOfFile(err)) return exitCodes.refused;
  return err instanceof StartupError || isDatabaseUnavailable(err) ? exitCodes.unavailable : exitCodes.problem;
}

/** Whether an error was caused by a file that cannot be read or written. */
const isOfFile = (err: Error & { path?: unknown; code?: unknown }): boolean =>
  typeof err.path === 'string' || err.code === 'EISDIR';
