import { type Command, text } from '../command-line/command.ts';

/** Command-line commands that count unique users, and verify the rollups. */
export const reportCommands: readonly Command[] = [
  {
    name: 'reports reach',
    args: '[FROM [TO]]',
    about: 'Shows unique users, their number of impressions and the overlap of campaigns (default: yesterday)',
    options: {
      campaign: text('IDS', 'only these campaigns, separated by commas'),
      placement: text('NAMES', 'only these placements'),
      country: text('CODES', 'only these countries, such as DE,AT'),
      device: text('TYPES', 'only these device types, such as mobile'),
    },
    callsService: true,
    examples: ['reports reach 2026-11-01 2026-11-30', 'reports reach 2026-11-01 2026-11-30 --campaign 1,2'],
    load: async () => (await import('./commands/reach.ts')).showReach,
  },
  {
    name: 'reports verify',
    args: '[FROM [TO]]',
    about: 'Compares reports in DATABASE_URL or DATA_DIR with raw rows, by UTC day (default: the last seven)',
    options: {},
    examples: ['reports verify 2026-11-01 2026-11-30'],
    load: async () => (await import('./commands/verify.ts')).verifyReports,
  },
];
