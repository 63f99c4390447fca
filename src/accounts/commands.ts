import { type Command, flag, text } from '../command-line/command.ts';

/** Commands for operators' accounts, even if nobody can sign in, and for the audit log. */
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
  {
    name: 'roles list',
    about: 'Lists the roles that the publisher has made',
    options: {},
    callsService: true,
    examples: ['roles list'],
    load: async () => (await import('./commands/roles.ts')).listRoles,
  },
  {
    name: 'roles set',
    args: 'NAME PERMISSION…',
    about: 'Makes a role of permissions, or changes what one may do',
    options: {},
    callsService: true,
    examples: ['roles set Support offers/approval reports'],
    load: async () => (await import('./commands/roles.ts')).setRole,
  },
  {
    name: 'roles remove',
    args: 'NAME',
    about: 'Removes a role that no member has',
    options: {},
    callsService: true,
    examples: ['roles remove Support'],
    load: async () => (await import('./commands/roles.ts')).removeRole,
  },
  {
    name: 'audit verify',
    about: 'Says whether an entry of the audit log in DATABASE_URL, or DATA_DIR, was changed or lost',
    options: {
      known: text('PUBLISHER:NUMBER:HASH', 'a last entry as an earlier run printed it, which must still be there'),
    },
    examples: ['audit verify', 'audit verify --known 7:120:9f86d081'],
    load: async () => (await import('./commands/audit.ts')).verifyAudit,
  },
  {
    name: 'audit export',
    about: 'Prints the audit log as JSON, an entry a line, the oldest first',
    options: {
      publisher: text('ID', 'of this publisher alone'),
      after: text('NUMBER', 'entries after this one; with --publisher'),
    },
    examples: ['audit export > audit.ndjson', 'audit export --publisher 7 --after 120'],
    load: async () => (await import('./commands/audit.ts')).exportAudit,
  },
];
