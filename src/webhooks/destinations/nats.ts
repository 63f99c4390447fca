import type { JetStreamClient } from '@nats-io/jetstream';
import type { ConnectionOptions, NatsConnection } from '@nats-io/transport-node';
import { fail } from '../dispatcher/send/result.ts';
import { answerOf, type BrokerAnswer, type BrokerClient, type BrokerMessage, type BrokerServer } from './broker.ts';

type Nats = typeof import('@nats-io/jetstream') & typeof import('@nats-io/transport-node');

/**
 * Connects to a NATS server and publishes to JetStream. The message ID is the webhook ID, so that the stream drops
 * duplicates within its duplicate window. Connects only to vetted addresses: it ignores addresses that the server
 * announces for its cluster, and does not reopen a lost connection.
 */
export async function connectToNats(server: BrokerServer): Promise<BrokerClient> {
  const nats: Nats = { ...(await import('@nats-io/transport-node')), ...(await import('@nats-io/jetstream')) };
  const connection = await nats.connect(optionsOf(server, nats));
  const client = nats.jetstream(connection, { timeout: server.timeoutMs });
  return {
    closed: connection.closed().then(() => {}),
    isOpen: () => !connection.isClosed(),
    publish: (message) => publish(connection, client, message, nats),
    close: () => connection.close(),
  };
}

function optionsOf({ url, addresses, isTls, secrets, timeoutMs }: BrokerServer, nats: Nats): ConnectionOptions {
  const { password, token, credentials } = secrets;
  const user = url.searchParams.get('user');
  const port = url.port === '' ? '4222' : url.port;
  const isName = addresses[0]?.address !== url.hostname.replace(/^\[|\]$/g, '');
  return {
    servers: addresses.map(({ address, family }) => `${family === 6 ? `[${address}]` : address}:${port}`),
    // The connection goes to an IP address, so set the name that the certificate must contain.
    tls: isTls ? { ...(isName && { servername: url.hostname }) } : null,
    ...(credentials !== undefined && {
      authenticator: nats.credsAuthenticator(new TextEncoder().encode(credentials)),
    }),
    ...(token !== undefined && { token }),
    ...(user !== null && { user, pass: password ?? '' }),
    name: 'perkwire',
    timeout: timeoutMs,
    reconnect: false,
    ignoreClusterUpdates: true,
    resolve: false,
  } as ConnectionOptions;
}

async function publish(
  connection: NatsConnection,
  client: JetStreamClient,
  { url, id, headers: values, body, timeoutMs }: BrokerMessage,
  nats: Nats,
): Promise<BrokerAnswer> {
  const subject = decodeURIComponent(url.pathname.slice(1));
  const headers = nats.headers();
  for (const [name, value] of Object.entries(values)) headers.set(name, value);
  if (body.length > (connection.info?.max_payload ?? Number.POSITIVE_INFINITY))
    return answerOf(413, 'The message is larger than the server allows (max_payload).');
  const { stream, seq, duplicate } = await client.publish(subject, body, { msgID: id, headers, timeout: timeoutMs });
  return answerOf(200, JSON.stringify({ stream, seq, duplicate }));
}

/** Converts an error of the NATS client into the response to log. */
export function answerOfNatsError(error: unknown): BrokerAnswer {
  const { name, message, cause } = error as Error;
  const text = `${name} ${message} ${cause instanceof Error ? cause.message : ''}`;
  if (/authorization|authentication|credentials|permissions violation/i.test(text)) {
    const isForbidden = /permissions violation/i.test(text);
    return answerOf(isForbidden ? 403 : 401, message);
  }
  if (/no responders|jetstream is not enabled|JetStreamNotEnabled/i.test(text))
    return answerOf(404, 'No stream accepts messages for this subject.');
  if (name === 'TimeoutError') return fail('timeout', 'the server did not acknowledge the message in time');
  if (name === 'JetStreamApiError' || name === 'JetStreamError') return answerOf(503, message);
  if (/refused|EHOSTUNREACH|ENETUNREACH/i.test(text)) return fail('connect', 'the server refused the connection');
  return fail(/tls|certificate/i.test(text) ? 'tls' : 'reset', message.slice(0, 200));
}
