import { type Command, text } from '../command-line/command.ts';

/** Command-line commands for saved reports and unique users, and for verifying the rollups. */
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
    name: 'reports list',
    about: 'Lists saved reports',
    options: {},
    callsService: true,
    examples: ['reports list --json'],
    load: async () => (await import('./commands/saved.ts')).listReports,
  },
  {
    name: 'reports save',
    args: 'NAME QUERY',
    about: 'Saves a report with the query string of the report page, or its URL',
    options: {},
    callsService: true,
    examples: ["reports save Campaigns 'range=30d&by=campaign&metrics=clicks,revenue'"],
    load: async () => (await import('./commands/saved.ts')).saveReport,
  },
  {
    name: 'reports run',
    args: 'REPORT',
    about: 'Prints the current rows of a saved report',
    options: { format: text('FORMAT', 'csv, or else a table with tabs') },
    callsService: true,
    examples: ['reports run 3', 'reports run 3 --format csv'],
    load: async () => (await import('./commands/saved.ts')).runReport,
  },
  {
    name: 'reports remove',
    args: 'REPORT',
    about: 'Deletes a saved report and its schedules',
    options: {},
    callsService: true,
    examples: ['reports remove 3'],
    load: async () => (await import('./commands/saved.ts')).removeReport,
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
