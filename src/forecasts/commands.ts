import type { Command } from '../command-line/command.ts';

/** Command-line commands that forecast campaigns and check their targeting. */
export const forecastCommands: readonly Command[] = [
  {
    name: 'forecast',
    args: 'CAMPAIGN_ID|FILE',
    about: 'Forecasts the next 30 days of a campaign, or of a draft from a JSON file (- for standard input)',
    options: {},
    callsService: true,
    examples: ['forecast 12', 'forecast draft.json --json'],
    load: async () => (await import('./commands/forecast.ts')).forecast,
  },
  {
    name: 'targeting',
    args: 'CAMPAIGN_ID|FILE',
    about: 'Shows how many recent sessions each condition of a campaign, or of a draft in a JSON file, excludes',
    options: {},
    callsService: true,
    examples: ['targeting 12', 'targeting draft.json --json'],
    load: async () => (await import('./commands/targeting.ts')).targeting,
  },
];
