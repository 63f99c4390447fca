import { type Command, flag, text } from '../command-line/command.ts';

/** Operators, also where nobody can sign in. */
export const accountCommands: readonly Command[] = [
  {
    name: 'operator create',
    about: 'Creates an operator of the dashboard, or sets a new password for one',
    options: {
      email: text('ADDRESS', 'of the operator'),
      'password-stdin': flag('reads the password from standard input; else it is asked for, or generated'),
      'remove-two-factor': flag('also for an operator who lost phone and codes'),
    },
    examples: ['operator create --email you@example.com'],
    load: async () => (await import('./commands/create-operator.ts')).createOperator,
  },
];
