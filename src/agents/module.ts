import type { Accounts } from '../accounts/module.ts';
import type { App } from '../platform/http/app.ts';
import type { Platform } from '../platform/module.ts';
import { agentCommands } from './commands.ts';
import { agentRoutes } from './routes.ts';

type AgentsDeps = { platform: Platform; accounts: Accounts };

/** Creates the agents module: an MCP server through which AI agents use the API, with the permissions of a key. */
export function createAgents({ platform, accounts }: AgentsDeps) {
  const { config } = platform.deps;
  return {
    name: 'agents',
    rank: 235,
    commands: agentCommands,
    routes: async (app: App) => void (await app.register(agentRoutes, { config, auth: accounts.auth })),
  };
}
