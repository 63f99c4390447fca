import { type Command, text } from '../command-line/command.ts';

/** CLI commands for portal links. */
export const portalCommands: readonly Command[] = [
  {
    name: 'portal-links list',
    about: 'Lists portal links with their users, permissions and states',
    options: {},
    callsService: true,
    examples: ['portal-links list', 'portal-links list --json'],
    load: async () => (await import('./commands/links.ts')).listLinks,
  },
  {
    name: 'portal-links create',
    args: 'ORIGIN PERMISSION [PERMISSION ...]',
    about: 'Creates a portal link for a frame on a website, and prints its URL',
    options: {
      user: text('NAME', 'name of the user in the audit log'),
      minutes: text('N', 'lifetime of the link and its session, 1 to 60; default: 60'),
    },
    callsService: true,
    examples: ['portal-links create https://admin.example deliveries/resend endpoints --user ann@shop.example'],
    load: async () => (await import('./commands/links.ts')).createLink,
  },
  {
    name: 'portal-links revoke',
    args: 'LINK',
    about: 'Revokes a portal link, which ends its session',
    options: {},
    callsService: true,
    examples: ['portal-links revoke 0197a000-0000-7000-8000-000000000001'],
    load: async () => (await import('./commands/links.ts')).revokeLink,
  },
];
