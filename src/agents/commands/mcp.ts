import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { createApi } from '../../command-line/api.ts';
import { exitCodes, type Run } from '../../command-line/command.ts';
import { type CallApi, createAgentServer, loadCatalogue } from '../server/server.ts';

/**
 * Serves MCP on standard input and output until the client closes its input
 * (docs/guides/agents.md#standard-input-and-output).
 */
export const serveMcp: Run = async (call) => {
  const api = createApi(call);
  const callApi: CallApi = async ({ method, path, body }) => {
    const response = await api.send(method, path, body === undefined ? {} : { body });
    return { status: response.status, text: await response.text() };
  };
  // Listen before the first await: the client may close its input while the catalogue loads.
  const ended = new Promise<void>((resolve) => {
    call.stdin.once('close', resolve).once('end', resolve);
    call.signal.addEventListener('abort', () => resolve(), { once: true });
  });
  const catalogue = await loadCatalogue(callApi);
  const readOnly = call.options['read-only'] === true;
  const handle = serveStdio(() => createAgentServer({ call: callApi, catalogue: async () => catalogue, readOnly }), {
    transport: new StdioServerTransport(call.stdin),
    onerror: (err) => call.out.note(err.message),
  });
  await ended;
  await handle.close();
  return exitCodes.ok;
};
