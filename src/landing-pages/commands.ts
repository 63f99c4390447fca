import { type Command, flag } from '../command-line/command.ts';

/** CLI command for the landing pages of campaigns and offers. */
export const landingPageCommands: readonly Command[] = [
  {
    name: 'landing-pages',
    about: 'Lists landing pages and their last checks; exits with 1 if one fails',
    options: { problems: flag('only pages that fail') },
    callsService: true,
    examples: ['landing-pages', 'landing-pages --problems --json'],
    load: async () => (await import('./commands/list.ts')).listPages,
  },
];
