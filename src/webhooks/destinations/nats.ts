import { randomBytes } from 'node:crypto';
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { hostOf } from '../address-guard.ts';
import { failureOf, type Phase } from '../dispatcher/send/connections.ts';
import { pinned } from '../dispatcher/send/dial.ts';
import { fail } from '../dispatcher/send/result.ts';
import {
  AnswerError,
  answerOf,
  type BrokerAnswer,
  type BrokerClient,
  type BrokerMessage,
  type BrokerServer,
  objectOf,
  promiseOf,
} from './broker.ts';
import { networkUrl } from './kinds.ts';

/*
 * Client for NATS that only publishes to JetStream. A publisher can choose any server, so the data that it sends is
 * bounded: each line and each message has a maximum size, each byte is read once, and the socket is closed at the
 * timeout. The official NATS packages buffer what a server sends without a limit, and keep the connection to a server
 * that never responds.
 */

/** Maximum size of a line or message that the server may send, in bytes. Acknowledgements have about 100 bytes. */
const maxReadBytes = 65_536;
/** Size of unsent data after which Perkwire gives up on a server that only pings and does not read, in bytes. */
const maxUnsentBytes = 8_388_608;

/** Receiver of what a server sends: lines, and messages of which `line` is the head. */
type Reader = { onLine: (line: string) => void; onMessage: (line: string, content: Buffer) => void };

/**
 * Creates a function that takes the chunks a server sends. It calls `onExcess` if a line or message is too large.
 */
export function createNatsParser({ onLine, onMessage }: Reader, onExcess: () => void): (chunk: Buffer) => void {
  let parts: Buffer[] = [];
  let size = 0;
  let message: { line: string; end: number } | null = null;
  const take = (last: Buffer): Buffer => {
    const whole = Buffer.concat([...parts, last]);
    parts = [];
    size = 0;
    return whole;
  };
  return (chunk) => {
    let rest = chunk;
    while (rest.length > 0) {
      const end: number = message === null ? rest.indexOf('\n') + 1 : message.end - size;
      if (size + (end === 0 ? rest.length : Math.min(end, rest.length)) > maxReadBytes) return onExcess();
      if (end === 0 || end > rest.length) {
        parts.push(rest);
        size += rest.length;
        return;
      }
      const whole = take(rest.subarray(0, end));
      rest = rest.subarray(end);
      if (message !== null) {
        const { line } = message;
        message = null;
        onMessage(line, whole.subarray(0, -2));
        continue;
      }
      const line = whole.toString('utf8').trimEnd();
      if (!/^H?MSG\s/i.test(line)) {
        onLine(line);
        continue;
      }
      const length = line.slice(line.lastIndexOf(' ') + 1);
      if (!/^\d{1,9}$/.test(length) || Number(length) + 2 > maxReadBytes) return onExcess();
      message = { line, end: Number(length) + 2 };
    }
  };
}

type Waiting = { subject: string; resolve: (answer: BrokerAnswer) => void };

/**
 * Connects to a NATS server. Only the vetted addresses are used: addresses that the server announces for its cluster
 * are ignored, and a lost connection is not reopened.
 */
export async function connectToNats(server: BrokerServer): Promise<BrokerClient> {
  const base = networkUrl(server.url);
  const host = hostOf(base);
  const port = Number(server.url.port || 4222);
  const tcp = connect({ host, port, lookup: pinned(server.addresses), autoSelectFamily: true, noDelay: true });
  const inbox = `_INBOX.${randomBytes(12).toString('hex')}`;
  const waiting = new Map<string, Waiting>();
  const opened = promiseOf<void>();
  const closed = promiseOf<void>();
  let socket: Socket = tcp;
  let phase: Phase = 'tcp';
  let info: Record<string, unknown> | null = null;
  let isOpen = true;
  let isGreeted = false;
  let count = 0;

  /** Ends the connection, whatever its state. All messages without an acknowledgement get this answer. */
  const end = (answer: BrokerAnswer): void => {
    if (!isOpen) return;
    isOpen = false;
    clearTimeout(timer);
    socket.destroy();
    tcp.destroy();
    opened.reject(new AnswerError(answer));
    for (const { resolve } of waiting.values()) resolve(answer);
    waiting.clear();
    closed.resolve();
  };
  const timer = setTimeout(() => end(fail('timeout', `no connection within ${server.timeoutMs} ms`)), server.timeoutMs);

  const greet = async (): Promise<void> => {
    const login = await loginOf(server, typeof info?.nonce === 'string' ? info.nonce : '');
    const options = { verbose: false, pedantic: false, tls_required: server.isTls, name: 'perkwire', lang: 'node' };
    const more = { version: '1.0.0', protocol: 1, echo: false, headers: true, no_responders: true };
    isGreeted = true;
    socket.write(`CONNECT ${JSON.stringify({ ...options, ...more, ...login })}\r\nPING\r\n`);
  };
  const greeted = (): Promise<void> => greet().catch(() => end(answerOf(401, 'The credentials cannot be used.')));

  const onInfo = (text: string) => {
    const isFirst = info === null;
    info = objectOf(Buffer.from(text));
    if (!isFirst) return;
    const { tls_required: required, tls_available: available } = info;
    if (server.isTls !== (required === true || (server.isTls && available === true)))
      return end(fail('tls', server.isTls ? 'the server does not offer TLS' : 'the server requires TLS'));
    if (!server.isTls) return void greeted();
    phase = 'tls';
    read = createNatsParser(reader, onExcess);
    tcp.removeAllListeners('data');
    const name = isIP(host) === 0 ? { servername: host } : {};
    socket = connectTls({ socket: tcp, host, ...name, ...(server.ca !== undefined && { ca: server.ca }) }, () => {
      phase = 'open';
      void greeted();
    });
    listen(socket);
  };

  const onError = (text: string) => {
    const subject = /^permissions violation for publish to "(.*)"$/i.exec(text)?.[1];
    if (subject === undefined) return end(answerOfError(text));
    for (const [reply, entry] of waiting) {
      if (entry.subject !== subject) continue;
      waiting.delete(reply);
      entry.resolve(answerOfError(text));
    }
  };

  const onLine = (line: string) => {
    const [, operation = '', rest = ''] = /^(\S+)\s*(.*)$/s.exec(line) ?? [];
    const name = operation.toUpperCase();
    if (!isOpen) return;
    // Until TLS is established, a line after the first is not from the server that the certificate names.
    if (phase === 'tls') return end(fail('protocol', 'the server sent plain text instead of TLS'));
    if (name === 'INFO') return onInfo(rest);
    if (name === '-ERR') return onError(rest.replace(/^'(.*)'$/s, '$1'));
    if (name === 'PING' && isGreeted && socket.writableLength < maxUnsentBytes) return void socket.write('PONG\r\n');
    if (name === 'PONG' && isGreeted) {
      clearTimeout(timer);
      return opened.resolve();
    }
    if (name !== '+OK') end(fail('protocol', 'the server does not speak the protocol of NATS'));
  };

  const onMessage = (line: string, content: Buffer): void => {
    const [operation = '', subject = '', , ...sizes] = line.split(/\s+/);
    const entry = waiting.get(subject);
    if (entry === undefined) return;
    waiting.delete(subject);
    const headerBytes = operation.toUpperCase() === 'HMSG' ? Number(sizes.at(-2)) || 0 : 0;
    const isUnheard = /^NATS\/1\.0 503/.test(content.toString('latin1', 0, 12));
    entry.resolve(
      headerBytes > 0 && isUnheard
        ? answerOf(404, 'No stream accepts messages for this subject.')
        : answerOfAcknowledgement(content.subarray(headerBytes)),
    );
  };

  const reader = { onLine, onMessage };
  const onExcess = (): void => end(fail('protocol', 'the server sent too much'));
  let read = createNatsParser(reader, onExcess);
  const listen = (source: Socket): void => {
    source.on('data', (chunk) => isOpen && source === socket && read(chunk));
    source.on('error', (error) => end(failureOf(error, phase)));
    source.on('close', () => end(fail(phase === 'tls' ? 'tls' : 'reset', 'the server closed the connection')));
  };
  listen(tcp);
  tcp.once('connect', () => {
    phase = 'open';
  });

  await opened.promise;
  socket.write(`SUB ${inbox}.* 1\r\n`);
  return {
    closed: closed.promise,
    isOpen: () => isOpen,
    close: async () => end(fail('local', 'the connection was closed')),
    publish: ({ url, id, headers, body }: BrokerMessage) => {
      if (!isOpen) return Promise.resolve(fail('reset', 'the server closed the connection'));
      const maxBytes = typeof info?.max_payload === 'number' ? info.max_payload : Number.POSITIVE_INFINITY;
      const head = headOf({ ...headers, 'Nats-Msg-Id': id });
      if (head.length + body.length > maxBytes)
        return Promise.resolve(answerOf(413, 'The message is larger than the server allows (max_payload).'));
      const subject = decodeURIComponent(url.pathname.slice(1));
      const reply = `${inbox}.${++count}`;
      const { promise, resolve } = promiseOf<BrokerAnswer>();
      waiting.set(reply, { subject, resolve });
      const line = Buffer.from(`HPUB ${subject} ${reply} ${head.length} ${head.length + body.length}\r\n`);
      socket.write(Buffer.concat([line, head, body, Buffer.from('\r\n')]));
      return promise;
    },
  };
}

/** Encodes the headers of a message. */
function headOf(headers: Readonly<Record<string, string>>): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value.replace(/[\r\n]+/g, ' ')}\r\n`);
  return Buffer.from(`NATS/1.0\r\n${lines.join('')}\r\n`);
}

/** Returns the part of the greeting that proves who the client is. */
async function loginOf({ url, secrets }: BrokerServer, nonce: string): Promise<object> {
  const { password, token, credentials } = secrets;
  const user = url.searchParams.get('user');
  if (credentials !== undefined) {
    const { jwtAuthenticator } = await import('@nats-io/transport-node');
    // The values are the lines after those with dashes.
    const lines = credentials.split('\n').map((line) => line.trim());
    const values = lines.filter((line, index) => lines[index - 1]?.startsWith('---') && /^[^-]/.test(line));
    const [jwt = '', seed = ''] = values;
    return { ...jwtAuthenticator(jwt, new TextEncoder().encode(seed))(nonce) };
  }
  return { ...(token !== undefined && { auth_token: token }), ...(user !== null && { user, pass: password ?? '' }) };
}

/** Returns the answer that an error of the server stands for. */
function answerOfError(text: string): BrokerAnswer {
  if (/permissions violation/i.test(text)) return answerOf(403, text);
  if (/authorization|authentication|credentials/i.test(text)) return answerOf(401, text);
  if (/maximum payload/i.test(text)) return answerOf(413, text);
  return fail('reset', text.slice(0, 200));
}

function answerOfAcknowledgement(content: Buffer): BrokerAnswer {
  const { stream, seq, duplicate, error } = objectOf(content);
  if (typeof stream === 'string' && stream !== '' && error === undefined)
    return answerOf(200, JSON.stringify({ stream, seq, duplicate: duplicate === true }));
  return answerOf(503, content.toString('utf8'));
}
