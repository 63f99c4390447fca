import type { DestinationPart } from '../dispatcher/send/result.ts';
import { kindOf } from './kinds.ts';
import { destinationSecrets, settingsOf } from './settings.ts';

/** Delivery that is sent to a destination. */
type Source = {
  url: string;
  /** Delivery UUID. */
  deliveryId: string;
  payload: Buffer;
  /** Decrypted headers of the endpoint, which include the secrets of its destination. */
  headers: Readonly<Record<string, string>>;
  /** Endpoint ID if the endpoint has strict order, otherwise null. */
  strictEndpointId: number | null;
  publisherId: number;
};

/** Returns the part of a request that only non-HTTP destinations use, or an empty object for HTTP. */
export function destinationPart(source: Source): { destination?: DestinationPart } {
  if (kindOf(source.url) === 'http') return {};
  const id = `msg_${source.deliveryId.replaceAll('-', '')}`;
  return { destination: { id, orderKey: orderKeyOf(source, id), secrets: destinationSecrets(source.headers) } };
}

/**
 * Returns the order key of a delivery. A broker must keep deliveries with the same key in order: all deliveries of an
 * endpoint with strict order, otherwise those of the same session. Deliveries without a session have no order. A Kafka
 * destination can choose the publisher as the key of all messages.
 */
function orderKeyOf({ strictEndpointId, payload, url, publisherId }: Source, id: string): string {
  if (settingsOf(url).message_key === 'publisher') return `publisher-${publisherId}`;
  if (strictEndpointId !== null) return `endpoint-${strictEndpointId}`;
  const parsed = JSON.parse(payload.toString('utf8')) as { session_id?: unknown; body?: { session_id?: unknown } };
  const session = parsed.session_id ?? parsed.body?.session_id;
  return typeof session === 'string' && session !== '' ? session.slice(0, 128) : id;
}
