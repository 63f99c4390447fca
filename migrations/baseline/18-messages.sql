-- Messages to users about the perks that they confirmed and the offers that they saved.

create table perk_message_settings (
  publisher_id integer primary key references publishers,
  enabled boolean not null default false,
  from_name text not null default '',
  reply_to text,
  updated_at timestamptz not null default now(),
  delivery text not null default 'smtp' check (delivery in ('smtp', 'webhook')),
  double_opt_in boolean not null default false,
  -- How long before the end of a saved offer its user is reminded; null: never.
  reminder_hours integer check (reminder_hours between 1 and 720)
);
comment on table perk_message_settings is
  'Message settings of a publisher. A publisher without a row sends no messages.';

create table perk_messages (
  id uuid primary key,
  publisher_id integer not null,
  session_id uuid not null,
  user_key uuid not null,
  -- Encrypted address, language and perks; null: sent, or given up.
  content_sealed bytea,
  state text not null check (state in ('pending', 'unconfirmed', 'sent', 'failed', 'suppressed', 'dropped')),
  attempts integer not null default 0,
  -- When the next attempt is due. During an attempt, the end of its lease.
  due_at timestamptz,
  error text,
  created_at timestamptz not null,
  finished_at timestamptz,
  kind text not null default 'perks' check (kind in ('perks', 'reminder')),
  -- Saved offer of a reminder.
  offer_id integer,
  -- Keyed hash of the address, or of the user if there is no address.
  address_key uuid,
  -- When the content of an unsent message is removed.
  keep_until timestamptz,
  check (state <> 'pending' or content_sealed is not null),
  check (content_sealed is null or state in ('pending', 'unconfirmed', 'failed')),
  check ((state = 'pending') = (due_at is not null))
);
comment on table perk_messages is 'E-mails after a wrap with consent, or before a saved offer ends, with their state.';
create index perk_messages_due on perk_messages (due_at) where due_at is not null;
create index perk_messages_publisher on perk_messages (publisher_id, id);
create index perk_messages_user on perk_messages (user_key);
create index perk_messages_kept on perk_messages (keep_until) where keep_until is not null;
create index perk_messages_address on perk_messages (publisher_id, address_key);
-- One reminder for each saved offer.
create unique index perk_messages_reminder on perk_messages (user_key, offer_id) where kind = 'reminder';

create table message_confirmations (
  publisher_id integer not null,
  address_key uuid not null,
  -- Message that asked.
  asked_by uuid not null,
  asked_at timestamptz not null,
  confirmed_at timestamptz,
  primary key (publisher_id, address_key)
);
comment on table message_confirmations is 'Addresses whose owners were asked to confirm that they want messages.';

create table message_suppressions (
  publisher_id integer not null,
  address_key uuid not null,
  reason text not null check (reason in ('unsubscribed', 'bounced', 'complained', 'added')),
  created_at timestamptz not null,
  primary key (publisher_id, address_key)
);
comment on table message_suppressions is
  'Addresses that get no more messages, as keyed hashes only. Publisher 0: from no publisher.';
