import { verify } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { AppError } from '../../platform/errors.ts';
import { hourMs, minuteMs } from '../../platform/lib/time.ts';

/** Verified SNS message. `text` is empty if the message contains no report. */
type SnsMessage = { id: string; timestamp: string; text: string };

/** Fetches text from an Amazon URL. */
export type FetchText = (url: string) => Promise<string>;

/** Fields that are signed, in signing order, by message type. */
const signedFields = new Map<unknown, readonly string[]>([
  ['Notification', ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type']],
  ['SubscriptionConfirmation', ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type']],
  ['UnsubscribeConfirmation', ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type']],
]);

/** Maximum size of a certificate or of the response to a subscription confirmation, in bytes. */
const maxBytes = 64 * 1024;

/**
 * Fetches text from an Amazon URL.
 * @throws Error if Amazon does not respond with a short text
 */
export async function fetchFromAmazon(url: string): Promise<string> {
  const answer = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(5000) });
  const { hostname } = new URL(url);
  if (!answer.ok || answer.body === null) throw new Error(`${hostname} answered ${answer.status}`);
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of answer.body) {
    bytes += part.byteLength;
    if (bytes > maxBytes) throw new Error(`${hostname} answered more than ${maxBytes} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}

/**
 * Maximum number of fetches from Amazon in ten minutes. They must be limited, because anyone can send a call with a
 * made-up certificate URL.
 */
const maxFetches = 5;
const fetchWindowMs = 10 * minuteMs;
/**
 * Time for which a certificate is cached, in milliseconds. The next constant is the cache duration for a URL that
 * returned no certificate.
 */
const certificateMs = 24 * hourMs;
const failureMs = 10 * minuteMs;

/**
 * Creates a reader for the messages of one SNS topic. It verifies them with Amazon's certificate, and confirms the
 * subscription to the topic (https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html).
 * Certificates are fetched only from the topic's region, and only a few in ten minutes.
 * @returns null if the message is not from this topic
 * @throws AppError unavailable
 */
export function createSnsReader(topicArn: string, fetchText: FetchText, now: () => number = Date.now) {
  const [, partition = '', , region = ''] = topicArn.split(':');
  const host = `https://sns.${region}.amazonaws.com${partition === 'aws-cn' ? '.cn' : ''}/`.replaceAll('.', '\\.');
  const certificateUrl = new RegExp(`^${host}SimpleNotificationService-[\\w-]{1,100}\\.pem$`);
  const subscribeUrl = new RegExp(`^${host}\\?Action=ConfirmSubscription&[\\w=&:.%-]{1,2000}$`);
  const certificates = new LRUCache<string, Promise<string>>({ max: 20 });
  const failures = new LRUCache<string, true>({ max: 1000 });
  let fetches: number[] = [];

  const fetchLimited = async (url: string): Promise<string> => {
    fetches = fetches.filter((atMs) => atMs > now() - fetchWindowMs);
    if (fetches.length >= maxFetches) throw new AppError('unavailable', { retryAfterS: 60 });
    fetches.push(now());
    return fetchText(url);
  };
  /**
   * Fetches a certificate.
   * @returns null if the URL returns no certificate, or returned none a few minutes ago
   */
  const certificateAt = async (url: string): Promise<string | null> => {
    const cached = certificates.get(url);
    if (cached !== undefined) return cached;
    if (failures.has(url)) return null;
    const certificate = fetchLimited(url);
    certificates.set(url, certificate, { ttl: certificateMs });
    try {
      return await certificate;
    } catch (err) {
      certificates.delete(url);
      if (err instanceof AppError) throw err;
      failures.set(url, true, { ttl: failureMs });
      throw new AppError('unavailable', { retryAfterS: 60, cause: err });
    }
  };

  return async (body: unknown): Promise<SnsMessage | null> => {
    const message = textsOf(body);
    const names = signedFields.get(message.Type);
    const {
      SigningCertURL: url = '',
      Signature: signature = '',
      MessageId: id = '',
      Timestamp: timestamp = '',
    } = message;
    if (names === undefined || message.TopicArn !== topicArn || !certificateUrl.test(url)) return null;
    if (!/^[A-Za-z0-9+/]{300,1400}={0,2}$/.test(signature)) return null;
    const certificate = await certificateAt(url);
    if (certificate === null) return null;
    const signed = names.flatMap((name) => (message[name] === undefined ? [] : [`${name}\n${message[name]}\n`]));
    const algorithm = message.SignatureVersion === '2' ? 'sha256' : 'sha1';
    if (!isSigned(algorithm, signed.join(''), { certificate, signature })) return null;
    const read = (text: string): SnsMessage => ({ id, timestamp, text });
    if (message.Type === 'Notification') return read(message.Message ?? '');
    if (message.Type === 'UnsubscribeConfirmation') return read('');
    const confirm = message.SubscribeURL ?? '';
    if (!subscribeUrl.test(confirm)) return null;
    await fetchText(confirm).catch((err: unknown) => {
      throw new AppError('unavailable', { retryAfterS: 60, cause: err });
    });
    return read('');
  };
}

/** Returns the fields whose values are strings. All other fields are treated as absent. */
function textsOf(body: unknown): Readonly<Record<string, string | undefined>> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return {};
  return Object.fromEntries(Object.entries(body).filter(([, value]) => typeof value === 'string'));
}

type Signed = { certificate: string; signature: string };

/** Whether the signature of a message is valid. An invalid certificate also makes it invalid. */
function isSigned(algorithm: string, text: string, { certificate, signature }: Signed): boolean {
  try {
    return verify(algorithm, Buffer.from(text), certificate, Buffer.from(signature, 'base64'));
  } catch {
    return false;
  }
}
