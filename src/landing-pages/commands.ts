import { type Command, flag } from '../command-line/command.ts';

/** Command for the landing pages of campaigns and offers. */
export const landingPageCommands: readonly Command[] = [
  {
    name: 'landing-pages',
    about:
      'Lists the pages that campaigns and secondary actions of offers lead to, when each was looked at, what came; ' +
      'exits with 1 where one is lost',
    options: { problems: flag('those alone that are not found') },
    callsService: true,
    examples: ['landing-pages', 'landing-pages --problems --json'],
    load: async () => (await import('./commands/list.ts')).listPages,
  },
];
