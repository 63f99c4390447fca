import { type Command, flag } from '../command-line/command.ts';

/** Landing pages of campaigns. */
export const landingPageCommands: readonly Command[] = [
  {
    name: 'landing-pages',
    about:
      'Lists the landing pages of campaigns, when each was looked at and what came; exits with 1 where one is lost',
    options: { problems: flag('those alone that are not found') },
    callsService: true,
    examples: ['landing-pages', 'landing-pages --problems --json'],
    load: async () => (await import('./commands/list.ts')).listPages,
  },
];
