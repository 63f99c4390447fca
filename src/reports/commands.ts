import type { Command } from '../command-line/command.ts';

/** Command-line command that verifies the rollups. */
export const reportCommands: readonly Command[] = [
  {
    name: 'reports verify',
    args: '[FROM [TO]]',
    about: 'Compares reports in DATABASE_URL or DATA_DIR with raw rows, by UTC day (default: the last seven)',
    options: {},
    examples: ['reports verify 2026-11-01 2026-11-30'],
    load: async () => (await import('./commands/verify.ts')).verifyReports,
  },
];
