import type { Command } from '../command-line/command.ts';

/** Experiments, as the management API has them. */
export const experimentCommands: readonly Command[] = [
  {
    name: 'experiments list',
    about: 'Lists experiments with their state',
    options: {},
    callsService: true,
    examples: ['experiments list'],
    load: async () => (await import('./commands/experiments.ts')).list,
  },
  ...(
    [
      ['show', 'Shows an experiment'],
      ['plan', 'Says how many users and days an experiment takes'],
      ['start', 'Starts an experiment now'],
      ['stop', 'Stops an experiment; its numbers stay'],
      ['report', 'Reports what each arm does against the control'],
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
    name: 'experiments adopt',
    args: 'KEY ARM',
    about: 'Makes an arm permanent: writes what it changes into placements and themes, and stops the experiment',
    options: {},
    callsService: true,
    examples: ['experiments adopt three-offers three'],
    load: async () => (await import('./commands/experiments.ts')).adopt,
  },
];
