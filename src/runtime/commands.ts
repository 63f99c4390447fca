import type { Command } from '../command-line/command.ts';
import type { LoadSealed } from './commands/secrets.ts';

/** Commands that check the whole installation. */
export const doctorCommands: readonly Command[] = [
  {
    name: 'doctor',
    about: 'Checks configuration, database, clocks, keys, processes and endpoints, and says what to fix',
    options: {},
    examples: ['doctor', 'doctor --json'],
    load: async () => (await import('./commands/doctor.ts')).doctor,
  },
];

/** Commands that rotate SECRETS_KEY. They reseal the columns in the order of the list. */
export const secretsCommands = (columns: readonly LoadSealed[]): readonly Command[] => [
  {
    name: 'secrets status',
    about: 'Counts what is sealed with each SECRETS_KEY, and the users under each USER_PEPPER',
    options: {},
    examples: ['secrets status'],
    load: async () => (await import('./commands/secrets.ts')).secretsStatus(columns),
  },
  {
    name: 'secrets reseal',
    about: 'Seals everything with the first SECRETS_KEY; can be interrupted and run again',
    options: {},
    examples: ['secrets reseal'],
    load: async () => (await import('./commands/secrets.ts')).resealSecrets(columns),
  },
];
