import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Received = { method: string; url: URL; headers: IncomingHttpHeaders; body: string };

export type LocalServer = { url: string; received: Received[]; close: () => Promise<void> };

/** Starts a real HTTP server on a free port that records its requests. */
export async function startServer(answer: (response: ServerResponse, request: Received) => void): Promise<LocalServer> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    const recordedRequest = {
      method: request.method ?? '',
      url: new URL(request.url ?? '', 'http://local'),
      headers: request.headers,
      body,
    };
    received.push(recordedRequest);
    answer(response, recordedRequest);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Returns the URL of a port on which no server listens. */
export async function closedUrl(): Promise<string> {
  const { url, close } = await startServer(() => {});
  await close();
  return url;
}
