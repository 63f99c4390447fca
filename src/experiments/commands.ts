import { type Command, text } from '../command-line/command.ts';

/** Commands for experiments, based on the management API. */
export const experimentCommands: readonly Command[] = [
  {
    name: 'experiments list',
    about: 'Lists experiments with their state',
    options: {},
    callsService: true,
    examples: ['experiments list'],
    load: async () => (await import('./commands/experiments.ts')).list,
  },
  {
    name: 'experiments create',
    args: 'FILE',
    about: 'Makes an experiment, a draft, of a JSON file; - reads standard input',
    options: {},
    callsService: true,
    examples: ['experiments create three-offers.json'],
    load: async () => (await import('./commands/experiments.ts')).create,
  },
  {
    name: 'experiments change',
    args: 'KEY FILE',
    about: 'Changes the fields of a JSON file; other arms or shares begin a new version of one that runs',
    options: {},
    callsService: true,
    examples: ['experiments change three-offers arms.json'],
    load: async () => (await import('./commands/experiments.ts')).change,
  },
  ...(
    [
      ['show', 'Shows an experiment'],
      ['plan', 'Says how many users and days an experiment takes'],
      ['start', 'Starts an experiment now'],
      ['stop', 'Stops an experiment; its numbers stay'],
      ['undo', 'Writes back what making an arm permanent has written'],
    ] as const
  ).map(
    ([action, about]): Command => ({
      name: `experiments ${action}`,
      args: 'KEY',
      about,
      options: {},
      callsService: true,
      examples: [`experiments ${action} three-offers`],
      load: async () => (await import('./commands/experiments.ts'))[action],
    }),
  ),
  {
    name: 'experiments report',
    args: 'KEY',
    about: 'Reports what each arm does against the control',
    options: {
      version: text('NUMBER', 'of an earlier version'),
      population: text('WHO', 'all, or would_have_seen: those who saw an offer or would have'),
      segment: text('BY', 'revenue by device or country, too'),
    },
    callsService: true,
    examples: ['experiments report three-offers', 'experiments report three-offers --segment device'],
    load: async () => (await import('./commands/experiments.ts')).report,
  },
  {
    name: 'experiments adopt',
    args: 'KEY ARM',
    about: 'Makes an arm permanent: writes what it changes into placements and themes, and stops the experiment',
    options: {},
    callsService: true,
    examples: ['experiments adopt three-offers three'],
    load: async () => (await import('./commands/experiments.ts')).adopt,
  },
];
