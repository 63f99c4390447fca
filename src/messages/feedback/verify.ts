import { createHmac, type KeyObject, timingSafeEqual, verify } from 'node:crypto';

type Headers = Readonly<Record<string, unknown>>;

const isEqual = (given: string, expected: string): boolean => {
  const [left, right] = [Buffer.from(given), Buffer.from(expected)];
  return left.length === right.length && timingSafeEqual(left, right);
};

/** ECDSA over timestamp and body. */
export function isFromSendGrid(key: KeyObject, headers: Headers, body: Buffer): boolean {
  const signature = headers['x-twilio-email-event-webhook-signature'];
  const timestamp = headers['x-twilio-email-event-webhook-timestamp'];
  if (typeof signature !== 'string' || typeof timestamp !== 'string') return false;
  return verify('sha256', Buffer.concat([Buffer.from(timestamp), body]), key, Buffer.from(signature, 'base64'));
}

/** How old a signature of Mailgun may be (seconds): it does not cover the event. */
const mailgunMaxAgeS = 900;

/** HMAC-SHA256 over timestamp and token of the body's `signature`. */
export function isFromMailgun(key: string, body: unknown, nowMs: number): boolean {
  const { signature } = (typeof body === 'object' && body !== null ? body : {}) as { signature?: unknown };
  const given = (typeof signature === 'object' && signature !== null ? signature : {}) as Record<string, unknown>;
  const [timestamp, token, mac] = [given.timestamp, given.token, given.signature].map(String);
  if (Math.abs(nowMs / 1000 - Number(timestamp)) > mailgunMaxAgeS || !/^\d{1,12}$/.test(String(timestamp)))
    return false;
  return isEqual(String(mac), createHmac('sha256', key).update(`${timestamp}${token}`).digest('hex'));
}

/** Postmark signs nothing: the password of the webhook's URL shows that it is Postmark. */
export function isFromPostmark(password: string, headers: Headers): boolean {
  const [scheme, encoded = ''] = String(headers.authorization ?? '').split(' ');
  const login = Buffer.from(encoded, 'base64').toString();
  return scheme?.toLowerCase() === 'basic' && isEqual(login.slice(login.indexOf(':') + 1), password);
}
