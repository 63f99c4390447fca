import type pg from 'pg';
import type { Actor, Work } from '../management/unit-of-work.ts';
import { isReaderLanguage } from '../platform/i18n/languages.ts';
import { t } from '../platform/i18n/messages.ts';
import { inLanguage } from '../platform/i18n/reader.ts';
import { minuteMs } from '../platform/lib/time.ts';
import type { Mail, Mailer } from '../platform/mailer.ts';
import { advertiserPath, publisherPath } from '../shell/context.ts';
import { momentText } from '../shell/format.ts';
import type { Draft, DraftState } from './draft.ts';

/**
 * Delay before an e-mail is sent, in milliseconds. No e-mail is sent about a decision that is undone within this time.
 */
const delayMs = minuteMs;
const maxBatch = 20;
const maxAttempts = 6;

const mailedStates: readonly DraftState[] = ['live', 'scheduled', 'refused', 'undone'];

/** SQL condition for whether a user `u` is told about decisions on a draft `d`, and still has access to it. */
const isRecipient = `exists (
  select from memberships m where m.user_id = u.id and m.joined_at is not null and not m.disabled
    and case when d.advertiser_id is null
      then d.proposer_kind = 'user' and u.id = d.proposer_id
        and (m.role = 'operator' or m.publisher_id = d.publisher_id)
      else m.advertiser_id = d.advertiser_id end)`;

/**
 * Requests the e-mails about a decision: to the accounts of the advertiser that proposed the draft, or to the
 * publisher's user who did. The user who decided gets no e-mail.
 */
export async function requestMails({ executor, nowMs }: Work, { id }: Draft, by: Actor): Promise<void> {
  await executor.query(
    `insert into draft_mails (draft_id, user_id, next_attempt_at)
    select d.id, u.id, $2 from drafts d join users u on ${isRecipient} where d.id = $1 and u.id <> $3
    on conflict (draft_id, user_id) do update set attempts = 0, next_attempt_at = excluded.next_attempt_at`,
    [id, new Date(nowMs + delayMs), by.kind === 'user' ? by.id : 0],
  );
}

type MailDeps = { pool: pg.Pool; mailer: Mailer | null; now: () => number; config: { publicUrl: string } };

type Due = {
  id: number;
  advertiser_id: number | null;
  state: DraftState;
  reason: string;
  subject: string;
  user_id: number;
  attempts: number;
  publisher_id: number;
  publisher: string;
  time_zone: string;
  live_at: Date | null;
  decided_at: Date | null;
  /** Recipient address. Null if the user no longer has access to the draft. */
  email: string | null;
  language: string | null;
};

/**
 * Claims the due e-mails and schedules their next attempts, after 2, 4, 8 … minutes. If a process dies while it sends
 * an e-mail, another process sends it after two minutes.
 */
const claimSql = `
with due as (
  select draft_id, user_id from draft_mails where next_attempt_at <= $1 order by next_attempt_at limit ${maxBatch}
  for update skip locked
), taken as (
  update draft_mails m set attempts = m.attempts + 1,
    next_attempt_at = $1::timestamptz + make_interval(mins => (2 ^ (m.attempts + 1))::int)
  from due where (m.draft_id, m.user_id) = (due.draft_id, due.user_id)
  returning m.draft_id, m.user_id, m.attempts
)
select d.id, d.advertiser_id, d.state, d.reason, d.subject, d.publisher_id, d.live_at, d.decided_at, t.user_id,
  t.attempts, p.name as publisher, p.time_zone, u.email, u.language
from taken t join drafts d on d.id = t.draft_id join publishers p on p.id = d.publisher_id
left join users u on u.id = t.user_id and ${isRecipient}`;

/** Sends the e-mails about decisions that are due. Skips decisions that have been undone in the meantime. */
export async function sendDraftMails({ pool, mailer, now, config }: MailDeps): Promise<void> {
  const { rows } = await pool.query<Due>(claimSql, [new Date(now())]);
  await Promise.all(
    rows.map(async (due) => {
      const isDue = due.email !== null && mailer !== null && mailedStates.includes(due.state);
      const isSent =
        isDue &&
        (await mailer.send(mailOf(due, config.publicUrl)).then(
          () => true,
          () => false,
        ));
      if (isDue && !isSent && due.attempts < maxAttempts) return;
      await pool.query('delete from draft_mails where draft_id = $1 and user_id = $2 and attempts = $3', [
        due.id,
        due.user_id,
        due.attempts,
      ]);
    }),
  );
}

function mailOf({ id, email, language, ...due }: Due, publicUrl: string): Mail {
  const path = `/drafts/${id}`;
  const page =
    due.advertiser_id === null ? publisherPath(due.publisher_id, path) : advertiserPath(due.advertiser_id, path);
  return inLanguage(isReaderLanguage(language) ? language : null, () => {
    const { publisher, state, reason, time_zone: timeZone } = due;
    const time = due.live_at === null ? '' : `${momentText({ timeZone }, due.live_at)} (${timeZone})`;
    const subject = due.subject || `#${id}`;
    return {
      to: email ?? '',
      subject: t('mails.draftDecided', { publisher, state, subject }),
      text: t('mails.draftDecidedText', {
        state,
        subject,
        reason,
        time,
        comment: reason === '' ? 'no' : 'yes',
        page: `${publicUrl}${page}`,
      }),
      messageId: `<draft-${id}-${due.user_id}-${due.decided_at?.getTime()}@${new URL(publicUrl).hostname}>`,
    };
  });
}
