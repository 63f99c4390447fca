import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { createApi } from '../../command-line/api.ts';
import { exitCodes, type Run } from '../../command-line/command.ts';
import { type AgentCatalogue, type CallApi, createAgentServer, loadCatalogue } from '../server/server.ts';

/**
 * Serves MCP on standard input and output until the client closes its input
 * (docs/guides/agents.md#standard-input-and-output). The service is called first when the client lists the tools, so the
 * command also starts while the service is down.
 */
export const serveMcp: Run = async (call) => {
  const api = createApi(call);
  const callApi: CallApi = async ({ method, path, body }) => {
    const response = await api.send(method, path, body === undefined ? {} : { body });
    return { status: response.status, text: await response.text() };
  };
  let loaded: Promise<AgentCatalogue> | null = null;
  const catalogue = (): Promise<AgentCatalogue> => {
    loaded ??= loadCatalogue(callApi).catch((err: unknown) => {
      loaded = null;
      throw err;
    });
    return loaded;
  };
  const readOnly = call.options['read-only'] === true;
  const transport = new StdioServerTransport(call.stdin);
  const ended = new Promise<void>((resolve) => {
    call.stdin.once('close', resolve).once('end', resolve);
    call.signal.addEventListener('abort', () => resolve(), { once: true });
  });
  const handle = serveStdio(() => createAgentServer({ call: callApi, catalogue, readOnly }), {
    transport,
    onerror: (err) => call.out.note(err.message),
  });
  await ended;
  await handle.close();
  return exitCodes.ok;
};
