import { type Command, text } from '../command-line/command.ts';

const identifierOptions = {
  user: text('ID', 'pub_user_id; - reads it from standard input, which other users of the machine do not see'),
  'ad-fp': text('ID', 'the id of the device or browser, instead'),
  email: text('ADDRESS', 'the e-mail address, instead; - reads it from standard input'),
  'email-sha256': text('HASH', 'the SHA-256 of the e-mail address, instead'),
};

/** Commands for the personal data of a user. */
export const privacyCommands: readonly Command[] = [
  {
    name: 'privacy find',
    about: 'Counts what is kept of a person; exits with 1 where nothing is',
    options: identifierOptions,
    callsService: true,
    examples: ['privacy find --user u-1', 'privacy find --user - < id.txt', 'privacy find --email - < address.txt'],
    load: async () => (await import('./commands/desk.ts')).findUser,
  },
  {
    name: 'privacy export',
    args: 'FILE',
    about: 'Writes everything that is kept of a person to a JSON file',
    options: identifierOptions,
    callsService: true,
    examples: ['privacy export person.json --user u-1'],
    load: async () => (await import('./commands/desk.ts')).exportUser,
  },
  {
    name: 'privacy erase',
    about: 'Erases a person, and waits until that is done',
    options: identifierOptions,
    callsService: true,
    examples: ['privacy erase --user u-1', 'privacy erase --ad-fp 5f1d', 'privacy erase --email - < address.txt'],
    load: async () => (await import('./commands/desk.ts')).eraseUser,
  },
  {
    name: 'privacy requests',
    about: 'Lists the newest requests for erasure with their state',
    options: {},
    callsService: true,
    examples: ['privacy requests', 'privacy requests --json'],
    load: async () => (await import('./commands/desk.ts')).listRequests,
  },
];
