import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { App } from '../ports.ts';

/** What is served past the framework. `closing`: the process stops, and answers say that their connections end. */
export type ShortWay = { readonly closing: boolean };

type Serve = (request: IncomingMessage, response: ServerResponse, goOn: () => void) => void;

/** Lets `serve` have each request before the framework, which gets those that `goOn` is called for. */
export function serveFirst(app: App, serve: Serve): ShortWay {
  const way = { closing: false };
  app.addHook('preClose', async () => {
    way.closing = true; // from here on the framework tells clients that their connections end
  });
  const { server } = app;
  const listeners = server.listeners('request') as RequestListener[];
  server.removeAllListeners('request');
  server.on('request', (request, response) => {
    const goOn = (): void => {
      for (const listener of listeners) listener.call(server, request, response);
    };
    if (way.closing) goOn();
    else serve(request, response, goOn);
  });
  return way;
}

const plainLength = /^[1-9]\d{0,7}$/;

/**
 * How long the body of a request is that announces it, and sends it as it is (bytes); null: it has none, or it is
 * anything else.
 */
export function plainBodyLength({ headers }: IncomingMessage): number | null {
  const length = headers['content-length'];
  const isPlain = headers['transfer-encoding'] === undefined && headers['content-encoding'] === undefined;
  return length !== undefined && isPlain && plainLength.test(length) ? Number(length) : null;
}

/** A body that was taken. `giveBack` puts it where it would be, for whoever reads the request as a stream. */
export type TakenBody = { bytes: Buffer; giveBack: () => void };

/**
 * Takes a body as the parser reads it, where a stream with its buffer, events and ticks costs more than most of them
 * are
 * worth. To be called before the event loop turns, for bodies of a bounded, announced length. A client that goes away
 * is
 * seen by the server as ever, and then nothing is taken.
 */
export function takeBody(request: IncomingMessage, taken: (body: TakenBody) => void): void {
  const chunks: Buffer[] = [];
  const { push } = request;
  const giveBack = (): void => {
    request.push = push;
    for (const chunk of chunks) request.push(chunk);
    request.push(null);
  };
  request.push = (chunk: Buffer | null) => {
    if (chunk !== null) chunks.push(chunk);
    else taken({ bytes: chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks), giveBack });
    return true;
  };
}

/**
 * Says that nobody is going to read the request as a stream: else the server would read it to its end after the answer.
 */
export const leaveUnread = (request: IncomingMessage): unknown => request.read(0);
