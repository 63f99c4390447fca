import { type Command, flag, text } from '../command-line/command.ts';

/** Command-line commands for perk messages. */
export const messageCommands: readonly Command[] = [
  {
    name: 'messages list',
    about: 'Lists the latest perk messages with their states',
    options: { failed: flag('only messages that failed or are pending') },
    callsService: true,
    examples: ['messages list', 'messages list --failed --json'],
    load: async () => (await import('./commands/messages.ts')).list,
  },
  {
    name: 'messages set',
    about: 'Shows or changes the perk message settings',
    options: {
      enabled: text('yes|no', 'whether perk messages are sent'),
      delivery: text('smtp|webhook', 'how they are sent: by this service, or by your own mailer'),
      'double-opt-in': text('yes|no', 'whether new addresses must be confirmed first'),
      'reminder-hours': text('N|no', 'number of hours before a saved offer ends at which the user is reminded'),
    },
    callsService: true,
    examples: ['messages set', 'messages set --enabled yes --reminder-hours 24'],
    load: async () => (await import('./commands/messages.ts')).set,
  },
  {
    name: 'messages retry',
    args: '[ID]',
    about: 'Resends a pending message, or one that failed within seven days',
    options: { failed: flag('resends all messages that failed within seven days') },
    callsService: true,
    examples: ['messages retry 0199c0de-0000-7000-8000-000000000001', 'messages retry --failed'],
    load: async () => (await import('./commands/messages.ts')).retry,
  },
  {
    name: 'messages suppress',
    args: 'EMAIL…',
    about: 'Suppresses messages to addresses',
    options: { check: flag('only checks whether they are suppressed'), lift: flag('ends the suppression') },
    callsService: true,
    examples: ['messages suppress someone@example.com', 'messages suppress --check someone@example.com'],
    load: async () => (await import('./commands/messages.ts')).suppress,
  },
];
