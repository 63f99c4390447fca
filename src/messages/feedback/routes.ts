import { createHmac, type KeyObject, timingSafeEqual, verify } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type pg from 'pg';
import { sendGridKey } from '../../config/outgoing.ts';
import type { Config } from '../../config.ts';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/ports.ts';
import { allPublishers, suppress } from '../addresses.ts';
import type { ReaderKeys } from '../outbox.ts';
import { type AddressReport, readMailgun, readPostmark, readSendGrid, readSes } from './reports.ts';
import { createSnsReader, type FetchText, fetchFromAmazon, type SnsMessage } from './sns.ts';

type FeedbackDeps = {
  pool: pg.Pool;
  config: Pick<Config, 'mailFeedback'>;
  readerKeys: ReaderKeys;
  now: () => number;
  /** Of certificates of Amazon. */
  fetchText?: FetchText;
};

type Received = { body: Buffer; headers: FastifyRequest['headers'] };

/** @returns what a call reports; null: it is not from the provider. @throws SyntaxError for what is no JSON */
type ReadCall = (received: Received) => Promise<AddressReport[] | null>;

const feedbackPath = '/messages/feedback';

/** A call with hundreds of events (bytes). */
const bodyLimit = 1024 * 1024;

/**
 * What mail providers tell of addresses (docs/interface.md#bounces-and-complaints): those that bounce or complain get
 * messages of no publisher any more. Providers without a secret in MAIL_FEEDBACK have no route.
 */
export async function feedbackRoutes(app: App, deps: FeedbackDeps): Promise<void> {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit }, (_request, body, done) => done(null, body));
  for (const [provider, read] of Object.entries(readersOf(deps))) {
    const answer = async (request: FastifyRequest, reply: FastifyReply) => {
      const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
      const reports = await read({ body, headers: request.headers }).catch(refuse);
      if (reports === null) throw new AppError('invalid_signature');
      await suppressAll(deps, reports);
      return reply.header('cache-control', 'no-store').send({ message: 'Taken.' });
    };
    app.post(`${feedbackPath}/${provider}`, { schema: { hide: true } }, answer);
  }
}

function refuse(err: unknown): never {
  if (err instanceof SyntaxError)
    throw new AppError('invalid_request', { details: [{ path: '/', message: 'must be JSON' }] });
  throw err;
}

function readersOf({ config: { mailFeedback: secrets }, now, fetchText }: FeedbackDeps): Record<string, ReadCall> {
  const json = ({ body }: Received): unknown => JSON.parse(body.toString());
  const readers: Record<string, ReadCall> = {};
  const { sendgrid, mailgun, postmark, ses } = secrets;
  if (sendgrid !== undefined) {
    const key = sendGridKey(sendgrid);
    readers.sendgrid = async (call) => (isFromSendGrid(key, call.headers, call.body) ? readSendGrid(json(call)) : null);
  }
  if (mailgun !== undefined)
    readers.mailgun = async (call) => {
      const body = json(call);
      return isFromMailgun(mailgun, body, now()) ? readMailgun(body) : null;
    };
  if (postmark !== undefined)
    readers.postmark = async (call) => (isFromPostmark(postmark, call.headers) ? readPostmark(json(call)) : null);
  if (ses !== undefined) {
    const read = createSnsReader(ses, fetchText ?? fetchFromAmazon);
    readers.ses = async (call) => {
      const text = await read((json(call) ?? {}) as SnsMessage);
      if (text === null) return null;
      return text === '' ? [] : readSes(JSON.parse(text));
    };
  }
  return readers;
}

/** Of all publishers: an address that does not work works for none, and a complaint is of the sender. */
async function suppressAll({ pool, readerKeys, now }: FeedbackDeps, reports: readonly AddressReport[]): Promise<void> {
  for (const reason of new Set(reports.map((one) => one.reason))) {
    const emails = reports.filter((one) => one.reason === reason).map(({ email }) => email);
    const readers = [...new Set(emails)].flatMap((email) => readerKeys(allPublishers, { email }).slice(0, 1));
    await suppress(pool, readers, reason, now());
  }
}

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
function isFromMailgun(key: string, body: unknown, nowMs: number): boolean {
  const { signature } = (typeof body === 'object' && body !== null ? body : {}) as { signature?: unknown };
  const given = (typeof signature === 'object' && signature !== null ? signature : {}) as Record<string, unknown>;
  const [timestamp, token, mac] = [given.timestamp, given.token, given.signature].map(String);
  if (Math.abs(nowMs / 1000 - Number(timestamp)) > mailgunMaxAgeS || !/^\d{1,12}$/.test(String(timestamp)))
    return false;
  return isEqual(String(mac), createHmac('sha256', key).update(`${timestamp}${token}`).digest('hex'));
}

/** Postmark signs nothing: the password of the webhook's URL shows that it is Postmark. */
function isFromPostmark(password: string, headers: Headers): boolean {
  const [scheme, encoded = ''] = String(headers.authorization ?? '').split(' ');
  const login = Buffer.from(encoded, 'base64').toString();
  return scheme?.toLowerCase() === 'basic' && isEqual(login.slice(login.indexOf(':') + 1), password);
}
