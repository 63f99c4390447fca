-- The event log (NATS JetStream): its positions and rejected messages.

create table event_log_positions (
  partition smallint primary key,
  -- Tells the sequence numbers of a stream from those of an earlier stream with the same name.
  stream_created timestamptz,
  sequence bigint not null default 0,
  -- All events that were in the log at this time are stored.
  stored_until timestamptz not null,
  -- Process that stores the partition until its lease ends.
  holder uuid,
  leased_until timestamptz not null default '-infinity'
);
comment on table event_log_positions is
  'Last stored message of each partition of the event log, updated in the transaction that stores it.';

create table event_log_rejects (
  partition smallint not null,
  stream_created timestamptz not null,
  sequence bigint not null,
  at timestamptz not null,
  error text not null,
  data bytea not null,
  primary key (partition, stream_created, sequence)
);
comment on table event_log_rejects is 'Messages of the event log that could not be stored, for an operator to inspect.';
