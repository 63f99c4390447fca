import { type Command, flag, text } from '../command-line/command.ts';
import { fileOptions } from '../command-line/file-options.ts';

const members = {
  emails: flag('the values are SHA-256 hashes of e-mail addresses instead of IDs'),
};

/** Commands for audiences and their members. */
export const audienceCommands: readonly Command[] = [
  {
    name: 'audiences list',
    about: 'Lists audiences with their sizes',
    options: {},
    callsService: true,
    examples: ['audiences list', 'audiences list --json'],
    load: async () => (await import('./commands/audiences.ts')).list,
  },
  {
    name: 'audiences estimate',
    args: 'FILE',
    about: 'Counts the users that a rule in a JSON file would select; - reads standard input',
    options: {},
    callsService: true,
    examples: ['audiences estimate rule.json'],
    load: async () => (await import('./commands/audiences.ts')).estimate,
  },
  {
    name: 'audiences check',
    args: 'KEY ID',
    about: 'Shows whether a user is a member, and why',
    options: members,
    callsService: true,
    examples: ['audiences check customers user-42'],
    load: async () => (await import('./commands/audiences.ts')).check,
  },
  {
    name: 'audiences overlap',
    args: 'KEY OTHER',
    about: 'Counts the users that two audiences have in common',
    options: {},
    callsService: true,
    examples: ['audiences overlap customers newsletter'],
    load: async () => (await import('./commands/audiences.ts')).overlap,
  },
  {
    name: 'audiences uses',
    args: 'KEY',
    about: 'Lists the campaigns and audiences that use an audience',
    options: {},
    callsService: true,
    examples: ['audiences uses customers'],
    load: async () => (await import('./commands/audiences.ts')).uses,
  },
  {
    name: 'audiences create',
    args: 'KEY',
    about: 'Creates a list of users',
    options: { name: text('NAME', 'name of the list (default: the key)') },
    callsService: true,
    examples: ['audiences create customers --name "Existing customers"'],
    load: async () => (await import('./commands/audiences.ts')).create,
  },
  {
    name: 'audiences import',
    args: 'KEY FILE',
    about: 'Adds the users in a CSV file; - reads standard input',
    options: fileOptions({ isList: true }),
    callsService: true,
    examples: ['audiences import customers customers.csv --dry-run', 'audiences import customers - < ids.txt'],
    load: async () => (await import('./commands/audiences.ts')).importFile,
  },
  {
    name: 'audiences add',
    args: 'KEY ID…',
    about: 'Adds users by their IDs',
    options: members,
    callsService: true,
    examples: ['audiences add customers user-42 user-43'],
    load: async () => (await import('./commands/audiences.ts')).add,
  },
  {
    name: 'audiences remove',
    args: 'KEY ID…',
    about: 'Removes users by their IDs',
    options: members,
    callsService: true,
    examples: ['audiences remove customers user-42'],
    load: async () => (await import('./commands/audiences.ts')).remove,
  },
];
