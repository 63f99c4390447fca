import dgram from 'node:dgram';
import net from 'node:net';
import tls from 'node:tls';
import type { SyslogSetting } from '../../config/outgoing.ts';

/** Timeout from the DNS lookup until the receiver closes the connection, in milliseconds. */
const defaultDeadlineMs = 10_000;

/**
 * Milliseconds the client waits after sending before it closes the connection, on top of the connect time. A receiver
 * that rejects the request can then close first.
 */
const graceMs = 100;

/**
 * Sends messages to a syslog receiver over UDP, or over TCP or TLS with octet counting (RFC 6587, RFC 5425). Each call
 * opens a connection for its messages only. The client then half-closes the connection, and the receiver closes its
 * side once it has read everything. Syslog has no other acknowledgement, and UDP has none at all.
 * @param options.ca trusted certificate authorities; defaults to Node's
 * @throws Error if the messages were not accepted, or if it is unknown whether they were
 */
export function sendSyslog(
  setting: SyslogSetting,
  messages: readonly Buffer[],
  { deadlineMs = defaultDeadlineMs, ca }: { deadlineMs?: number; ca?: string } = {},
): Promise<void> {
  if (setting.transport === 'udp') return sendDatagrams(setting, messages);
  const framed = Buffer.concat(messages.flatMap((message) => [Buffer.from(`${message.length} `), message]));
  return new Promise((resolve, reject) => {
    const { host, port } = setting;
    const isTls = setting.transport === 'tls';
    const servername = net.isIP(host) === 0 ? host : '';
    const startMs = performance.now();
    const socket = isTls ? tls.connect({ host, port, servername, ca }) : net.connect({ host, port });
    const timeout = () => socket.destroy(new Error('The receiver did not take the messages in time.'));
    const timer = setTimeout(timeout, deadlineMs);
    let isEnding = false;
    let isComplete = false;
    const end = () => {
      isEnding = true;
      socket.end();
    };
    socket.on('error', reject);
    socket.on('end', () => {
      isComplete = isEnding;
    });
    socket.on('close', () => {
      clearTimeout(timer);
      if (isComplete) resolve();
      else reject(new Error('The receiver ended the connection before it had taken the messages.'));
    });
    socket.resume();
    socket.once(isTls ? 'secureConnect' : 'connect', () => {
      const tookMs = performance.now() - startMs;
      socket.write(framed, (err) => {
        if (!err) setTimeout(end, tookMs + graceMs);
      });
    });
  });
}

async function sendDatagrams({ host, port }: SyslogSetting, messages: readonly Buffer[]): Promise<void> {
  const socket = dgram.createSocket(net.isIPv6(host) ? 'udp6' : 'udp4');
  try {
    // Connect the UDP socket, so that the next message fails if there is no receiver.
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject);
      socket.connect(port, host, (err?: Error) => (err === undefined ? resolve() : reject(err)));
    });
    for (const message of messages)
      await new Promise<void>((resolve, reject) => {
        socket.send(message, (err) => (err === null ? resolve() : reject(err)));
      });
  } finally {
    socket.close();
  }
}
