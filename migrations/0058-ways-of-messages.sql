-- Perk messages: by webhook instead of SMTP, after a confirmation of the address, and as reminders of saved offers.

alter table perk_message_settings
  add column delivery text not null default 'smtp' check (delivery in ('smtp', 'webhook')),
  add column double_opt_in boolean not null default false,
  add column reminder_hours integer check (reminder_hours between 1 and 720);
comment on column perk_message_settings.reminder_hours is
  'How long before a saved offer ends its user is reminded; null: not at all.';

alter table perk_messages
  add column kind text not null default 'perks' check (kind in ('perks', 'reminder')),
  add column offer_id integer,
  add column address_key uuid,
  add column keep_until timestamptz,
  drop constraint perk_messages_state_check,
  drop constraint perk_messages_check,
  drop constraint perk_messages_check1,
  add constraint perk_messages_state_check
    check (state in ('pending', 'unconfirmed', 'sent', 'failed', 'suppressed', 'dropped')),
  add check (state <> 'pending' or content_sealed is not null),
  add check (content_sealed is null or state in ('pending', 'unconfirmed', 'failed')),
  add check ((state = 'pending') = (due_at is not null));
create index perk_messages_kept on perk_messages (keep_until) where keep_until is not null;
create index perk_messages_address on perk_messages (publisher_id, address_key);
create unique index perk_messages_reminder on perk_messages (user_key, offer_id) where kind = 'reminder';
comment on table perk_messages is
  'One e-mail for a wrap with consent, or before a saved offer ends, and what became of it.';
comment on column perk_messages.offer_id is 'Of a reminder.';
comment on column perk_messages.address_key is 'Keyed hash of the address, or of the user where there is none.';
comment on column perk_messages.keep_until is 'When the content of one that is not sent is removed.';

create table message_confirmations (
  publisher_id integer not null,
  address_key uuid not null,
  asked_by uuid not null,
  asked_at timestamptz not null,
  confirmed_at timestamptz,
  primary key (publisher_id, address_key)
);
comment on table message_confirmations is
  'Addresses whose owners were asked whether they want messages, and when they said yes.';
comment on column message_confirmations.asked_by is 'The message that asked.';

alter table message_suppressions
  drop constraint message_suppressions_reason_check,
  add check (reason in ('unsubscribed', 'bounced', 'complained', 'added'));
comment on table message_suppressions is
  'Who gets no more of them; an address is known by its keyed hash alone. Publisher 0: of no publisher.';
