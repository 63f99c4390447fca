import { type Command, exitCodes, type Option, type Run } from './command.ts';

/** The module is the server: it runs until a signal, and ends the process itself. */
const serve: Run = async () => {
  await import('../server.ts');
  return exitCodes.ok;
};

const text = (value: string, about: string): Option => ({ type: 'string', value, about });
const flag = (about: string): Option => ({ type: 'boolean', about });

const filterOptions = {
  event: text('NAME', 'of this event type'),
  endpoint: text('ID', 'of this endpoint'),
  status: text('LIST', 'pending, delivered, failed, held; several with commas'),
};

const webhookCommands: readonly Command[] = [
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
    load: async () => (await import('./run/listen.ts')).listen,
  },
  {
    name: 'trigger',
    args: 'EVENT',
    about: 'Sends the sample of an event to everyone who listens, or to one endpoint',
    options: { endpoint: text('ID', 'this endpoint, instead of the listeners') },
    callsService: true,
    examples: ['trigger usp.selection', 'trigger conversion --endpoint 4'],
    load: async () => (await import('./run/listen.ts')).trigger,
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
    load: async () => (await import('./run/deliveries.ts')).tailDeliveries,
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
    load: async () => (await import('./run/deliveries.ts')).retryDeliveries,
  },
];

const catalogueOptions = {
  database: flag('straight from DATABASE_URL, whatever the size; the default where there is no key'),
};

const catalogueCommands: readonly Command[] = [
  {
    name: 'explain',
    args: '[SESSION_ID]',
    about: 'Says why each offer is shown or not: to a made-up request, or in a session',
    options: {
      placement: text('NAME', 'the placement asked from'),
      user: text('ID', 'pub_user_id'),
      country: text('CODE', 'such as DE'),
      offer: text('ID', 'only this offer'),
      body: text('JSON', 'further fields of the request'),
    },
    callsService: true,
    examples: ['explain --placement checkout --user u-1 --country DE', 'explain 0197a000-0000-7000-8000-000000000001'],
    load: async () => (await import('./run/explain.ts')).explain,
  },
  {
    name: 'catalogue export',
    args: 'FILE',
    about: "Writes a publisher's catalogue to a JSON file",
    options: catalogueOptions,
    callsService: true,
    examples: ['catalogue export catalogue.json', 'catalogue export catalogue.json --database --publisher 1'],
    load: async () => (await import('./run/catalogue.ts')).exportToFile,
  },
  {
    name: 'catalogue import',
    args: 'FILE',
    about: 'Reads a catalogue into an empty publisher; with --database and no --publisher into a new one',
    options: { ...catalogueOptions, 'dry-run': flag('checks everything, writes nothing') },
    callsService: true,
    examples: ['catalogue import catalogue.json --dry-run', 'catalogue import catalogue.json --database'],
    load: async () => (await import('./run/catalogue.ts')).importFromFile,
  },
  {
    name: 'catalogue diff',
    args: 'FILE [OTHER]',
    about: 'Compares a file with the catalogue there is, or with another file; exits with 1 where they differ',
    options: catalogueOptions,
    callsService: true,
    examples: ['catalogue diff catalogue.json', 'catalogue diff before.json after.json'],
    load: async () => (await import('./run/catalogue-diff.ts')).diff,
  },
];

const start: Command = {
  name: 'start',
  about: 'Starts the service; without DATABASE_URL with a database of its own in DATA_DIR, and the demo catalogue',
  options: {},
  examples: ['start'],
  load: async () => serve,
};

const serverCommands: readonly Command[] = [
  {
    name: 'doctor',
    about: 'Checks configuration, database, clocks, keys, processes and endpoints, and says what to fix',
    options: {},
    examples: ['doctor', 'doctor --json'],
    load: async () => (await import('./run/doctor.ts')).doctor,
  },
  {
    name: 'operator create',
    about: 'Creates an operator of the dashboard, or sets a new password for one',
    options: {
      email: text('ADDRESS', 'of the operator'),
      'password-stdin': flag('reads the password from standard input; else it is asked for, or generated'),
      'remove-two-factor': flag('also for an operator who lost phone and codes'),
    },
    examples: ['operator create --email you@example.com'],
    load: async () => (await import('./run/installation.ts')).createOperator,
  },
  {
    name: 'secrets status',
    about: 'Counts what is sealed with each SECRETS_KEY, and the users under each USER_PEPPER',
    options: {},
    examples: ['secrets status'],
    load: async () => (await import('./run/secrets.ts')).secretsStatus,
  },
  {
    name: 'secrets reseal',
    about: 'Seals everything with the first SECRETS_KEY; can be interrupted and run again',
    options: {},
    examples: ['secrets reseal'],
    load: async () => (await import('./run/secrets.ts')).resealSecrets,
  },
  {
    name: 'reports verify',
    args: '[FROM [TO]]',
    about: 'Compares the reports of DATABASE_URL with the raw rows, by UTC days (default: the last seven)',
    options: {},
    examples: ['reports verify 2026-11-01 2026-11-30'],
    load: async () => (await import('./run/reports-verify.ts')).verifyReports,
  },
  {
    name: 'demo load',
    about: 'Writes the demo catalogue into DATABASE_URL under a random key',
    options: {},
    examples: ['demo load'],
    load: async () => (await import('./run/installation.ts')).loadDemo,
  },
];

const completion: Command = {
  name: 'completion',
  args: 'bash|zsh|fish',
  about: 'Prints a script that completes commands and options in a shell',
  options: {},
  examples: ['completion bash >> ~/.bashrc', 'completion fish > ~/.config/fish/completions/perkwire.fish'],
  load: async () => (await import('./run/completion.ts')).completion,
};

/** Every command, in the order of the help. */
export const commands: readonly Command[] = [
  start,
  ...webhookCommands,
  ...catalogueCommands,
  ...serverCommands,
  completion,
];
