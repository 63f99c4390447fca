import { type Command, text } from '../command-line/command.ts';

/** Commands for alerts and the channels that receive them. */
export const alertCommands: readonly Command[] = [
  {
    name: 'alerts list',
    about: 'Lists alerts, newest first, and who was notified of each',
    options: { kind: text('KIND', 'only alerts of this kind, such as budget.100') },
    callsService: true,
    examples: ['alerts list', 'alerts list --kind endpoint.failing --json'],
    load: async () => (await import('./commands/alerts.ts')).list,
  },
  {
    name: 'alerts mute',
    args: 'ID|all',
    about: 'Mutes alerts of the same kind and subject, or all alerts; no messages are sent for them',
    options: {
      hours: text('N', 'duration of the mute in hours (default 168)'),
      note: text('TEXT', 'reason, visible to your colleagues'),
    },
    callsService: true,
    examples: ['alerts mute 42 --hours 4 --note "Maintenance of the shop"', 'alerts mute all --hours 1'],
    load: async () => (await import('./commands/alerts.ts')).mute,
  },
  {
    name: 'alerts unmute',
    args: 'ID|all',
    about: 'Unmutes alerts of the same kind and subject, or ends the mute of all alerts',
    options: {},
    callsService: true,
    examples: ['alerts unmute 42'],
    load: async () => (await import('./commands/alerts.ts')).unmute,
  },
  {
    name: 'alerts channels',
    about: 'Lists the channels that receive alerts',
    options: {},
    callsService: true,
    examples: ['alerts channels'],
    load: async () => (await import('./commands/alerts.ts')).channels,
  },
  {
    name: 'alerts test',
    args: 'CHANNEL_ID',
    about: 'Sends a test message to a channel',
    options: {},
    callsService: true,
    examples: ['alerts test 3'],
    load: async () => (await import('./commands/alerts.ts')).test,
  },
];
