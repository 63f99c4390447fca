-- The event log: how far its messages are stored, and those that could not be.
create table event_log_positions (
  partition smallint primary key,
  stream_created timestamptz,
  sequence bigint not null default 0,
  stored_until timestamptz not null,
  holder uuid,
  leased_until timestamptz not null default '-infinity'
);
comment on table event_log_positions is
  'Up to which message each partition of the event log is stored, in the transaction that stores it.';
comment on column event_log_positions.stream_created is
  'Tells the sequences of one stream from those of an earlier stream of its name.';
comment on column event_log_positions.stored_until is 'All events that were in the log at this time are stored.';
comment on column event_log_positions.holder is 'The process that stores the partition, until its lease ends.';

create table event_log_rejects (
  partition smallint not null,
  stream_created timestamptz not null,
  sequence bigint not null,
  at timestamptz not null,
  error text not null,
  data bytea not null,
  primary key (partition, stream_created, sequence)
);
comment on table event_log_rejects is
  'Messages of the event log that could not be stored, set aside for a person to look at.';
