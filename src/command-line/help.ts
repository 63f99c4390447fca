import type { Command, Option } from './command.ts';

type Options = Readonly<Record<string, Option>>;

export const commonOptions: Options = {
  json: { type: 'boolean', about: 'JSON, one value a line, instead of sentences' },
  help: { type: 'boolean', short: 'h', about: 'this text' },
};

const serviceOptions: Options = {
  url: { type: 'string', value: 'URL', about: 'the service (PERKWIRE_URL; default http://localhost:8080)' },
  key: {
    type: 'string',
    value: 'KEY',
    about: 'API key with "configurations" (better PERKWIRE_KEY: others see options)',
  },
  publisher: { type: 'string', value: 'ID', about: "the publisher, with an operator's key" },
};

export const optionsOf = (command: Command): Options => ({
  ...command.options,
  ...(command.callsService && serviceOptions),
});

/** All commands, one per line. */
export function overview(commands: readonly Command[]): string {
  const width = Math.max(...commands.map(({ name }) => name.length));
  return [
    'Usage: perkwire COMMAND [options]',
    '',
    ...commands.map(({ name, about }) => `  ${name.padEnd(width)}  ${about}`),
    '',
    'perkwire COMMAND --help shows its options, perkwire --version the release. Exit codes: 0 done, 1 a problem',
    'was found, 2 wrong usage, 3 refused, 4 the service or the database is not available.',
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
