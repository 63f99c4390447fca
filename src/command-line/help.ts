import type { Command, Option } from './command.ts';

type Options = Readonly<Record<string, Option>>;

export const commonOptions: Options = {
  json: { type: 'boolean', about: 'prints JSON, one value per line' },
  help: { type: 'boolean', short: 'h', about: 'shows this help' },
};

const serviceOptions: Options = {
  url: { type: 'string', value: 'URL', about: 'URL of the service (PERKWIRE_URL, default http://localhost:8080)' },
  key: {
    type: 'string',
    value: 'KEY',
    about: 'API key; prefer PERKWIRE_KEY, because other users can see options',
  },
  publisher: { type: 'string', value: 'ID', about: "publisher to act for, with an operator's key" },
};

export const optionsOf = (command: Command): Options => ({
  ...command.options,
  ...(command.callsService && serviceOptions),
});

/** Returns a list of all commands, one per line. */
export function overview(commands: readonly Command[]): string {
  const width = Math.max(...commands.map(({ name }) => name.length));
  return [
    'Usage: perkwire COMMAND [options]',
    '',
    ...commands.map(({ name, about }) => `  ${name.padEnd(width)}  ${about}`),
    '',
    'Run "perkwire COMMAND --help" for options and examples, and "perkwire --version" for the release.',
    'Exit codes: 0 success, 1 problem found, 2 usage error, 3 refused, 4 service or database unavailable.',
  ].join('\n');
}

export function helpOf(command: Command): string {
  const { name, args = '', about, examples } = command;
  const options = Object.entries({ ...optionsOf(command), ...commonOptions }).map(([long, option]) => ({
    text: `${option.short === undefined ? '' : `-${option.short}, `}--${long}${option.value ? ` ${option.value}` : ''}`,
    about: option.about,
  }));
  const width = Math.max(...options.map(({ text }) => text.length));
  return [
    `${about}.`,
    '',
    `Usage: perkwire ${[name, args, '[options]'].filter((part) => part !== '').join(' ')}`,
    '',
    ...options.map((option) => `  ${option.text.padEnd(width)}  ${option.about}`),
    '',
    'Examples:',
    ...examples.map((example) => `  perkwire ${example}`),
  ].join('\n');
}
