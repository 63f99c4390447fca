import { type Command, flag, text } from '../command-line/command.ts';

const filterOptions = {
  event: text('NAME', 'of this event type'),
  endpoint: text('ID', 'of this endpoint'),
  status: text('LIST', 'pending, delivered, failed, held; several with commas'),
};

/** Commands for deliveries, and for webhooks on a developer's machine. */
export const webhookCommands: readonly Command[] = [
  {
    name: 'listen',
    about: 'Forwards webhooks to a server on this machine, and records its answers as the attempts',
    options: {
      forward: text('URL', 'where deliveries are sent, such as http://localhost:3000/hook'),
      events: text('LIST', 'event types with commas; default: all'),
    },
    callsService: true,
    examples: [
      'listen --forward http://localhost:3000/hook',
      'listen --forward http://localhost:3000/hook --events usp.selection',
    ],
    load: async () => (await import('./commands/listen.ts')).listen,
  },
  {
    name: 'trigger',
    args: 'EVENT',
    about: 'Sends the sample of an event to everyone who listens, or to one endpoint',
    options: { endpoint: text('ID', 'this endpoint, instead of the listeners') },
    callsService: true,
    examples: ['trigger usp.selection', 'trigger conversion --endpoint 4'],
    load: async () => (await import('./commands/listen.ts')).trigger,
  },
  {
    name: 'deliveries tail',
    about: 'Shows deliveries as they are created and attempted',
    options: {
      ...filterOptions,
      last: text('N', 'how many of before are shown first; default 10'),
      once: flag('only these'),
    },
    callsService: true,
    examples: ['deliveries tail', 'deliveries tail --endpoint 4 --json', 'deliveries tail --once --status failed'],
    load: async () => (await import('./commands/deliveries.ts')).tailDeliveries,
  },
  {
    name: 'deliveries retry',
    args: '[ID …]',
    about: 'Attempts deliveries now: those named, or all that match',
    options: {
      ...filterOptions,
      from: text('TIME', 'created since, such as 2026-11-21T22:00:00Z'),
      to: text('TIME', 'created before'),
      'dry-run': flag('only counts'),
    },
    callsService: true,
    examples: ['deliveries retry msg_0197a…', 'deliveries retry --endpoint 4 --status pending,held'],
    load: async () => (await import('./commands/deliveries.ts')).retryDeliveries,
  },
];
