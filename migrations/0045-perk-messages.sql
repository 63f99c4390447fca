-- E-mails to users about the perks they confirmed.

create table perk_message_settings (
  publisher_id integer primary key references publishers,
  enabled boolean not null default false,
  from_name text not null default '',
  reply_to text,
  updated_at timestamptz not null default now()
);
comment on table perk_message_settings is 'Whether and as whom a publisher sends them. No row: not at all.';

create table perk_messages (
  id uuid primary key,
  publisher_id integer not null,
  session_id uuid not null,
  user_key uuid not null,
  content_sealed bytea,
  state text not null check (state in ('pending', 'sent', 'failed', 'suppressed')),
  attempts integer not null default 0,
  due_at timestamptz,
  error text,
  created_at timestamptz not null,
  finished_at timestamptz,
  check ((state = 'pending') = (content_sealed is not null)),
  check ((state = 'pending') = (due_at is not null))
);
create index perk_messages_due on perk_messages (due_at) where due_at is not null;
create index perk_messages_publisher on perk_messages (publisher_id, id);
create index perk_messages_user on perk_messages (user_key);
comment on table perk_messages is 'One e-mail for a wrap with consent, and what became of it.';
comment on column perk_messages.content_sealed is 'Address, language and perks, sealed; null: sent or given up.';
comment on column perk_messages.due_at is
  'When the next attempt is due; while one runs, when another process may take it.';

create table message_suppressions (
  publisher_id integer not null,
  address_key uuid not null,
  reason text not null check (reason in ('unsubscribed', 'bounced', 'complained')),
  created_at timestamptz not null,
  primary key (publisher_id, address_key)
);
comment on table message_suppressions is 'Who gets no more of them; an address is known by its keyed hash alone.';
