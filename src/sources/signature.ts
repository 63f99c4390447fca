import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * Checks `x-signature` of Segment's webhooks: HMAC-SHA1 in hex, with the shared secret, of the body. Of a batch, their
 * destination of actions signs the first event alone; the key of the call vouches for the others.
 * @param events of a batch, as they were read; null: the body is one event
 */
export function isSigned(
  body: Buffer,
  events: readonly unknown[] | null,
  signature: string | undefined,
  secret: string,
): boolean {
  if (signature === undefined || !/^[0-9a-f]{40}$/i.test(signature)) return false;
  const given = Buffer.from(signature, 'hex');
  const isOf = (signed: Buffer | string): boolean =>
    timingSafeEqual(createHmac('sha1', secret).update(signed).digest(), given);
  return isOf(body) || (events !== null && events.length > 0 && isOf(JSON.stringify(events[0])));
}
