import { type Command, text } from '../command-line/command.ts';

/** CLI commands for experiments, which call the management API. */
export const experimentCommands: readonly Command[] = [
  {
    name: 'experiments list',
    about: 'Lists experiments with their states',
    options: {},
    callsService: true,
    examples: ['experiments list'],
    load: async () => (await import('./commands/experiments.ts')).list,
  },
  {
    name: 'experiments create',
    args: 'FILE',
    about: 'Creates an experiment as a draft from a JSON file; - reads standard input',
    options: {},
    callsService: true,
    examples: ['experiments create three-offers.json'],
    load: async () => (await import('./commands/experiments.ts')).create,
  },
  {
    name: 'experiments change',
    args: 'KEY FILE',
    about: 'Changes the fields in a JSON file; changed arms or shares start a new version',
    options: {},
    callsService: true,
    examples: ['experiments change three-offers arms.json'],
    load: async () => (await import('./commands/experiments.ts')).change,
  },
  ...(
    [
      ['show', 'Shows an experiment'],
      ['plan', 'Estimates how many users and days an experiment takes'],
      ['start', 'Starts an experiment now'],
      ['stop', 'Stops an experiment and keeps its results'],
      ['undo', 'Reverts a permanent arm'],
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
    about: 'Compares each arm with the control',
    options: {
      version: text('NUMBER', 'version of the experiment (default: current)'),
      population: text('WHO', 'all, or would_have_seen: only users who saw an offer or would have'),
      segment: text('BY', 'also shows revenue by device or country'),
    },
    callsService: true,
    examples: ['experiments report three-offers', 'experiments report three-offers --segment device'],
    load: async () => (await import('./commands/experiments.ts')).report,
  },
  {
    name: 'experiments adopt',
    args: 'KEY ARM',
    about: 'Makes an arm permanent: writes its changes to placements and themes, and stops the experiment',
    options: {},
    callsService: true,
    examples: ['experiments adopt three-offers three'],
    load: async () => (await import('./commands/experiments.ts')).adopt,
  },
];
