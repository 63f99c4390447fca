import type { Command } from '../command-line/command.ts';

/** Command-line commands that combine data from several modules. */
export const dashboardCommands: readonly Command[] = [
  {
    name: 'story',
    args: 'ID',
    about: 'Shows what happened in a session, found by any of its IDs',
    options: {},
    callsService: true,
    examples: ['story 0197a000-0000-7000-8000-000000000001', 'story order-1001'],
    load: async () => (await import('./commands/story.ts')).showStory,
  },
];
