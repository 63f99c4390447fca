import type { Command } from '../command-line/command.ts';

/** Command that loads the demo catalogue into a database. */
export const demoCommands: readonly Command[] = [
  {
    name: 'demo load',
    about: 'Writes the demo catalogue into DATABASE_URL under a random key',
    options: {},
    examples: ['demo load'],
    load: async () => (await import('./commands/load.ts')).loadDemo,
  },
];
