import { createServer, type IncomingMessage, type Server, type ServerResponse, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Request, Route } from 'playwright-core';

type Pattern = string | RegExp;
type Handler = (route: Route) => unknown;
type Fulfilment = NonNullable<Parameters<Route['fulfill']>[0]>;

/** Network traffic from a context's pages, as seen by the browser's HTTP proxy. */
export type Network = {
  port: number;
  route: (pattern: Pattern, handler: Handler) => void;
  unroute: (pattern: Pattern) => void;
  /** Calls a listener for each later request of all pages. */
  onRequest: (listener: (request: Request) => void) => void;
  /** Adds a function to all documents that are loaded from now on. */
  expose: (name: string, call: (...args: never[]) => unknown) => void;
  /** Adds a script that runs in all documents loaded from now on, before their own scripts. */
  addScript: (script: string) => void;
  /** Removes all routes, listeners, functions and scripts. */
  reset: () => void;
  close: () => void;
};

const functionPath = '/__function/';
const scriptPath = '/__script.js';

/** Converts a URL pattern to a regular expression. Escapes and braces, which the tests don't use, are not supported. */
const toRegExp = (pattern: Pattern): RegExp =>
  pattern instanceof RegExp
    ? pattern
    : new RegExp(
        `^${pattern.replace(/[.+?^$()|[\]\\]/g, '\\$&').replace(/\*+/g, (stars) => (stars === '*' ? '[^/]*' : '.*'))}$`,
      );

/** Sends an invalid response. The browser reports a network failure to the page, and does not retry. */
const abort = ({ socket }: ServerResponse): void => void socket?.end('aborted\r\n\r\n');

export async function startNetwork(): Promise<Network> {
  let routes: { pattern: Pattern; matches: RegExp; handler: Handler }[] = [];
  let script = '';
  let functions = new Map<string, (...args: never[]) => unknown>();
  let listener: (request: Request) => void = () => {};

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url = '', method = '' } = request;
    const { pathname } = new URL(url);
    if (pathname === scriptPath) return void response.setHeader('content-type', 'text/javascript').end(script);
    const name = pathname.split(functionPath)[1];
    if (name !== undefined) {
      const args = JSON.parse(await textOf(request)) as never[];
      return void response.end(JSON.stringify((await functions.get(name)?.(...args)) ?? null));
    }
    if (method === 'OPTIONS') return forward(request, response, false);
    const pageRequest = { method: () => method, url: () => url } as Request;
    listener(pageRequest);
    const proceed = (): void => forward(request, response, script !== '');
    const handler = routes.findLast(({ matches }) => matches.test(url))?.handler;
    if (handler === undefined) return proceed();
    const route = {
      request: () => pageRequest,
      abort: async () => abort(response),
      continue: async () => proceed(),
      fulfill: async (answer: Fulfilment = {}) => fulfil(response, answer),
    };
    await handler(route as unknown as Route);
  }

  const server: Server = createServer((request, response) => {
    serve(request, response).catch(() => abort(response));
  });
  // Reject TLS connections, so that hosts without a local stand-in are unreachable.
  server.on('connect', (_request, socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    route: (pattern, handler) => void routes.push({ pattern, matches: toRegExp(pattern), handler }),
    unroute: (pattern) => {
      routes = routes.filter((route) => route.pattern !== pattern);
    },
    onRequest: (newListener) => {
      listener = newListener;
    },
    expose: (name, call) => {
      functions.set(name, call);
      script += definitionOf(name);
    },
    addScript: (source) => {
      script += `${source};\n`;
    },
    reset: () => {
      routes = [];
      functions = new Map();
      script = '';
      listener = () => {};
    },
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

const definitionOf = (name: string): string =>
  `window.${name} = (...args) => fetch('${functionPath}${name}',
    { method: 'POST', body: JSON.stringify(args), keepalive: true }).then((response) => response.json());\n`;

/** Forwards a request. With `withScript`, documents load the test script first. */
function forward(request: IncomingMessage, response: ServerResponse, withScript: boolean): void {
  const { url = '', method, headers } = request;
  const isDocument = withScript && headers.accept?.includes('text/html') === true;
  const sent = send(url, { method, headers: { ...headers, ...(isDocument && { 'accept-encoding': 'identity' }) } });
  sent.on('error', () => abort(response));
  sent.on('response', (answer) => {
    answer.on('error', () => abort(response));
    const { 'content-length': length, 'content-security-policy': policy, ...rest } = answer.headers;
    const inserts = isDocument && rest['content-type']?.startsWith('text/html') === true;
    const ownPolicy = policy && { 'content-security-policy': String(policy).replace('script-src', "$& 'self'") };
    response.writeHead(answer.statusCode ?? 502, inserts ? { ...rest, ...ownPolicy } : answer.headers);
    if (inserts) void textOf(answer).then((text) => response.end(text.replace(/^<!doctype[^>]*>|^/i, insertion)));
    else answer.pipe(response);
  });
  response.on('close', () => sent.destroy());
  request.pipe(sent);
}

/** Insert the script after the doctype, which must come first. */
const insertion = `$&<script src="${scriptPath}"></script>`;

function fulfil(response: ServerResponse, { status = 200, headers, contentType, json, body }: Fulfilment): void {
  const type = contentType ?? (json === undefined ? 'text/plain' : 'application/json');
  response.writeHead(status, { 'access-control-allow-origin': '*', 'content-type': type, ...headers });
  response.end(json === undefined ? body : JSON.stringify(json));
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
