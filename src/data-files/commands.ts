import { type Command, text } from '../command-line/command.ts';

/** Command-line commands for the data files. */
export const dataCommands: readonly Command[] = [
  {
    name: 'data status',
    about: 'Shows until when data has been exported; exits with 1 if the export is failing or behind',
    options: {},
    examples: ['data status', 'data status --json'],
    load: async () => (await import('./commands/data.ts')).showStatus,
  },
  {
    name: 'data export',
    about: 'Exports all committed rows now, without waiting for the end of the hour',
    options: {},
    examples: ['data export'],
    load: async () => (await import('./commands/data.ts')).exportNow,
  },
  {
    name: 'data verify',
    args: '[FROM [TO]]',
    about: 'Compares data files with the database, by day (default: the last seven); exits with 1 if they differ',
    options: {},
    examples: ['data verify', 'data verify 2026-11-01 2026-11-30'],
    load: async () => (await import('./commands/data.ts')).verify,
  },
  {
    name: 'data compact',
    about: 'Merges the files of past days, and removes erased users from them',
    options: { before: text('DAY', 'compacts only days before this one (default: yesterday)') },
    examples: ['data compact', 'data compact --before 2026-11-01'],
    load: async () => (await import('./commands/data.ts')).compact,
  },
  {
    name: 'data restart',
    about: 'Starts again in an empty folder or prefix after the database was restored',
    options: {},
    examples: ['data restart'],
    load: async () => (await import('./commands/data.ts')).restart,
  },
];
