import type { Command } from '../command-line/command.ts';

/** Commands for sources of events. */
export const sourceCommands: readonly Command[] = [
  {
    name: 'sources show',
    about: 'Prints what becomes of events of Segment and RudderStack, as JSON',
    options: {},
    callsService: true,
    examples: ['sources show'],
    load: async () => (await import('./commands/sources.ts')).show,
  },
  {
    name: 'sources set',
    args: 'FILE',
    about: 'Sets what becomes of events from a file as `sources show` prints it; - reads standard input',
    options: {},
    callsService: true,
    examples: ['sources set segment.json'],
    load: async () => (await import('./commands/sources.ts')).set,
  },
  {
    name: 'sources events',
    about: 'Lists the last hundred events and what became of each',
    options: {},
    callsService: true,
    examples: ['sources events', 'sources events --json'],
    load: async () => (await import('./commands/sources.ts')).events,
  },
];
