import { type Command, flag } from '../command-line/command.ts';

/** Command-line commands for AI agents. */
export const agentCommands: readonly Command[] = [
  {
    name: 'mcp',
    about: 'Runs an MCP server on standard input and output, through which an AI agent can use the API',
    options: { 'read-only': flag("offers only tools that don't change anything") },
    callsService: true,
    examples: ['mcp', 'mcp --read-only --url https://perks.example.com'],
    load: async () => (await import('./commands/mcp.ts')).serveMcp,
  },
];
