import type { Command } from '../command-line/command.ts';

/** Commands for event sources. */
export const sourceCommands: readonly Command[] = [
  {
    name: 'sources show',
    about: 'Prints the settings for events of Segment and RudderStack as JSON',
    options: {},
    callsService: true,
    examples: ['sources show'],
    load: async () => (await import('./commands/sources.ts')).show,
  },
  {
    name: 'sources set',
    args: 'FILE',
    about: 'Replaces the settings of sources with a JSON file in the format of `sources show`; - reads standard input',
    options: {},
    callsService: true,
    examples: ['sources set segment.json'],
    load: async () => (await import('./commands/sources.ts')).set,
  },
  {
    name: 'sources events',
    about: 'Lists the last 100 events with their results',
    options: {},
    callsService: true,
    examples: ['sources events', 'sources events --json'],
    load: async () => (await import('./commands/sources.ts')).events,
  },
];
