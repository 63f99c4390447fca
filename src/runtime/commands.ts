import type { Command } from '../command-line/command.ts';
import type { LoadSealed } from './commands/secrets.ts';

/** Commands that check the complete installation. */
export const doctorCommands: readonly Command[] = [
  {
    name: 'doctor',
    about: 'Checks the configuration, database, clocks, keys, processes and endpoints, and suggests fixes',
    options: {},
    examples: ['doctor', 'doctor --json'],
    load: async () => (await import('./commands/doctor.ts')).doctor,
  },
];

/** Returns the commands that rotate SECRETS_KEY. They reseal the columns in the given order. */
export const secretsCommands = (columns: readonly LoadSealed[]): readonly Command[] => [
  {
    name: 'secrets status',
    about: 'Counts secrets by SECRETS_KEY, and users by USER_PEPPER',
    options: {},
    examples: ['secrets status'],
    load: async () => (await import('./commands/secrets.ts')).secretsStatus(columns),
  },
  {
    name: 'secrets reseal',
    about: 'Encrypts all secrets with the first SECRETS_KEY; can be interrupted and repeated',
    options: {},
    examples: ['secrets reseal'],
    load: async () => (await import('./commands/secrets.ts')).resealSecrets(columns),
  },
];
