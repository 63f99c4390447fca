import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../accounts/caller.ts';
import type { Config } from '../config.ts';
import { flagOf } from '../management/http.ts';
import { AppError } from '../platform/errors.ts';
import type { App } from '../platform/http/app.ts';
import { type Authenticator, presentedKey } from '../platform/http/auth.ts';
import { problem } from '../platform/problem.ts';
import type { AgentCatalogue, CallApi } from './server/server.ts';

const path = '/mcp';

type AgentDeps = { config: Config; auth: Authenticator<Caller> };

/**
 * Registers the MCP server over streamable HTTP (docs/guides/agents.md#http). It has no sessions, so any process can
 * answer any request. Each tool call is a request to the API of this process, with the caller's key and address.
 */
export async function agentRoutes(app: App, { config, auth }: AgentDeps): Promise<void> {
  // Read-only keys must be allowed to post here. Each tool call is authorised again by the route that it calls.
  const access = { effect: 'read', keepsToResources: true } as const;
  const preValidation = auth.requireKey('configurations', 'reports', 'accounts');
  let catalogue: Promise<AgentCatalogue> | null = null;

  async function respond(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    checkOrigin(request, config.publicUrl);
    if (Array.isArray(request.body))
      throw new AppError('invalid_request', { details: [{ path: '/', message: problem('mcpBatch') }] });
    const [{ createMcpHandler }, { createAgentServer, loadCatalogue }] = await Promise.all([
      import('@modelcontextprotocol/server'),
      import('./server/server.ts'),
    ]);
    const call = callApi(app, request);
    const loaded = (): Promise<AgentCatalogue> => {
      catalogue ??= loadCatalogue(call).catch((err: unknown) => {
        catalogue = null;
        throw err;
      });
      return catalogue;
    };
    const readOnly = flagOf(request, 'read_only');
    const handler = createMcpHandler(() => createAgentServer({ call, catalogue: loaded, readOnly }), {
      maxSubscriptions: 0,
    });
    const { status, headers, body } = await handler.fetch(webRequest(request, config.publicUrl), {
      parsedBody: request.body,
    });
    reply.code(status).headers({ ...Object.fromEntries(headers), 'cache-control': 'no-store' });
    return reply.send(body === null ? '' : Readable.fromWeb(body as never));
  }

  app.post(path, { schema: { hide: true }, config: access, preValidation }, respond);
}

/**
 * Rejects calls from web pages on other sites. Without this check, a page could rebind its DNS name to this server and
 * call it from the user's browser.
 * @throws AppError permission_denied
 */
function checkOrigin({ headers: { origin } }: FastifyRequest, publicUrl: string): void {
  if (origin !== undefined && origin !== new URL(publicUrl).origin)
    throw new AppError('permission_denied', { message: problem('mcpOrigin') });
}

const webRequest = (request: FastifyRequest, publicUrl: string): Request =>
  new Request(`${publicUrl}${path}`, {
    method: 'POST',
    headers: Object.entries(request.headers).flatMap(([name, value]): [string, string][] =>
      typeof value === 'string' ? [[name, value]] : [],
    ),
    body: JSON.stringify(request.body ?? null),
  });

/** Creates a function that calls the API of this process with the key and the client address of a request. */
const callApi =
  (app: App, request: FastifyRequest): CallApi =>
  async ({ method, path: url, body }) => {
    const { statusCode, body: text } = await app.inject({
      method: method as 'GET',
      url,
      remoteAddress: request.ip,
      headers: {
        authorization: `Bearer ${presentedKey(request)}`,
        'user-agent': 'perkwire-mcp',
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { payload: JSON.stringify(body) }),
    });
    return { status: statusCode, text };
  };
