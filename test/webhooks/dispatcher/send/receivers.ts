import { once } from 'node:events';
import { createServer as createHttp, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createHttps } from 'node:https';
import { type AddressInfo, createServer as createTcp, type Socket, type Server as TcpServer } from 'node:net';
import type { SecureContextOptions } from 'node:tls';
import type { Certificate } from './certificate.ts';

/** A server on 127.0.0.1 that counts the requests it receives. */
export type Receiver = {
  port: number;
  server: Server | TcpServer;
  connections: () => number;
  open: () => number;
  close: () => Promise<void>;
};

async function listen(server: Server | TcpServer): Promise<Receiver> {
  const sockets = new Set<Socket>();
  let connections = 0;
  server.on('connection', (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('tlsClientError', () => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = async (): Promise<void> => {
    server.close();
    for (const socket of sockets) socket.destroy();
    await once(server, 'close');
  };
  return {
    port: (server.address() as AddressInfo).port,
    server,
    connections: () => connections,
    open: () => sockets.size,
    close,
  };
}

export const httpReceiver = (handler: RequestListener): Promise<Receiver> => listen(createHttp(handler));

export const httpsReceiver = (
  options: Certificate & SecureContextOptions,
  handler: RequestListener,
): Promise<Receiver> => listen(createHttps(options, handler));

/** Starts a bare TCP server that responds to incoming data with `onData`. */
export const tcpReceiver = (onData: (socket: Socket, chunk: Buffer) => void): Promise<Receiver> =>
  listen(createTcp((socket) => void socket.once('data', (chunk: Buffer) => onData(socket, chunk))));

/** Returns a port on which no server listens. */
export async function closedPort(): Promise<number> {
  const receiver = await tcpReceiver(() => {});
  await receiver.close();
  return receiver.port;
}

export async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
