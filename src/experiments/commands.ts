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
      ['start', 'Starts an experiment now'],
      ['stop', 'Stops an experiment; its numbers stay'],
      ['report', 'Reports what each arm does against the control'],
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
];
