-- What Segment and RudderStack send of users.
create table segment_sources (
  publisher_id integer primary key references publishers,
  settings jsonb not null,
  secret_sealed bytea,
  updated_at timestamptz not null
);
comment on table segment_sources is 'What becomes of the events that a publisher''s Segment or RudderStack sends.';
comment on column segment_sources.secret_sealed is 'Signs their calls; null: the key alone is asked for.';

create table source_events (
  publisher_id integer not null references publishers,
  message_id text not null,
  user_key uuid,
  received_at timestamptz not null,
  sent_at timestamptz not null,
  type text not null,
  name text not null,
  result text not null,
  refusal text,
  effects jsonb not null default '[]',
  times integer not null default 1,
  primary key (publisher_id, message_id)
);
comment on table source_events is 'Events that sources sent, each once, and what became of them: without values.';
comment on column source_events.user_key is 'Of pub_user_id; null: the event names nobody, or the user was erased.';
comment on column source_events.times is 'How often it came.';
create index source_events_latest on source_events (publisher_id, received_at desc);
create index source_events_received on source_events (received_at);
create index source_events_user on source_events (user_key) where user_key is not null;

create table source_moments (
  user_key uuid not null,
  subject text not null,
  at timestamptz not null,
  written_at timestamptz not null,
  primary key (user_key, subject)
);
comment on table source_moments is
  'When sources last said something of a user, so that what comes late changes nothing.';
comment on column source_moments.subject is 'An attribute or an audience.';
create index source_moments_written on source_moments (written_at);
