import { type Command, text } from '../command-line/command.ts';

const identifierOptions = {
  user: text('ID', 'pub_user_id; - reads it from standard input, so that other users cannot see it'),
  'ad-fp': text('ID', 'ID of the device or browser'),
  email: text('ADDRESS', 'e-mail address; - reads it from standard input'),
  'email-sha256': text('HASH', 'SHA-256 hash of the e-mail address'),
};

/** Command-line commands for the personal data of a user. */
export const privacyCommands: readonly Command[] = [
  {
    name: 'privacy find',
    about: 'Counts the stored data of a person; exits with 1 if there is none',
    options: identifierOptions,
    callsService: true,
    examples: ['privacy find --user u-1', 'privacy find --user - < id.txt', 'privacy find --email - < address.txt'],
    load: async () => (await import('./commands/desk.ts')).findUser,
  },
  {
    name: 'privacy export',
    args: 'FILE',
    about: 'Exports all stored data of a person to a JSON file',
    options: identifierOptions,
    callsService: true,
    examples: ['privacy export person.json --user u-1'],
    load: async () => (await import('./commands/desk.ts')).exportUser,
  },
  {
    name: 'privacy erase',
    about: 'Erases the data of a person, and waits until this is done',
    options: identifierOptions,
    callsService: true,
    examples: ['privacy erase --user u-1', 'privacy erase --ad-fp 5f1d', 'privacy erase --email - < address.txt'],
    load: async () => (await import('./commands/desk.ts')).eraseUser,
  },
  {
    name: 'privacy requests',
    about: 'Lists the latest erasure requests with their states',
    options: {},
    callsService: true,
    examples: ['privacy requests', 'privacy requests --json'],
    load: async () => (await import('./commands/desk.ts')).listRequests,
  },
];
