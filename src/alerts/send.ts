import type pg from 'pg';
import { mayOpen } from '../accounts/memberships.ts';
import { isReaderLanguage } from '../platform/i18n/languages.ts';
import { t } from '../platform/i18n/messages.ts';
import { inLanguage } from '../platform/i18n/reader.ts';
import type { Mailer } from '../platform/mailer.ts';
import { type Problem, problem, storedProblem } from '../platform/problem.ts';
import type { SecretBox } from '../platform/security/secret-box.ts';
import type { ChatChannels } from '../reports/chat-channels.ts';
import { momentText } from '../shell/format.ts';
import { type FailedAttempt, readFailedAttempts } from '../webhooks/last-failure.ts';
import type { Sender } from '../webhooks/sender.ts';
import { type AlertText, describe } from './describe.ts';
import { type AlertKind, failedAttemptOf } from './kinds.ts';
import { findChannelUrl, listChannels, urlContext } from './rules.ts';

type SendDeps = {
  pool: pg.Pool;
  mailer: Mailer | null;
  secretBox: SecretBox;
  now: () => number;
  config: { publicUrl: string };
  sender: Sender;
};

/** Maximum number of messages per run. */
const maxBatch = 20;
/** Maximum number of attempts per message. After that, the alert is only available in the inbox. */
const maxAttempts = 6;
/** Timeout of a webhook call, in milliseconds. */
const deadlineMs = 10_000;

type Due = {
  kind: AlertKind;
  data: Readonly<Record<string, unknown>>;
  alert_id: string;
  rule_id: number;
  attempts: number;
  /** Whether the message says that the alert has ended. */
  about_end: boolean;
  ended_at: Date | null;
  publisher_id: number;
  publisher: string;
  time_zone: string;
  url_sealed: Buffer | null;
  /** Recipient address. Null if the message is not an e-mail, or the user no longer has access. */
  email: string | null;
  /** Language of an e-mail. Null means the default language, which is also used for channels. */
  language: string | null;
};

/**
 * Claims the due messages and schedules their next attempts, after 2, 4, 8 … minutes. If a process dies while it sends
 * a message, another process sends the message after two minutes.
 */
const claimSql = `
with due as (
  select alert_id, rule_id from alert_messages where next_attempt_at <= $1 order by next_attempt_at limit ${maxBatch}
  for update skip locked
), taken as (
  update alert_messages m set attempts = m.attempts + 1,
    next_attempt_at = $1::timestamptz + make_interval(mins => (2 ^ (m.attempts + 1))::int)
  from due where (m.alert_id, m.rule_id) = (due.alert_id, due.rule_id)
  returning m.alert_id, m.rule_id, m.attempts, m.about_end
)
select t.*, a.kind, a.data, a.ended_at, a.publisher_id, p.name as publisher, p.time_zone, r.url_sealed, u.email,
  u.language
from taken t join alerts a on a.id = t.alert_id join alert_rules r on r.id = t.rule_id
join publishers p on p.id = a.publisher_id
left join users u on u.id = r.user_id and ${mayOpen('u.id', 'a.publisher_id')}`;

/**
 * Sends alert messages by e-mail and to Slack-compatible webhooks.
 * @returns number of due messages
 */
export async function sendAlertMessages(deps: SendDeps): Promise<number> {
  const { rows } = await deps.pool.query<Due>(claimSql, [new Date(deps.now())]);
  const keyOf = ({ publisher_id: publisherId, data }: Due) => failedAttemptOf(publisherId, data);
  const failureOf = await readFailedAttempts(
    deps.pool,
    rows.flatMap((message) => keyOf(message) ?? []),
  );
  await Promise.all(
    rows.map(async (message) => {
      const error = await sendOne(deps, { ...message, failure: failureOf(keyOf(message)) });
      await settle(deps, message, error);
    }),
  );
  return rows.length;
}

const settle = async (
  { pool, now }: SendDeps,
  { alert_id, rule_id, attempts }: Due,
  error: Problem | null,
): Promise<void> => {
  const isDone = error === null || attempts >= maxAttempts;
  await pool.query(
    `update alert_messages set error = $3, next_attempt_at = case when $4 then null else next_attempt_at end,
      sent_at = $6
    where alert_id = $1 and rule_id = $2 and attempts = $5`,
    [alert_id, rule_id, error && storedProblem(error), isDone, attempts, error === null ? new Date(now()) : null],
  );
};

/**
 * Sends a message.
 * @returns the reason for a failure, without addresses; null if the message was sent or no longer has a recipient
 */
async function sendOne(
  { mailer, secretBox, sender, config }: SendDeps,
  message: Due & { failure: FailedAttempt | null },
): Promise<Problem | null> {
  const pages = `${config.publicUrl}/dashboard/p/${message.publisher_id}`;
  const written = <T>(write: (alert: AlertText, links: Links) => T): T =>
    inLanguage(isReaderLanguage(message.language) ? message.language : null, () => {
      const alert = textOf(message);
      const links = { page: `${pages}${alert.path}`, inbox: `${pages}/alerts` };
      return write(alert, alert.fix === undefined ? links : { ...links, fix: `${pages}${alert.fix.path}` });
    });
  if (message.url_sealed !== null) {
    const url = secretBox.open(message.url_sealed, urlContext);
    const text = written((alert, links) => slackText(message.publisher, alert, links));
    return post(sender, url, text);
  }
  if (message.email === null) return null;
  if (mailer === null) return problem('noMailServer');
  const mail = written(({ title, reason, fix }, links) => ({
    subject: `${message.publisher}: ${title}`,
    text: t('mails.alertText', {
      title,
      reason: fix === undefined ? reason : `${reason}\n\n${fix.text}\n${fix.link}:\n${links.fix}`,
      page: links.page,
      inbox: links.inbox,
    }),
  }));
  return mailer.send({ to: message.email, ...mail }).then(
    () => null,
    () => problem('mailRefused'),
  );
}

/** Returns the text of a message. A message about the end of an alert needs no advice. */
function textOf(message: Due & { failure: FailedAttempt | null }): AlertText {
  const { about_end: isEnd, ended_at: endedAt, time_zone: timeZone } = message;
  const alert = describe(message, timeZone);
  if (!isEnd || endedAt === null) return alert;
  const { title, path } = alert;
  const time = `${momentText({ timeZone }, endedAt)} (${timeZone})`;
  return { title: t('alerts.resolved', { title }), reason: t('alerts.resolvedReason', { time }), path };
}

/** Escapes text for Slack markup, so that names cannot mention users or disguise links. */
const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

type Links = { page: string; inbox: string; fix?: string };

export function slackText(publisher: string, alert: Omit<AlertText, 'path'>, { page, inbox, fix }: Links): string {
  const { title, reason } = alert;
  const links = [
    ...(fix === undefined || alert.fix === undefined ? [] : [`<${fix}|${alert.fix.link}>`]),
    `<${page}|${t('alerts.lookAtIt')}>`,
    `<${inbox}|${t('alerts.muteIt')}>`,
  ];
  return `*${escaped(`${publisher}: ${title}`)}*\n${escaped(reason)}\n${links.join(' · ')}`;
}

/** Returns the chat channels that other modules can send messages to. */
export const chatChannelsOf = ({
  pool,
  secretBox,
  sender,
}: {
  pool: pg.Pool;
  secretBox: SecretBox;
  sender: Sender;
}): ChatChannels => ({
  list: (publisherId) => listChannels(pool, publisherId),
  post: async (publisherId, channelId, { title, text, link }) => {
    const sealed = await findChannelUrl(pool, publisherId, channelId);
    if (sealed === null) return problem('channelRemoved');
    const written = `*${escaped(title)}*\n${escaped(text)}\n<${link.url}|${link.text}>`;
    return post(sender, secretBox.open(sealed, urlContext), written);
  },
});

/**
 * Posts a message to a Slack-compatible webhook. The address guard for webhooks applies to the URL.
 * @returns the reason for a failure, or null on success
 */
export async function post(sender: Sender, url: string, text: string): Promise<Problem | null> {
  const result = await sender.send({
    url,
    method: 'POST',
    deadlineMs,
    headers: { 'content-type': 'application/json; charset=utf-8' },
    body: Buffer.from(JSON.stringify({ text })),
  });
  if (result.kind === 'blocked') return problem('addressNotPublic');
  if (result.kind === 'error') return problem('noAnswer', { class: result.class });
  return result.status >= 200 && result.status < 300 ? null : problem('answerWas', { status: result.status });
}
