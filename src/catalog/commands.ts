import { type Command, flag } from '../command-line/command.ts';

const catalogueOptions = {
  database: flag('straight from DATABASE_URL, whatever the size; the default where there is no key'),
};

/** The catalogue as a file, and the kill switch. */
export const catalogueCommands: readonly Command[] = [
  {
    name: 'catalogue export',
    args: 'FILE',
    about: "Writes a publisher's catalogue to a JSON file",
    options: catalogueOptions,
    callsService: true,
    examples: ['catalogue export catalogue.json', 'catalogue export catalogue.json --database --publisher 1'],
    load: async () => (await import('./commands/catalogue.ts')).exportToFile,
  },
  {
    name: 'catalogue import',
    args: 'FILE',
    about: 'Reads a catalogue into an empty publisher; with --database and no --publisher into a new one',
    options: { ...catalogueOptions, 'dry-run': flag('checks everything, writes nothing') },
    callsService: true,
    examples: ['catalogue import catalogue.json --dry-run', 'catalogue import catalogue.json --database'],
    load: async () => (await import('./commands/catalogue.ts')).importFromFile,
  },
  {
    name: 'catalogue apply',
    args: 'FILE',
    about: 'Brings a publisher to the state of a file: shows the plan, asks, and applies it as a whole',
    options: {
      ...catalogueOptions,
      'dry-run': flag('shows the plan only; exits with 2 where something would change'),
      prune: flag('also removes what the file does not name'),
      yes: flag('applies without asking'),
    },
    callsService: true,
    examples: ['catalogue apply catalogue.json --dry-run', 'catalogue apply catalogue.json --yes --prune'],
    load: async () => (await import('./commands/catalogue-apply.ts')).apply,
  },
  {
    name: 'catalogue diff',
    args: 'FILE [OTHER]',
    about: 'Compares a file with the catalogue there is, or with another file; exits with 1 where they differ',
    options: catalogueOptions,
    callsService: true,
    examples: ['catalogue diff catalogue.json', 'catalogue diff before.json after.json'],
    load: async () => (await import('./commands/catalogue-diff.ts')).diff,
  },
  {
    name: 'controls show',
    args: 'PUBLISHER',
    about: "Prints a publisher's block rules as JSON",
    options: {},
    callsService: true,
    examples: ['controls show 1 > rules.json'],
    load: async () => (await import('./commands/controls.ts')).showControls,
  },
  {
    name: 'controls set',
    args: 'PUBLISHER FILE',
    about: "Replaces a publisher's block rules by those of a JSON file; - reads standard input",
    options: { 'dry-run': flag('checks them, and saves nothing') },
    callsService: true,
    examples: ['controls set 1 rules.json --dry-run', 'controls set 1 rules.json'],
    load: async () => (await import('./commands/controls.ts')).setControls,
  },
  {
    name: 'stop',
    args: 'offer|campaign|advertiser ID',
    about: 'Stops it at once: it is shown no more, in every process within about a second',
    options: {},
    callsService: true,
    examples: ['stop offer 12', 'stop advertiser 3'],
    load: async () => (await import('./commands/stop.ts')).stop,
  },
  {
    name: 'resume',
    args: 'offer|campaign|advertiser ID',
    about: 'Ends a stop: it is again as it was before',
    options: {},
    callsService: true,
    examples: ['resume offer 12'],
    load: async () => (await import('./commands/stop.ts')).resume,
  },
];
