import { verify } from 'node:crypto';
import { LRUCache } from 'lru-cache';

/** A message of Amazon SNS, as it arrives. */
export type SnsMessage = Readonly<Record<string, string | undefined>>;

/** Fetches the text at a URL of Amazon. */
export type FetchText = (url: string) => Promise<string>;

const hosts = String.raw`https://sns\.[a-z]{2}(-[a-z]+)+-\d\.amazonaws\.com(\.cn)?/`;
const certificateUrl = new RegExp(`^${hosts}SimpleNotificationService-[\\w-]{1,100}\\.pem$`);
const subscribeUrl = new RegExp(`^${hosts}\\?Action=ConfirmSubscription&[\\w=&:.%-]{1,2000}$`);

const fields = {
  Notification: ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type'],
  SubscriptionConfirmation: ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'],
} as const;

/** @throws Error where it does not answer */
export async function fetchFromAmazon(url: string): Promise<string> {
  const answer = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(5000) });
  if (!answer.ok) throw new Error(`${new URL(url).hostname} answered ${answer.status}`);
  return answer.text();
}

/**
 * Verifies messages of one topic by Amazon's certificate, and confirms the subscription to it
 * (https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html).
 * @returns the text of a notification; '' for what needs no reading; null: it is not from this topic
 */
export function createSnsReader(topicArn: string, fetchText: FetchText) {
  const certificates = new LRUCache<string, Promise<string>>({ max: 20, ttl: 24 * 3_600_000 });
  const certificateAt = (url: string): Promise<string> => {
    const known = certificates.get(url);
    if (known !== undefined) return known;
    const fetched = fetchText(url);
    certificates.set(url, fetched);
    fetched.catch(() => certificates.delete(url));
    return fetched;
  };
  return async (message: SnsMessage): Promise<string | null> => {
    const { Type: type, TopicArn: arn, SigningCertURL: url = '', Signature: signature = '' } = message;
    const signed = type === 'Notification' || type === 'SubscriptionConfirmation' ? fields[type] : null;
    if (signed === null || arn !== topicArn || !certificateUrl.test(url)) return null;
    const text = signed
      .flatMap((name) => (message[name] === undefined ? [] : [`${name}\n${message[name]}\n`]))
      .join('');
    const algorithm = message.SignatureVersion === '2' ? 'sha256' : 'sha1';
    const certificate = await certificateAt(url);
    if (!verify(algorithm, Buffer.from(text), certificate, Buffer.from(signature, 'base64'))) return null;
    if (type === 'Notification') return message.Message ?? '';
    const confirm = message.SubscribeURL ?? '';
    if (!subscribeUrl.test(confirm)) return null;
    await fetchText(confirm);
    return '';
  };
}
