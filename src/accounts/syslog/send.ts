import dgram from 'node:dgram';
import net from 'node:net';
import tls from 'node:tls';
import type { SyslogSetting } from '../../config/outgoing.ts';

/** Everything from the name lookup to the receiver's close of the connection (milliseconds). */
const defaultDeadlineMs = 10_000;

/** What a receiver that takes nothing has, beyond the time of the connect, to close the connection (milliseconds). */
const graceMs = 100;

/**
 * Hands messages to a syslog receiver, over TCP and TLS with octet counting (RFC 6587, RFC 5425). A connection carries
 * these messages alone. It is ended after them, and not by the receiver, which closes its side once it has read all:
 * no other sign of that exists in syslog, and none over UDP.
 * @param options.ca trusted authorities; default: those of Node
 * @throws Error when they were not taken, or nobody knows whether they were
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
    // Connected: a receiver that is known to be absent refuses the next message.
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
