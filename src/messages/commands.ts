import { type Command, flag, text } from '../command-line/command.ts';

/** Commands for perk messages. */
export const messageCommands: readonly Command[] = [
  {
    name: 'messages list',
    about: 'Lists the newest perk messages, and what became of them',
    options: { failed: flag('all those that failed or wait') },
    callsService: true,
    examples: ['messages list', 'messages list --failed --json'],
    load: async () => (await import('./commands/messages.ts')).list,
  },
  {
    name: 'messages set',
    about: 'Changes the settings of perk messages, and shows them',
    options: {
      enabled: text('yes|no', 'whether they are sent'),
      delivery: text('smtp|webhook', 'by the mail server of the service, or by your own'),
      'double-opt-in': text('yes|no', 'whether owners of addresses confirm them first'),
      'reminder-hours': text('N|no', 'how long before a saved offer ends its user is reminded'),
    },
    callsService: true,
    examples: ['messages set', 'messages set --enabled yes --reminder-hours 24'],
    load: async () => (await import('./commands/messages.ts')).set,
  },
  {
    name: 'messages retry',
    args: '[ID]',
    about: 'Sends a message again that failed within seven days, or waits; --failed all that failed',
    options: { failed: flag('all messages that failed within seven days') },
    callsService: true,
    examples: ['messages retry 0199c0de-0000-7000-8000-000000000001', 'messages retry --failed'],
    load: async () => (await import('./commands/messages.ts')).retry,
  },
  {
    name: 'messages suppress',
    args: 'EMAIL…',
    about: 'Keeps messages from addresses; --check looks, --lift ends it',
    options: { check: flag('looks whether they are suppressed'), lift: flag('lets them get messages again') },
    callsService: true,
    examples: ['messages suppress someone@example.com', 'messages suppress --check someone@example.com'],
    load: async () => (await import('./commands/messages.ts')).suppress,
  },
];
