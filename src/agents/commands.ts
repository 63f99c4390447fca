import { type Command, flag } from '../command-line/command.ts';

/** Command-line commands for AI agents. */
export const agentCommands: readonly Command[] = [
  {
    name: 'mcp',
    about: 'Serves the API to an AI agent as an MCP server on standard input and output',
    options: { 'read-only': flag('leaves out all tools that change something') },
    callsService: true,
    examples: ['mcp', 'mcp --read-only --url https://perks.example.com'],
    load: async () => (await import('./commands/mcp.ts')).serveMcp,
  },
];
