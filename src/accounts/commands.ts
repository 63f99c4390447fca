import { type Command, flag, text } from '../command-line/command.ts';

/** Commands for the audit log and for operator accounts. They work even if nobody can sign in. */
export const accountCommands: readonly Command[] = [
  {
    name: 'operator create',
    about: 'Creates an operator of the dashboard, or sets a new password for one',
    options: {
      email: text('ADDRESS', 'e-mail address of the operator'),
      'password-stdin': flag(
        'reads the password from standard input; otherwise the command asks for it or generates one',
      ),
      'remove-two-factor': flag(
        'also resets two-factor authentication, for an operator who has lost phone and recovery codes',
      ),
    },
    examples: ['operator create --email you@example.com'],
    load: async () => (await import('./commands/create-operator.ts')).createOperator,
  },
  {
    name: 'roles list',
    about: 'Lists the custom roles of the publisher',
    options: {},
    callsService: true,
    examples: ['roles list'],
    load: async () => (await import('./commands/roles.ts')).listRoles,
  },
  {
    name: 'roles set',
    args: 'NAME PERMISSION…',
    about: 'Creates a role with permissions, or replaces the permissions of a role',
    options: {},
    callsService: true,
    examples: ['roles set Support offers/approval reports'],
    load: async () => (await import('./commands/roles.ts')).setRole,
  },
  {
    name: 'roles remove',
    args: 'NAME',
    about: 'Removes an unused role',
    options: {},
    callsService: true,
    examples: ['roles remove Support'],
    load: async () => (await import('./commands/roles.ts')).removeRole,
  },
  {
    name: 'audit verify',
    about: 'Checks whether entries of the audit log in DATABASE_URL or DATA_DIR were changed or lost',
    options: {
      known: text('PUBLISHER:NUMBER:HASH', 'the last entry that an earlier run printed, which must still exist'),
    },
    examples: ['audit verify', 'audit verify --known 7:120:9f86d081'],
    load: async () => (await import('./commands/audit.ts')).verifyAudit,
  },
  {
    name: 'audit export',
    about: 'Prints the audit log as JSON, one entry per line, oldest first',
    options: {
      publisher: text('ID', 'only entries of this publisher'),
      after: text('NUMBER', 'only entries after this number; requires --publisher'),
    },
    examples: ['audit export > audit.ndjson', 'audit export --publisher 7 --after 120'],
    load: async () => (await import('./commands/audit.ts')).exportAudit,
  },
];
