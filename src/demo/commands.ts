import type { Command } from '../command-line/command.ts';

/** CLI command that loads the demo catalogue into a database. */
export const demoCommands: readonly Command[] = [
  {
    name: 'demo load',
    about: 'Loads the demo catalogue into DATABASE_URL with a random API key',
    options: {},
    examples: ['demo load'],
    load: async () => (await import('./commands/load.ts')).loadDemo,
  },
];
