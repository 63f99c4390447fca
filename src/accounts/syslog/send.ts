import dgram from 'node:dgram';
import net from 'node:net';
import tls from 'node:tls';
import type { SyslogSetting } from '../../config/outgoing.ts';

/** Timeout from the name lookup until the receiver closes the connection (milliseconds). */
const defaultDeadlineMs = 10_000;

/**
 * Extra time for a receiver that rejects everything to close the connection, in addition to the connection time
 * (milliseconds).
 */
const graceMs = 100;

/**
 * Sends messages to a syslog receiver over TCP or TLS with octet counting (RFC 6587, RFC 5425). A connection carries
 * only these messages. The client ends it after them, and the receiver closes its side once it has read everything.
 * Syslog has no other confirmation, and UDP has none at all.
 * @param options.ca trusted authorities; default: those of Node
 * @throws Error if they were not accepted, or it is unknown whether they were
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
    let isTaken = false;
    const end = () => {
      isEnding = true;
      socket.end();
    };
    socket.on('error', reject);
    socket.on('end', () => {
      isTaken = isEnding;
    });
    socket.on('close', () => {
      clearTimeout(timer);
      if (isTaken) resolve();
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
    // On a connected socket, an absent receiver makes the next message fail.
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
