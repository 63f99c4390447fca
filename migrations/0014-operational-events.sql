-- What happens to endpoints and campaigns, until it is sent as an event: at most once an hour for each subject.
create table operational_events (
  publisher_id integer not null,
  event text not null,
  subject text not null,
  data jsonb not null,
  count integer not null,
  raised_at timestamptz,
  sent_at timestamptz,
  primary key (publisher_id, event, subject)
);
create index operational_events_raised on operational_events (raised_at) where raised_at is not null;
comment on table operational_events is
  'Operational events, one row for each subject; written with the fact, sent by a job.';
comment on column operational_events.subject is 'What it happened to, such as the id of an endpoint.';
comment on column operational_events.count is 'How often it happened since the last one that was sent.';
comment on column operational_events.raised_at is 'Null: there is nothing to send.';
