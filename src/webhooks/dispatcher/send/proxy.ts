import { connect, isIPv6, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { HttpProxy } from '../../../config.ts';

/** Maximum size of the proxy's response head, in bytes. */
const maxHeadBytes = 8192;
const wordsOfProxy = /^HTTP\/1\.[01] (\d{3})/;

export const proxyErrorCode = 'PERKWIRE_PROXY';

/** Error for a proxy that cannot be reached or refuses the request. It does not count as a failure of the receiver. */
class ProxyError extends Error {
  readonly code = proxyErrorCode;
}

type TunnelEvents = { onOpen: () => void; onError: (error: Error) => void };

/**
 * Asks the proxy to connect to a vetted IP address. The proxy does not receive the host name, so that it does no DNS
 * lookup of its own.
 * @returns the socket immediately; it can be used as a tunnel once `onOpen` is called
 */
export function openTunnel(
  proxy: HttpProxy,
  { address, port }: { address: string; port: number },
  { onOpen, onError }: TunnelEvents,
): Socket {
  const { host, secure, authorization } = proxy;
  const socket: Socket = secure
    ? connectTls({ host, port: proxy.port, servername: host })
    : connect({ host, port: proxy.port, noDelay: true });
  const target = `${isIPv6(address) ? `[${address}]` : address}:${port}`;
  let head = Buffer.alloc(0);
  let done = false;
  const end = (error: Error): void => {
    if (!done) onError(error);
    done = true;
    socket.destroy();
  };
  const read = (): void => {
    for (let chunk = socket.read() as Buffer | null; chunk !== null; chunk = socket.read() as Buffer | null)
      head = Buffer.concat([head, chunk]);
    const headEnd = head.indexOf('\r\n\r\n');
    if (headEnd < 0 && head.length <= maxHeadBytes) return;
    const problem = problemOf(head.toString('latin1', 0, Math.max(headEnd, 0)));
    if (problem !== null) {
      end(problem);
      return;
    }
    done = true;
    socket.off('readable', read);
    const rest = head.subarray(headEnd + 4);
    if (rest.length > 0) socket.unshift(rest);
    onOpen();
  };
  socket.on('error', (error) => end(new ProxyError(`the proxy could not be reached (${error.message})`)));
  socket.on('close', () => end(new ProxyError('the proxy hung up')));
  socket.once(secure ? 'secureConnect' : 'connect', () => {
    const login = authorization === null ? '' : `proxy-authorization: ${authorization}\r\n`;
    socket.write(`CONNECT ${target} HTTP/1.1\r\nhost: ${target}\r\n${login}\r\n`);
    socket.on('readable', read);
  });
  return socket;
}

/**
 * Maps a proxy response to an error, or null if the tunnel is open. A 5xx from the proxy means that it could not
 * connect.
 */
function problemOf(head: string): Error | null {
  const status = Number(wordsOfProxy.exec(head)?.[1] ?? 0);
  if (status === 0) return new ProxyError('the proxy does not speak HTTP');
  if (status >= 500) return new Error(`the proxy could not connect (${status})`);
  return status >= 200 && status < 300 ? null : new ProxyError(`the proxy refused (${status})`);
}
