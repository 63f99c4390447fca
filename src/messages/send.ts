import type { Config } from '../config.ts';
import { languageOf } from '../platform/i18n/languages.ts';
import { inLanguage } from '../platform/i18n/reader.ts';
import { hourMs, minuteMs } from '../platform/lib/time.ts';
import type { PlatformDeps } from '../platform/ports.ts';
import {
  contentContext,
  type DueMessage,
  isSuppressed,
  type MessageContent,
  settle,
  suppress,
  takeDue,
} from './store.ts';
import { oneLine, renderMessage } from './template.ts';
import type { Unsubscriber } from './unsubscribe-links.ts';

export type SendDeps = Pick<PlatformDeps, 'pool' | 'mailer' | 'secretBox' | 'now'> & {
  config: Pick<Config, 'publicUrl'>;
  addressKeys: (publisherId: number, email: string) => readonly string[];
  unsubscribeTokens: { mint: (who: Unsubscriber) => string };
};

const secondMs = 1000;

export const unsubscribePath = '/messages/unsubscribe';

/** Waits after each attempt that failed (milliseconds): about two days in all. */
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

/** Messages of one run, and how many are under way at once (count). */
const maxBatch = 20;
/** Pause while the server cannot be reached at all (milliseconds). */
const breakMs = 30 * secondMs;
const pauseMs = secondMs;

/** Sends what is due. @returns the pause until the next run (milliseconds): long while no mail server answers */
export async function sendDueMessages(deps: SendDeps): Promise<number> {
  if (deps.mailer === null) return breakMs;
  const due = await takeDue(deps.pool, deps.now(), maxBatch);
  const reached = await Promise.all(due.map((message) => sendOne(deps, message)));
  return reached.includes(false) ? breakMs : pauseMs;
}

/** @returns false: the server could not be reached */
async function sendOne(deps: SendDeps, message: DueMessage): Promise<boolean> {
  const { pool, mailer, secretBox, now } = deps;
  const { id, publisher_id: publisherId, content_sealed: sealed, attempts } = message;
  const content = JSON.parse(secretBox.open(sealed, contentContext(id))) as MessageContent;
  const addressKeys = deps.addressKeys(publisherId, content.email);
  if (await isSuppressed(pool, publisherId, addressKeys)) {
    await settle(pool, message, { state: 'suppressed' }, now());
    return true;
  }
  const who = { publisherId, addressKey: addressKeys[0] as string };
  try {
    await mailer?.send(mailOf(deps, message, content, who));
    await settle(pool, message, { state: 'sent' }, now());
    return true;
  } catch (err) {
    const failure = failureOf(err);
    const waitMs = waitsMs[attempts - 1];
    if (failure.isRefusedAddress) await suppress(pool, who, 'bounced', now());
    const isOver = failure.isFinal || waitMs === undefined;
    const { error } = failure;
    await settle(
      pool,
      message,
      isOver ? { state: 'failed', error } : { state: 'pending', error, dueMs: now() + (waitMs ?? 0) },
      now(),
    );
    return !failure.isUnreachable;
  }
}

function mailOf(
  { config, unsubscribeTokens }: SendDeps,
  message: DueMessage,
  content: MessageContent,
  who: Unsubscriber,
) {
  const unsubscribeUrl = `${config.publicUrl}${unsubscribePath}?t=${unsubscribeTokens.mint(who)}`;
  const publisher = oneLine(message.from_name || message.publisher);
  const { subject, text, html } = inLanguage(languageOf(content.language), () =>
    renderMessage({ publisher, perks: content.perks, unsubscribeUrl }),
  );
  return {
    ...{ to: content.email, fromName: publisher, subject, text, html },
    ...(message.reply_to === null ? {} : { replyTo: message.reply_to }),
    messageId: `<${message.id}@${new URL(config.publicUrl).hostname}>`,
    headers: {
      'list-unsubscribe': `<${unsubscribeUrl}>`,
      'list-unsubscribe-post': 'List-Unsubscribe=One-Click',
    },
  };
}

/** Words of the log: the server's own may name the address. */
function failureOf(err: unknown) {
  const {
    responseCode = 0,
    command = '',
    code = '',
  } = (err ?? {}) as {
    responseCode?: number;
    command?: string;
    code?: string;
  };
  const isRefusedAddress = responseCode >= 550 && responseCode <= 553 && command === 'RCPT TO';
  const isFinal = isRefusedAddress || (responseCode >= 500 && code === 'EMESSAGE');
  const isUnreachable = ['ECONNECTION', 'ESOCKET', 'EDNS', 'ETIMEDOUT', 'EAUTH'].includes(code) && responseCode < 400;
  const error =
    responseCode > 0
      ? `the mail server answered ${responseCode}`
      : `the mail server did not take it (${code || 'error'})`;
  return { isRefusedAddress, isFinal, isUnreachable, error };
}
