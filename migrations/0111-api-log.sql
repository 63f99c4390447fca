-- API log: 30 days of a publisher's calls.

create table api_calls (
  day date not null,
  id uuid not null,
  publisher_id integer not null references publishers on delete cascade,
  at timestamptz not null,
  method text not null,
  route text not null,
  -- Path without IDs of users, as in the process log.
  path text not null,
  status smallint not null,
  ms real not null,
  code text,
  fields text[] not null,
  request_id text not null,
  key_id integer,
  primary key (day, id)
) partition by range (day);
comment on table api_calls is
  'Calls to the API: rejected and slow ones, changes, and a sample of the others. Without bodies and IDs of users.';
comment on column api_calls.code is 'Error code of a rejected call.';
comment on column api_calls.fields is 'Names of the fields that caused the rejection.';
create index api_calls_publisher on api_calls (publisher_id, day, id);
create index api_calls_request on api_calls (publisher_id, request_id);

create table api_call_counts (
  publisher_id integer not null references publishers on delete cascade,
  hour timestamptz not null,
  method text not null,
  route text not null,
  status smallint not null,
  code text not null,
  calls bigint not null,
  slow bigint not null,
  ms double precision not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  primary key (publisher_id, hour, method, route, status, code)
);
comment on table api_call_counts is 'Number of all calls to the API by hour, also of those without a row in api_calls.';
comment on column api_call_counts.code is 'Error code of rejected calls; empty: none.';
comment on column api_call_counts.ms is 'Total duration in milliseconds.';
create index api_call_counts_hour on api_call_counts (hour);
