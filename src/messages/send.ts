import type pg from 'pg';
import type { Counter } from 'prom-client';
import type { Config } from '../config.ts';
import type { FindSavedPerk, MessagePerk } from '../perks/perk-messages.ts';
import { transaction } from '../platform/db/pool.ts';
import { hourMs, minuteMs } from '../platform/lib/time.ts';
import { addressIn, type Mailer } from '../platform/mailer.ts';
import { problem } from '../platform/problem.ts';
import type { SecretBox } from '../platform/security/secret-box.ts';
import { enqueue } from '../webhooks/outbox.ts';
import {
  allPublishers,
  claimQuestion,
  confirmAddress,
  findSuppression,
  isAddressConfirmed,
  type Reader,
  reserveDailySlot,
  suppress,
} from './addresses.ts';
import { type ComposeDeps, type Composed, composeMessage, composeQuestion } from './compose.ts';
import { buildMessagePayload } from './event-types.ts';
import { type Failure, failureOf, isUnreachable } from './failure.ts';
import { postmarkMetadata } from './feedback/reports.ts';
import type { ReaderKeys } from './outbox.ts';
import {
  claimDue,
  contentContext,
  type DueMessage,
  type MessageContent,
  type Outcome,
  removeOldContents,
  settle,
} from './store.ts';

export type SendDeps = ComposeDeps & {
  config: Config;
  pool: pg.Pool;
  mailer: Mailer | null;
  secretBox: SecretBox;
  now: () => number;
  readerKeys: ReaderKeys;
  findSavedPerk: FindSavedPerk;
  refusals: Counter<'refusal'>;
};

const secondMs = 1000;

/** Delays before each retry, in milliseconds. They add up to about two days. */
const waitsMs = [
  5 * secondMs,
  5 * minuteMs,
  30 * minuteMs,
  2 * hourMs,
  5 * hourMs,
  10 * hourMs,
  14 * hourMs,
  20 * hourMs,
];

/** Maximum number of messages per run. All of them are sent concurrently. */
const maxBatch = 20;
/** Pause between runs while the server is unreachable, in milliseconds. */
const breakMs = 30 * secondMs;
const pauseMs = secondMs;

/**
 * Sends due messages.
 * @returns the pause until the next run, in milliseconds; longer while no mail server responds
 */
export async function sendDueMessages(deps: SendDeps): Promise<number> {
  await removeOldContents(deps.pool, deps.now());
  const messages = await claimDue(deps.pool, deps.now(), maxBatch);
  const reached = await Promise.all(messages.map((message) => sendOne(deps, message)));
  return reached.includes(false) ? breakMs : pauseMs;
}

type Sending = { message: DueMessage; content: MessageContent; readers: readonly [Reader, ...Reader[]] };

/**
 * Sends a message and records the outcome.
 * @returns false if the server could not be reached
 */
async function sendOne(deps: SendDeps, message: DueMessage): Promise<boolean> {
  const { pool, secretBox, now } = deps;
  const { id, publisher_id: publisherId, content_sealed: sealed, attempts } = message;
  const content = JSON.parse(secretBox.open(sealed, contentContext(id))) as MessageContent;
  const sending = { message, content, readers: deps.readerKeys(publisherId, content) };
  const record = (outcome: Outcome): Promise<boolean> => settle(pool, message, outcome, now());
  try {
    const outcome = await attempt(deps, sending);
    if (outcome !== null) await record(outcome);
    return true;
  } catch (err) {
    const failure = failureIn(deps, sending, err);
    const { error, refusal, reply } = failure;
    const waitMs = waitsMs[attempts - 1];
    const isGone = refusal === 'recipient';
    if (refusal !== null) deps.refusals.inc({ refusal });
    if (isGone) await suppress(pool, readersOfAll(sending), 'bounced', now());
    const isOver = failure.isFinal || waitMs === undefined;
    await record(
      isOver
        ? { state: 'failed', error, refusal, reply, isKept: !isGone }
        : { state: 'pending', error, refusal, reply, dueMs: now() + waitMs },
    );
    return !isUnreachable(err);
  }
}

function failureIn({ config }: SendDeps, { content }: Sending, err: unknown): Failure {
  if (err instanceof NoEndpoint) return { error: problem('mailNoEndpoint'), refusal: null, reply: null, isFinal: true };
  const sender = config.mail === null ? '' : addressIn(config.mail.from);
  return failureOf(err, { sender, recipient: content.email ?? '' });
}

const readersOfAll = ({ readers }: Sending): Reader[] =>
  readers.filter(({ publisherId }) => publisherId === allPublishers).slice(0, 1);

const dayIsFull: Outcome = { state: 'dropped', error: problem('mailDayFull') };

/**
 * Attempts to send a message.
 * @returns the outcome, or null if it is already recorded
 * @throws Error from the mail server
 */
async function attempt(deps: SendDeps, sending: Sending): Promise<Outcome | null> {
  const { pool, now } = deps;
  const { message, content, readers } = sending;
  if ((await findSuppression(pool, readers)) !== null) return { state: 'suppressed' };
  const isConfirmed = await isAddressConfirmed(pool, readers[0]);
  const result = await findPerks(deps, sending);
  if ('state' in result) return result;
  if (message.delivery === 'webhook') return handOver(deps, sending, result.perks);
  if (content.email === null) return { state: 'dropped', error: problem('mailNoAddress') };
  if (deps.mailer === null) return { state: 'pending', error: problem('noMailServer'), dueMs: now() + 5 * minuteMs };
  const about = aboutOf(deps, sending);
  if (about === null) return { state: 'dropped', error: problem('mailNoPublisher') };
  if (message.double_opt_in && !isConfirmed) return ask(deps, sending);
  if (!(await reserveDailySlot(pool, readers[0], message.id, now()))) return dayIsFull;
  await mail(deps, sending, composeMessage(deps, about, { kind: message.kind, perks: result.perks }), message.id);
  return { state: 'sent' };
}

function aboutOf({ catalog }: SendDeps, { message, content, readers: [reader] }: Sending) {
  const publisher = catalog.current().publishers.get(message.publisher_id);
  return publisher === undefined
    ? null
    : { publisher, fromName: message.from_name, language: content.language, reader };
}

const messageIdOf = ({ config }: SendDeps, name: string): string => `<${name}@${new URL(config.publicUrl).hostname}>`;

/**
 * Returns additional headers for the mail provider. Postmark replaces the `Message-ID`, so the message is identified by
 * metadata in its reports.
 */
const providerHeaders = ({ config }: SendDeps, name: string): Record<string, string> =>
  config.mailFeedback.postmark === undefined ? {} : { [`x-pm-metadata-${postmarkMetadata}`]: name };

async function mail(deps: SendDeps, { message, content }: Sending, composed: Composed, name: string): Promise<void> {
  const replyTo = message.reply_to === null ? {} : { replyTo: message.reply_to };
  const to = content.email as string;
  const headers = { ...composed.headers, ...providerHeaders(deps, name) };
  await deps.mailer?.send({ ...composed, ...replyTo, to, headers, messageId: messageIdOf(deps, name) });
}

/** Returns the perks in a message. If the end of a saved offer has changed, its reminder is postponed or dropped. */
async function findPerks(
  { findSavedPerk, now }: SendDeps,
  { message, content: { perks, pubUserId = '' } }: Sending,
): Promise<{ perks: readonly MessagePerk[] } | Outcome> {
  const { kind, offer_id: offerId, publisher_id: publisherId, reminder_hours: hours } = message;
  if (kind === 'perks' || offerId === null) return { perks: perks.map((perk) => withoutEndedCode(perk, now())) };
  if (!message.enabled || hours === null) return { state: 'dropped', error: problem('mailNoReminders') };
  const saved = await findSavedPerk(publisherId, pubUserId, offerId);
  if (saved === null || saved.endsAtMs <= now()) return { state: 'dropped', error: problem('mailOfferGone') };
  const dueMs = saved.endsAtMs - hours * hourMs;
  if (dueMs > now() + minuteMs) return { state: 'pending', error: null, dueMs, attempts: 0 };
  return { perks: [saved.perk] };
}

/** Removes a code that has expired in the meantime, because a message may be pending for days. */
function withoutEndedCode(perk: MessagePerk, nowMs: number): MessagePerk {
  const end = perk.coupon?.expires_at ?? null;
  return end !== null && Date.parse(end) <= nowMs ? { ...perk, coupon: null } : perk;
}

/**
 * Passes a message to the publisher's own mailer by webhook. It counts as sent once the webhook is stored, which is
 * then retried like any other.
 */
async function handOver(deps: SendDeps, sending: Sending, perks: readonly MessagePerk[]): Promise<Outcome | null> {
  const { message, content } = sending;
  const about = aboutOf(deps, sending);
  if (about === null) return { state: 'dropped', error: problem('mailNoPublisher') };
  if (!(await reserveDailySlot(deps.pool, sending.readers[0], message.id, deps.now()))) return dayIsFull;
  const { id, publisher_id: publisherId, session_id: sessionId, kind } = message;
  const { pubUserId = '', language } = content;
  const composed = composeMessage(deps, about, { kind, perks });
  const ids = { messageId: messageIdOf(deps, id), pubUserId, sessionId };
  const nowMs = deps.now();
  return transaction(deps.pool, async (executor) => {
    if (!(await settle(executor, message, { state: 'sent' }, nowMs))) return null;
    const payload = (): Buffer => buildMessagePayload({ ...ids, kind, language, composed, perks });
    const event = { publisherId, event: 'perk_message', sessionId, pubUserId, dev: false, payload, nowMs, id };
    const deliveries = await enqueue(executor, [event]);
    if (deliveries.length > 0) return null;
    throw new NoEndpoint();
  });
}

class NoEndpoint extends Error {}

/**
 * Asks the owner of an address to confirm it. One request is sent for all messages that are waiting for the
 * confirmation.
 */
async function ask(deps: SendDeps, sending: Sending): Promise<Outcome | null> {
  const { pool, now } = deps;
  const { message, readers } = sending;
  const about = aboutOf(deps, sending);
  if (about !== null && (await claimQuestion(pool, readers[0], message.id, now())))
    await mail(deps, sending, composeQuestion(deps, about), `${message.id}.confirm`);
  await settle(pool, message, { state: 'unconfirmed' }, now());
  // In the meantime, the owner may have confirmed the address through the request for another message.
  if (await isAddressConfirmed(pool, readers[0])) await confirmAddress(pool, readers[0], now());
  return null;
}
