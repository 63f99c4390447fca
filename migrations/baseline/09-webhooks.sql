-- Webhooks: endpoints, the outbox with its queue, the log of attempts, and redeliveries.

create table webhook_endpoints (
  id integer generated always as identity primary key,
  publisher_id integer not null references publishers,
  -- Event of a default endpoint; null: see events.
  event text,
  url text not null check (url ~ '^https?://' and char_length(url) <= 2000),
  method text not null check (method in ('POST', 'GET')),
  enabled boolean not null default true,
  disabled_reason text,
  -- Encrypted secrets of the HMAC signature. After a rotation, both sign until previous_secret_until.
  secret_sealed bytea not null,
  previous_secret_sealed bytea,
  previous_secret_until timestamptz,
  -- Whether requests have an ed25519 signature in addition to the HMAC. Its keys are encrypted whsk_… keys.
  signature_v1a boolean not null default false,
  v1a_key_sealed bytea,
  previous_v1a_key_sealed bytea,
  -- Timeout of a request.
  deadline_ms integer not null default 15000 check (deadline_ms between 1000 and 30000),
  -- Waits between attempts, in seconds; null: the default schedule.
  retry_steps_s integer[] check (cardinality(retry_steps_s) between 1 and 20),
  -- Deliveries of a paused endpoint stay queued; null: not paused.
  paused_at timestamptz,
  -- Rate limit until the backlog of a pause is delivered.
  resume_rate_per_s real check (resume_rate_per_s > 0),
  -- Maximum number of concurrent requests.
  max_in_flight smallint not null default 4 check (max_in_flight between 1 and 100),
  -- Null: no limit.
  rate_limit_per_s real check (rate_limit_per_s > 0),
  -- One delivery at a time, in the order of creation. A retry delays the deliveries after it.
  strict_order boolean not null default false,
  -- Name → encrypted value of headers that each request has.
  headers jsonb not null default '{}' check (jsonb_typeof(headers) = 'object'),
  -- Deliveries go to a command line that listens, instead of to a server.
  is_listener boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- A removed endpoint gets no new deliveries. Its row stays for those that refer to it.
  deleted_at timestamptz,
  -- Events of an endpoint; null: a default endpoint.
  events text[] check (cardinality(events) between 1 and 50),
  description text not null default '' check (char_length(description) <= 200),
  -- Condition on the payload; null: every event is sent.
  filter jsonb check (octet_length(filter::text) <= 10000),
  unique (publisher_id, event),
  constraint webhook_endpoints_v1a_key check (not signature_v1a or v1a_key_sealed is not null),
  constraint webhook_endpoints_events check ((event is null) <> (events is null))
);
comment on table webhook_endpoints is 'Receivers of a publisher''s webhooks.';

create table endpoint_health (
  endpoint_id integer primary key references webhook_endpoints on delete cascade,
  breaker_state text not null default 'closed' check (breaker_state in ('closed', 'open')),
  -- No request before this time. After it, one request at a time probes the endpoint.
  open_until timestamptz,
  -- Times that the breaker opened without closing in between. Each doubles the wait.
  times_opened smallint not null default 0,
  -- Lowered by a timeout and raised by successes up to max_in_flight; null: max_in_flight.
  in_flight_limit smallint,
  timeouts_in_row smallint not null default 0,
  -- Strict order: when the next attempt of the first delivery is due.
  not_before timestamptz,
  -- To the minute.
  last_success_at timestamptz,
  -- First failure since the last success; null: the last request succeeded.
  first_failure_at timestamptz,
  last_failure_at timestamptz,
  -- Failures since the last success.
  failures integer not null default 0,
  -- When the warning about 24 hours of failures was raised; null: not raised.
  warned_at timestamptz,
  -- When a listener was last connected, to half a minute.
  listened_at timestamptz,
  -- Ends of the calls of all workers within the last minute, for the breaker, and whether each failed. Emptied when the
  -- breaker opens.
  recent_calls_at timestamptz[] not null default '{}',
  recent_calls_failed boolean[] not null default '{}'
) with (fillfactor = 50);
comment on table endpoint_health is 'Circuit breaker and adaptive limits of each endpoint, shared by all workers.';

-- Trigger: gives an endpoint the health of a new one. Every endpoint has a row, so that workers only update it.
create function reset_endpoint_health() returns trigger language plpgsql as $$
begin
  delete from endpoint_health where endpoint_id = new.id;
  insert into endpoint_health (endpoint_id) values (new.id);
  return null;
end $$;
create trigger create_endpoint_health after insert on webhook_endpoints
  for each row execute function reset_endpoint_health();
create trigger reset_endpoint_health after update of url, enabled on webhook_endpoints
  for each row when (old.url is distinct from new.url or (new.enabled and not old.enabled))
  execute function reset_endpoint_health();

create table endpoint_activity (
  endpoint_id integer not null,
  bucket timestamptz not null,
  delivered integer not null default 0,
  failed integer not null default 0,
  -- Duration of all attempts together.
  total_ms bigint not null default 0,
  slowest_ms integer not null default 0,
  -- Maximum number of waiting deliveries.
  backlog integer not null default 0,
  primary key (endpoint_id, bucket)
);
comment on table endpoint_activity is 'Attempts of each endpoint by quarter of an hour. Kept for seven days.';

create unlogged table endpoint_test_buckets (
  publisher_id integer primary key references publishers on delete cascade,
  -- Tokens left after the last test.
  tokens double precision not null,
  -- Time of the last test.
  at timestamptz not null
);
comment on table endpoint_test_buckets is
  'Token bucket of each publisher for tests of its endpoints. Unlogged: losing it in a crash is harmless.';

create table deliveries (
  day date not null,
  -- UUIDv7. The webhook-id is "msg_" and its hex digits.
  id uuid not null,
  publisher_id integer not null,
  endpoint_id integer not null,
  event text not null,
  session_id uuid,
  pub_user_id text,
  dev boolean not null default false,
  -- The bytes that are signed and sent.
  payload bytea not null,
  status text not null check (status in ('pending', 'delivered', 'failed', 'held')),
  attempts smallint not null default 0,
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  -- Finds failed and held deliveries. It changes only when a delivery enters or leaves one of these states, so that the
  -- usual update (pending to delivered) stays heap-only. An index on the status itself would prevent that.
  undelivered boolean generated always as (case when status in ('failed', 'held') then true end) stored,
  -- When the delivery was last queued again.
  redelivered_at timestamptz,
  -- When the payload and its user were erased.
  erased_at timestamptz,
  -- Trace of the operation that caused the delivery, as a W3C Trace Context header; null: not traced.
  traceparent text,
  primary key (day, id)
) partition by range (day);
comment on table deliveries is 'Outbox: webhooks to send, written in the transaction of what they report.';
create index deliveries_endpoint on deliveries (endpoint_id, day, id);
create index deliveries_undelivered on deliveries (endpoint_id, day, id) where undelivered;
create index deliveries_session on deliveries (session_id, day, id) where session_id is not null;
create index deliveries_user on deliveries (publisher_id, pub_user_id, day, id) where pub_user_id is not null;

create table delivery_queue (
  delivery_id uuid primary key,
  day date not null,
  endpoint_id integer not null,
  -- Redeliveries have a lane of their own and follow live deliveries.
  lane text collate "C" not null default 'live' check (lane in ('live', 'redelivery')),
  -- Order of creation within a millisecond, for strict order.
  position bigint generated always as identity,
  due_at timestamptz not null,
  attempts smallint not null default 0,
  -- Incremented by every claim and named by every later write, so that a late worker changes nothing. A redelivery
  -- continues from the generation of the last attempt.
  generation integer not null default 0,
  -- Null: not claimed.
  lease_until timestamptz,
  -- Holder of the lease.
  worker_id integer
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
comment on table delivery_queue is 'Pending deliveries: the small hot table from which workers claim.';
-- Workers claim endpoint by endpoint, so that the backlog of one does not slow down the others. No index has the
-- columns that a claim changes: its update is heap-only.
create index delivery_queue_next on delivery_queue (lane, endpoint_id, due_at);

create table dispatcher_workers (
  id integer primary key,
  started_at timestamptz not null default now(),
  -- A stopping worker claims nothing more, and the other workers take over its endpoints at once.
  stopping boolean not null default false
);
comment on table dispatcher_workers is
  'Workers that may hold leases. A live worker holds an advisory lock on its id. Others free the leases of a row
without the lock.';

create table delivery_attempts (
  -- Day of the delivery.
  day date not null,
  delivery_id uuid not null,
  generation integer not null,
  publisher_id integer not null,
  endpoint_id integer not null,
  started_at timestamptz not null default now(),
  -- Null: in flight, or the worker died.
  finished_at timestamptz,
  -- delivered, retry, failed, endpoint_disabled
  outcome text,
  status_code smallint,
  error_class text,
  error_message text,
  total_ms integer,
  timing jsonb,
  remote_address text,
  -- { method, url, headers } as sent, without the values of the endpoint's own headers.
  request jsonb,
  response_headers jsonb,
  response_body bytea,
  -- Whether the response was longer than the stored part.
  response_truncated boolean,
  next_attempt_at timestamptz,
  primary key (day, delivery_id, generation)
) partition by range (day);
comment on table delivery_attempts is 'Log of attempts: every request that was made for a delivery.';

create table delivery_counts (
  publisher_id integer not null,
  day date not null,
  created bigint not null,
  delivered bigint not null,
  failed bigint not null,
  held bigint not null,
  primary key (publisher_id, day)
);
comment on table delivery_counts is
  'Deliveries of each publisher and day by state, so that the reconciliation of a day with a million deliveries is
fast. Complete only together with delivery_count_changes.';

create table delivery_count_changes (
  publisher_ids integer[] not null,
  days date[] not null,
  created integer[] not null,
  delivered integer[] not null,
  failed integer[] not null,
  held integer[] not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
comment on table delivery_count_changes is
  'Changes of the counts, one row for each statement and written in its transaction. Rows are only inserted, so
that writers never wait for each other. They are merged into delivery_counts once a second.';

-- Adds the rows of delivery_count_changes to delivery_counts. Does nothing while another session does it.
create function merge_delivery_counts() returns void language plpgsql as $$
begin
  if pg_try_advisory_xact_lock(hashtext('perkwire_delivery_counts')) then
    with taken as (delete from delivery_count_changes returning *)
    insert into delivery_counts as c
      select u.publisher_id, u.day, sum(u.created), sum(u.delivered), sum(u.failed), sum(u.held)
      from taken t
      cross join lateral unnest(t.publisher_ids, t.days, t.created, t.delivered, t.failed, t.held)
        as u (publisher_id, day, created, delivered, failed, held)
      group by u.publisher_id, u.day
    on conflict (publisher_id, day) do update set
      created = c.created + excluded.created,
      delivered = c.delivered + excluded.delivered,
      failed = c.failed + excluded.failed,
      held = c.held + excluded.held;
  end if;
end $$;

-- Counts all deliveries again. Exact while others write: neither the delivery nor the change of an open transaction is
-- visible, and both are added later.
create function recount_deliveries() returns void language plpgsql as $$
begin
  perform pg_advisory_xact_lock(hashtext('perkwire_delivery_counts'));
  with changes as (delete from delivery_count_changes),
  counts as (
    select publisher_id, day, count(*) as created,
      count(*) filter (where status = 'delivered') as delivered,
      count(*) filter (where status = 'failed') as failed,
      count(*) filter (where status = 'held') as held
    from deliveries group by publisher_id, day
  ), gone as (
    delete from delivery_counts c
      where not exists (select from counts n where n.publisher_id = c.publisher_id and n.day = c.day)
  )
  insert into delivery_counts select * from counts
  on conflict (publisher_id, day) do update set
    created = excluded.created,
    delivered = excluded.delivered,
    failed = excluded.failed,
    held = excluded.held;
end $$;

create table redelivery_jobs (
  -- UUIDv7
  id uuid primary key,
  publisher_id integer not null,
  filter jsonb not null,
  -- Deliveries that were created later do not belong to the job.
  newest uuid not null,
  -- Last processed delivery.
  cursor uuid,
  status text not null default 'running' check (status in ('running', 'done', 'cancelled')),
  -- Number of matching deliveries when the job was created.
  total integer not null,
  -- Number of deliveries that were queued again so far.
  queued integer not null default 0,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  finished_at timestamptz
);
comment on table redelivery_jobs is 'Jobs that redeliver many deliveries. Workers do them in slices, oldest first.';
create index redelivery_jobs_publisher on redelivery_jobs (publisher_id, id);
create index redelivery_jobs_running on redelivery_jobs (id) where status = 'running';

create table operational_events (
  publisher_id integer not null,
  event text not null,
  -- What the event is about, such as the id of an endpoint.
  subject text not null,
  data jsonb not null,
  -- Occurrences since the last one that was sent.
  count integer not null,
  -- Null: nothing to send.
  raised_at timestamptz,
  sent_at timestamptz,
  primary key (publisher_id, event, subject)
);
comment on table operational_events is
  'Operational events of endpoints and campaigns, one row for each subject. Written in the transaction of the fact
and sent by a job, at most once an hour for each subject.';
create index operational_events_raised on operational_events (raised_at) where raised_at is not null;
