import { AwsV4Signer } from 'aws4fetch';
import { timeOfUuid7 } from '../../platform/lib/uuid7.ts';
import type { SendRequest } from '../dispatcher/send/result.ts';
import { objectOf } from './broker.ts';
import { networkUrl } from './kinds.ts';

/** Message for an AWS service, or for a service with the same API. */
type AwsMessage = {
  url: URL;
  /** Webhook ID. */
  id: string;
  event: string;
  orderKey: string;
  headers: Readonly<Record<string, string>>;
  body: Buffer;
  secretAccessKey: string;
};

type AwsCall = {
  url: string;
  method: SendRequest['method'];
  headers: Record<string, string>;
  body: Buffer;
  service: string;
};

/** Maximum number of attributes of an SQS message. */
const maxAttributes = 10;
/** Delivery headers to keep if there are more headers than SQS allows. */
const mainHeaders = ['webhook-id', 'webhook-timestamp', 'webhook-signature', 'perkwire-event', 'content-type'];

/** Builds the signed HTTP request that sends a message to SQS, EventBridge or S3. */
export async function awsRequest(message: AwsMessage): Promise<Omit<SendRequest, 'deadlineMs' | 'signal'>> {
  const call = callOf(message);
  const query = message.url.searchParams;
  const signer = new AwsV4Signer({
    method: call.method,
    url: call.url,
    headers: call.headers,
    body: new Uint8Array(call.body),
    accessKeyId: query.get('access_key_id') ?? '',
    secretAccessKey: message.secretAccessKey,
    service: call.service,
    region: query.get('region') ?? '',
  });
  const signed = await signer.sign();
  return { url: call.url, method: call.method, headers: Object.fromEntries(signed.headers), body: call.body };
}

function callOf(message: AwsMessage): AwsCall {
  const { url, id, headers, body } = message;
  const base = networkUrl(url).origin;
  switch (url.protocol) {
    case 'sqs:':
      return jsonCall(base, 'sqs', 'AmazonSQS.SendMessage', 'application/x-amz-json-1.0', sqsMessage(base, message));
    case 'eventbridge:':
      return jsonCall(base, 'events', 'AWSEvents.PutEvents', 'application/x-amz-json-1.1', putEvents(message));
    default: {
      const { 'content-type': type = 'application/json', ...own } = headers;
      const meta = Object.entries(own).map(([name, value]) => [`x-amz-meta-${name}`, value]);
      const target = `${base}${url.pathname}/${objectKey(id)}`;
      const all = { 'content-type': type, ...Object.fromEntries(meta) };
      return { service: 's3', url: target, method: 'PUT', headers: all, body };
    }
  }
}

const jsonCall = (base: string, service: string, target: string, type: string, body: unknown): AwsCall => ({
  service,
  url: `${base}/`,
  method: 'POST',
  headers: { 'content-type': type, 'x-amz-target': target },
  body: Buffer.from(JSON.stringify(body)),
});

/** Builds a message for SQS. A FIFO queue keeps the order of a group and drops repeated messages for five minutes. */
function sqsMessage(base: string, { url, id, orderKey, headers, body }: AwsMessage) {
  const names = Object.keys(headers).sort((a, b) => rankOf(a) - rankOf(b));
  const attributes = names
    .slice(0, maxAttributes)
    .map((name) => [name, { DataType: 'String', StringValue: headers[name] }]);
  return {
    QueueUrl: `${base}${url.pathname}`,
    MessageBody: body.toString('utf8'),
    MessageAttributes: Object.fromEntries(attributes),
    ...(url.pathname.endsWith('.fifo') && { MessageGroupId: orderKey, MessageDeduplicationId: id }),
  };
}

const rankOf = (name: string): number => (mainHeaders.includes(name) ? mainHeaders.indexOf(name) : mainHeaders.length);

/** Builds an EventBridge event. Its detail contains the payload as an object, so that rules can match its fields. */
const putEvents = ({ url, event, headers, body }: AwsMessage) => ({
  Entries: [
    {
      EventBusName: decodeURIComponent(url.pathname.slice(1)),
      Source: 'perkwire',
      DetailType: event,
      Detail: `{"headers":${JSON.stringify(headers)},"payload":${asJson(body.toString('utf8'))}}`,
    },
  ],
});

/** Returns JSON as it is, and any other text, which a transformation can make, as a JSON string. */
function asJson(text: string): string {
  try {
    JSON.parse(text);
    return text;
  } catch {
    return JSON.stringify(text);
  }
}

/** Returns the key of a delivery's object. It is the same for all attempts, so that a retry overwrites the object. */
function objectKey(webhookId: string): string {
  const hex = webhookId.replace(/^msg_/, '');
  const day = new Date(timeOfUuid7(`${hex.slice(0, 8)}-${hex.slice(8)}`)).toISOString().slice(0, 10);
  return `${day.replaceAll('-', '/')}/${webhookId}.json`;
}

/**
 * Returns the status of the only event in a response of EventBridge, which responds with 200 even if it refused the
 * event. Any other JSON may arrive, because the endpoint chooses the server.
 */
export function eventBridgeStatus(body: Buffer): number {
  const { FailedEntryCount: failed, Entries: entries } = objectOf(body);
  if (!Array.isArray(entries)) return 502;
  if (failed === 0) return 200;
  const code: unknown = (entries[0] as { ErrorCode?: unknown } | null | undefined)?.ErrorCode;
  if (typeof code !== 'string') return 400;
  if (/throttl/i.test(code)) return 429;
  return /internal/i.test(code) ? 503 : 400;
}
