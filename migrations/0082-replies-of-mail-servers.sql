-- Perk messages: the reply of the mail server, a place in the daily limit, and suppressions that providers report.

alter table perk_messages
  add column refusal text,
  add column reply text,
  add column counted_at timestamptz;
create index perk_messages_refused on perk_messages (publisher_id)
  where refusal is not null and content_sealed is not null;
comment on column perk_messages.refusal is
  'Why the last attempt failed: recipient, mailbox, domain, sender, content, unclear or unreachable.';
comment on column perk_messages.reply is 'Reply code and enhanced status code of the last attempt that failed.';
comment on column perk_messages.counted_at is
  'When the message took its place in the daily limit of its address; null: it has none.';

alter table message_suppressions add column provider text;
comment on column message_suppressions.provider is
  'Mail provider that reported an unsubscription; null: it was made here.';

create table message_feedback_calls (
  id uuid primary key,
  received_at timestamptz not null
);
create index message_feedback_calls_received on message_feedback_calls (received_at);
comment on table message_feedback_calls is
  'Signed calls of mail providers that were applied, so that none takes effect twice. Kept for a day.';
