import { type Command, flag, text } from '../command-line/command.ts';

const filterOptions = {
  event: text('NAME', 'only this event type'),
  endpoint: text('ID', 'only this endpoint'),
  status: text('LIST', 'pending, delivered, failed or held; separate several with commas'),
};

const headersOption = { headers: text('FILE', 'file with the expression for headers') };

/** Commands that manage deliveries and transformations, and receive webhooks on a developer's machine. */
export const webhookCommands: readonly Command[] = [
  {
    name: 'listen',
    about: 'Forwards webhooks to a local server, and records its responses as attempts',
    options: {
      forward: text('URL', 'URL of your server, such as http://localhost:3000/hook'),
      events: text('LIST', 'event types, separated by commas (default: all)'),
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
    about: 'Sends the sample of an event to all listeners, or to one endpoint',
    options: { endpoint: text('ID', 'sends to this endpoint instead of the listeners') },
    callsService: true,
    examples: ['trigger usp.selection', 'trigger conversion --endpoint 4'],
    load: async () => (await import('./commands/listen.ts')).trigger,
  },
  {
    name: 'deliveries tail',
    about: 'Shows deliveries as they are created and attempted',
    options: {
      ...filterOptions,
      last: text('N', 'number of earlier entries to show first (default 10)'),
      once: flag('only shows earlier deliveries, and exits'),
    },
    callsService: true,
    examples: ['deliveries tail', 'deliveries tail --endpoint 4 --json', 'deliveries tail --once --status failed'],
    load: async () => (await import('./commands/deliveries.ts')).tailDeliveries,
  },
  {
    name: 'deliveries retry',
    args: '[ID …]',
    about: 'Attempts deliveries now, by ID or by filter',
    options: {
      ...filterOptions,
      from: text('TIME', 'created at this time or later, such as 2026-11-21T22:00:00Z'),
      to: text('TIME', 'created before this time'),
      'dry-run': flag('only counts matching deliveries'),
    },
    callsService: true,
    examples: ['deliveries retry msg_0197a…', 'deliveries retry --endpoint 4 --status pending,held'],
    load: async () => (await import('./commands/deliveries.ts')).retryDeliveries,
  },
  {
    name: 'events pull',
    about: 'Prints the events of a pull endpoint as JSON lines, and acknowledges them',
    options: {
      endpoint: text('ID', 'pull endpoint (default: the only one)'),
      limit: text('N', 'events per call, up to 500 (default 100)'),
      follow: flag('waits for more events'),
      peek: flag('prints the next events without acknowledging them'),
    },
    callsService: true,
    examples: ['events pull', 'events pull --follow | node handle.js', 'events pull --endpoint 4 --peek --limit 1'],
    load: async () => (await import('./commands/pull.ts')).pullEvents,
  },
  {
    name: 'transformations show',
    args: 'ENDPOINT',
    about: "Prints an endpoint's transformation",
    options: {},
    callsService: true,
    examples: ['transformations show 4'],
    load: async () => (await import('./commands/transformations.ts')).showTransformation,
  },
  {
    name: 'transformations set',
    args: 'ENDPOINT [FILE]',
    about:
      "Replaces an endpoint's transformation; FILE contains a JSONata expression for the body; - reads standard input",
    options: headersOption,
    callsService: true,
    examples: ['transformations set 4 slack.jsonata', 'transformations set 4 body.jsonata --headers headers.jsonata'],
    load: async () => (await import('./commands/transformations.ts')).setTransformation,
  },
  {
    name: 'transformations preview',
    args: 'ENDPOINT [FILE]',
    about: 'Prints the headers and body that the saved transformation, or one in files, would produce; sends nothing',
    options: {
      ...headersOption,
      delivery: text('ID', 'stored delivery to apply it to (default: a sample)'),
      event: text('NAME', "event type of the sample (default: the endpoint's first event type)"),
    },
    callsService: true,
    examples: ['transformations preview 4 slack.jsonata', 'transformations preview 4 --delivery msg_0197a…'],
    load: async () => (await import('./commands/transformations.ts')).previewTransformation,
  },
  {
    name: 'transformations remove',
    args: 'ENDPOINT',
    about: "Removes an endpoint's transformation",
    options: {},
    callsService: true,
    examples: ['transformations remove 4'],
    load: async () => (await import('./commands/transformations.ts')).removeTransformation,
  },
];
