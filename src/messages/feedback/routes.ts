import { createHash, createHmac, type KeyObject, timingSafeEqual, verify } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type pg from 'pg';
import { type MailFeedback, sendGridKey } from '../../config/outgoing.ts';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import { problem } from '../../platform/problem.ts';
import type { ReaderKeys } from '../outbox.ts';
import { applyFeedback } from './apply.ts';
import { type AddressReport, readMailgun, readPostmark, readSendGrid, readSes } from './reports.ts';
import { createSnsReader, type FetchText, fetchFromAmazon } from './sns.ts';

type FeedbackDeps = {
  pool: pg.Pool;
  config: { mailFeedback: MailFeedback };
  readerKeys: ReaderKeys;
  now: () => number;
  /** Fetches signing certificates and confirms subscriptions at Amazon. */
  fetchText?: FetchText;
};

type Received = { body: Buffer; headers: FastifyRequest['headers'] };

type Feedback = {
  reports: AddressReport[];
  /** Signed content of the call, or null if the provider does not sign calls. */
  signed: string | null;
};

/**
 * Authenticates and parses a call.
 * @returns null if the call is not from the provider, or is too old
 * @throws SyntaxError if the body is not JSON
 */
type ReadCall = (received: Received) => Promise<Feedback | null>;

const feedbackPath = '/messages/feedback';

/** Maximum body size of a call, in bytes. It is enough for hundreds of events. */
const bodyLimit = 1024 * 1024;

/**
 * Registers the routes through which mail providers report on addresses
 * (docs/reference/perks-and-wallet.md#bounces-and-complaints). A provider has a route only if its secret is in
 * MAIL_FEEDBACK.
 */
export async function feedbackRoutes(app: App, deps: FeedbackDeps): Promise<void> {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit }, (_request, body, done) => done(null, body));
  for (const [provider, read] of Object.entries(readersOf(deps))) {
    const answer = async (request: FastifyRequest, reply: FastifyReply) => {
      const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
      const feedback = await read({ body, headers: request.headers }).catch(refuse);
      if (feedback === null) throw new AppError('invalid_signature');
      await applyFeedback(deps, { provider, ...feedback });
      return reply.header('cache-control', 'no-store').send({ message: 'Reports received.' });
    };
    app.post(`${feedbackPath}/${provider}`, { schema: { hide: true } }, answer);
  }
}

function refuse(err: unknown): never {
  if (err instanceof SyntaxError)
    throw new AppError('invalid_request', { details: [{ path: '/', message: problem('isJson') }] });
  throw err;
}

function readersOf({ config: { mailFeedback: secrets }, now, fetchText }: FeedbackDeps): Record<string, ReadCall> {
  const json = ({ body }: Received): unknown => JSON.parse(body.toString());
  const readers: Record<string, ReadCall> = {};
  const { sendgrid, mailgun, postmark, ses } = secrets;
  if (sendgrid !== undefined) {
    const key = sendGridKey(sendgrid);
    readers.sendgrid = async (call) => {
      if (!isFromSendGrid(key, call.headers, call.body)) return null;
      const timestamp = String(call.headers[sendGridTimestamp]);
      if (!isFresh(Number(timestamp), now(), maxAgeS)) return null;
      const signed = createHash('sha256').update(timestamp).update(call.body).digest('hex');
      return { reports: readSendGrid(json(call)), signed };
    };
  }
  if (mailgun !== undefined)
    readers.mailgun = async (call) => {
      const body = json(call);
      const signed = signedByMailgun(mailgun, body, now());
      return signed === null ? null : { reports: readMailgun(body), signed };
    };
  if (postmark !== undefined)
    readers.postmark = async (call) =>
      isFromPostmark(postmark, call.headers) ? { reports: readPostmark(json(call)), signed: null } : null;
  if (ses !== undefined) {
    const read = createSnsReader(ses, fetchText ?? fetchFromAmazon, now);
    readers.ses = async (call) => {
      const message = await read(json(call));
      if (message === null || !isFresh(Date.parse(message.timestamp) / 1000, now(), snsMaxAgeS)) return null;
      return { reports: readSes(jsonOrNull(message.text)), signed: message.id };
    };
  }
  return readers;
}

/**
 * Maximum age of a signature, in seconds. A call can't be replayed within this time, because calls are recorded with
 * their signed content.
 */
const maxAgeS = 900;
/** Maximum age of an SNS message, in seconds. SNS retries for an hour and keeps the timestamp of the first attempt. */
const snsMaxAgeS = 75 * 60;

const isFresh = (timestampS: number, nowMs: number, maxS: number): boolean =>
  Math.abs(nowMs / 1000 - timestampS) <= maxS;

/**
 * Parses JSON, or returns null if the text is not JSON. The first message of a topic is plain text: "Successfully
 * validated SNS topic …".
 */
function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

type Headers = Readonly<Record<string, unknown>>;

const isEqual = (actual: string, expected: string): boolean => {
  const [actualBytes, expectedBytes] = [Buffer.from(actual), Buffer.from(expected)];
  return actualBytes.length === expectedBytes.length && timingSafeEqual(actualBytes, expectedBytes);
};

const sendGridTimestamp = 'x-twilio-email-event-webhook-timestamp';

/** Whether the ECDSA signature of the timestamp and body is valid. */
export function isFromSendGrid(key: KeyObject, headers: Headers, body: Buffer): boolean {
  const signature = headers['x-twilio-email-event-webhook-signature'];
  const timestamp = headers[sendGridTimestamp];
  if (typeof signature !== 'string' || typeof timestamp !== 'string' || !isTimestamp(timestamp)) return false;
  return verify('sha256', Buffer.concat([Buffer.from(timestamp), body]), key, Buffer.from(signature, 'base64'));
}

const isTimestamp = (text: string): boolean => /^\d{1,12}$/.test(text);

/**
 * Verifies the HMAC-SHA256 over the timestamp and token in the body's `signature`.
 * @returns the signed content, or null if the signature is invalid
 */
function signedByMailgun(key: string, body: unknown, nowMs: number): string | null {
  const { signature } = (typeof body === 'object' && body !== null ? body : {}) as { signature?: unknown };
  const fields = (typeof signature === 'object' && signature !== null ? signature : {}) as Record<string, unknown>;
  const { token, signature: mac } = fields;
  const timestamp = typeof fields.timestamp === 'number' ? String(fields.timestamp) : fields.timestamp;
  if (typeof timestamp !== 'string' || typeof token !== 'string' || typeof mac !== 'string') return null;
  if (!isTimestamp(timestamp) || !isFresh(Number(timestamp), nowMs, maxAgeS)) return null;
  const signed = `${timestamp}${token}`;
  return isEqual(mac, createHmac('sha256', key).update(signed).digest('hex')) ? signed : null;
}

/**
 * Whether the password is correct. Postmark does not sign calls, so a password in the webhook URL authenticates them.
 */
function isFromPostmark(password: string, headers: Headers): boolean {
  const [scheme, encoded = ''] = String(headers.authorization ?? '').split(' ');
  const login = Buffer.from(encoded, 'base64').toString();
  return scheme?.toLowerCase() === 'basic' && isEqual(login.slice(login.indexOf(':') + 1), password);
}
