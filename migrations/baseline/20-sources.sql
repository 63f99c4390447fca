-- Events about users from Segment and RudderStack.

create table segment_sources (
  publisher_id integer primary key references publishers,
  settings jsonb not null,
  -- Encrypted secret that signs the calls; null: calls need only the key.
  secret_sealed bytea,
  updated_at timestamptz not null
);
comment on table segment_sources is 'How the events of a publisher''s source are used.';

create table source_events (
  publisher_id integer not null references publishers,
  message_id text not null,
  -- Keyed hash of pub_user_id; null: the event names no user, or the user was erased.
  user_key uuid,
  received_at timestamptz not null,
  sent_at timestamptz not null,
  type text not null,
  name text not null,
  result text not null,
  refusal text,
  effects jsonb not null default '[]',
  -- How often the event was received.
  times integer not null default 1,
  primary key (publisher_id, message_id)
);
comment on table source_events is 'Received events, once each, with their effects and without their values.';
create index source_events_latest on source_events (publisher_id, received_at desc);
create index source_events_received on source_events (received_at);
create index source_events_user on source_events (user_key) where user_key is not null;

create table source_moments (
  user_key uuid not null,
  -- Attribute or audience.
  subject text not null,
  at timestamptz not null,
  written_at timestamptz not null,
  primary key (user_key, subject)
);
comment on table source_moments is
  'Time of the last event about an attribute or an audience of a user, so that a late event changes nothing.';
create index source_moments_written on source_moments (written_at);
