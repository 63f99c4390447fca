-- Endpoints, the outbox with its queue, the attempt log, and redeliveries.

create table webhook_endpoints (
  id integer generated always as identity primary key,
  publisher_id integer not null references publishers,
  event text not null check (event in ('usp.selection', 'offer_saved', 'offer_removed', 'conversion')),
  url text not null check (url ~ '^https?://' and char_length(url) <= 2000),
  method text not null check (method in ('POST', 'GET')),
  enabled boolean not null default true,
  disabled_reason text,
  secret_sealed bytea not null,
  previous_secret_sealed bytea,
  previous_secret_until timestamptz,
  signature_v1a boolean not null default false,
  v1a_key_sealed bytea,
  previous_v1a_key_sealed bytea,
  deadline_ms integer not null default 15000 check (deadline_ms between 1000 and 30000),
  retry_steps_s integer[] check (cardinality(retry_steps_s) between 1 and 20),
  paused_at timestamptz,
  resume_rate_per_s real check (resume_rate_per_s > 0),
  max_in_flight smallint not null default 4 check (max_in_flight between 1 and 100),
  rate_limit_per_s real check (rate_limit_per_s > 0),
  strict_order boolean not null default false,
  headers jsonb not null default '{}' check (jsonb_typeof(headers) = 'object'),
  is_listener boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,
  unique (publisher_id, event),
  constraint webhook_endpoints_v1a_key check (not signature_v1a or v1a_key_sealed is not null)
);
comment on table webhook_endpoints is 'Where the webhooks of a publisher''s event are sent.';
comment on column webhook_endpoints.previous_secret_sealed is 'Signs beside the new one until previous_secret_until.';
comment on column webhook_endpoints.signature_v1a is 'Sign with ed25519 beside the HMAC.';
comment on column webhook_endpoints.v1a_key_sealed is 'whsk_…, encrypted';
comment on column webhook_endpoints.previous_v1a_key_sealed is
  'Signs beside the new one until previous_secret_until.';
comment on column webhook_endpoints.retry_steps_s is 'Null: the default schedule.';
comment on column webhook_endpoints.paused_at is 'Deliveries of a paused endpoint stay queued; null: not paused.';
comment on column webhook_endpoints.resume_rate_per_s is 'Rate limit until the backlog of a pause is delivered.';
comment on column webhook_endpoints.rate_limit_per_s is 'Null: no limit.';
comment on column webhook_endpoints.strict_order is
  'One delivery at a time, in the order of creation; a retry delays those after it.';
comment on column webhook_endpoints.headers is 'Name → encrypted value, sent with each request.';
comment on column webhook_endpoints.is_listener is
  'No server is called: a command line that listens takes the deliveries and reports the answers.';
comment on column webhook_endpoints.deleted_at is
  'A removed endpoint takes no new deliveries; the row stays for those that name it.';

create table endpoint_health (
  endpoint_id integer primary key references webhook_endpoints on delete cascade,
  breaker_state text not null default 'closed' check (breaker_state in ('closed', 'open')),
  open_until timestamptz,
  times_opened smallint not null default 0,
  in_flight_limit smallint,
  timeouts_in_row smallint not null default 0,
  not_before timestamptz,
  last_success_at timestamptz,
  first_failure_at timestamptz,
  last_failure_at timestamptz,
  failures integer not null default 0,
  warned_at timestamptz,
  listened_at timestamptz
) with (fillfactor = 50);
-- A new endpoint, another URL, or an endpoint enabled again starts with the health of a new one.
create trigger create_endpoint_health after insert on webhook_endpoints
  for each row execute function reset_endpoint_health();
create trigger reset_endpoint_health after update of url, enabled on webhook_endpoints
  for each row when (old.url is distinct from new.url or (new.enabled and not old.enabled))
  execute function reset_endpoint_health();
comment on table endpoint_health is 'Circuit breaker and limits of each endpoint, shared by all workers.';
comment on column endpoint_health.open_until is 'No request before; then one at a time, as a probe.';
comment on column endpoint_health.times_opened is 'In a row; each doubles the wait.';
comment on column endpoint_health.in_flight_limit is
  'Set by a time-out, raised by successes up to max_in_flight; null: max_in_flight.';
comment on column endpoint_health.not_before is 'Strict order: when the next attempt of the first delivery is due.';
comment on column endpoint_health.last_success_at is 'To the minute.';
comment on column endpoint_health.first_failure_at is 'Since the last success; null: the last request succeeded.';
comment on column endpoint_health.failures is 'Since the last success.';
comment on column endpoint_health.listened_at is 'When a listener was last connected, to half a minute.';
comment on column endpoint_health.warned_at is 'When a warning was raised for 24 hours of failures; null: none.';

create table endpoint_activity (
  endpoint_id integer not null,
  bucket timestamptz not null,
  delivered integer not null default 0,
  failed integer not null default 0,
  total_ms bigint not null default 0,
  slowest_ms integer not null default 0,
  backlog integer not null default 0,
  primary key (endpoint_id, bucket)
);
comment on table endpoint_activity is 'Attempts of each endpoint in sums of a quarter of an hour, kept for seven days.';
comment on column endpoint_activity.total_ms is 'Of all attempts together.';
comment on column endpoint_activity.backlog is 'The most deliveries that waited.';

create unlogged table endpoint_test_buckets (
  publisher_id integer primary key references publishers on delete cascade,
  tokens double precision not null,
  at timestamptz not null
);
comment on table endpoint_test_buckets is
  'Token bucket of each publisher for tests of its endpoints. Unlogged: losing it in a crash is harmless.';
comment on column endpoint_test_buckets.tokens is 'Left after the last test.';
comment on column endpoint_test_buckets.at is 'Time of the last test.';

create table deliveries (
  day date not null,
  id uuid not null,
  publisher_id integer not null,
  endpoint_id integer not null,
  event text not null,
  session_id uuid,
  pub_user_id text,
  dev boolean not null default false,
  payload bytea not null,
  status text not null check (status in ('pending', 'delivered', 'failed', 'held')),
  attempts smallint not null default 0,
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  undelivered boolean generated always as (case when status in ('failed', 'held') then true end) stored,
  redelivered_at timestamptz,
  erased_at timestamptz,
  primary key (day, id)
) partition by range (day);
create index deliveries_endpoint on deliveries (endpoint_id, day, id);
create index deliveries_undelivered on deliveries (endpoint_id, day, id) where undelivered;
create index deliveries_session on deliveries (session_id, day, id) where session_id is not null;
create index deliveries_user on deliveries (publisher_id, pub_user_id, day, id) where pub_user_id is not null;
comment on table deliveries is 'Outbox: webhooks to send, written in the transaction of what they report.';
comment on column deliveries.id is 'UUIDv7; the webhook-id is "msg_" and its hex digits.';
comment on column deliveries.payload is 'The bytes that are signed and sent.';
comment on column deliveries.undelivered is
  'Finds failed and held deliveries. It changes only when a delivery gets into one of these states or out of it, so the
usual update (pending to delivered) stays heap-only; an index on the status itself would end that.';
comment on column deliveries.redelivered_at is 'When it was last queued again.';
comment on column deliveries.erased_at is 'When the payload and its user were erased.';

create table delivery_queue (
  delivery_id uuid primary key,
  day date not null,
  endpoint_id integer not null,
  lane text collate "C" not null default 'live' check (lane in ('live', 'redelivery')),
  position bigint generated always as identity,
  due_at timestamptz not null,
  attempts smallint not null default 0,
  generation integer not null default 0,
  lease_until timestamptz,
  worker_id integer
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
-- Claims walk the queue endpoint by endpoint, so that the backlog of one costs the others nothing. The columns a claim
-- changes are in no index: its update is heap-only.
create index delivery_queue_next on delivery_queue (lane, endpoint_id, due_at);
comment on table delivery_queue is 'Pending deliveries: the small hot table from which workers claim.';
comment on column delivery_queue.lane is 'Redeliveries have a lane of their own, behind live deliveries.';
comment on column delivery_queue.position is
  'Order of creation among deliveries of the same millisecond, for strict order.';
comment on column delivery_queue.generation is
  'Grows with every claim, and every later write names it. A redelivery continues from that of the last attempt.';
comment on column delivery_queue.lease_until is 'Null: free.';
comment on column delivery_queue.worker_id is 'Holder of the lease.';

create table dispatcher_workers (
  id integer primary key,
  started_at timestamptz not null default now(),
  stopping boolean not null default false
);
comment on table dispatcher_workers is
  'Workers that may hold leases. Each holds an advisory lock on its id while it lives; a row without the lock is a dead
worker, whose leases are freed by others.';
comment on column dispatcher_workers.stopping is
  'A stopping worker claims nothing more: its share of the endpoints passes to the others at once.';

create table delivery_attempts (
  day date not null,
  delivery_id uuid not null,
  generation integer not null,
  publisher_id integer not null,
  endpoint_id integer not null,
  started_at timestamptz not null default now(),
  finished_at timestamptz,
  outcome text,
  status_code smallint,
  error_class text,
  error_message text,
  total_ms integer,
  timing jsonb,
  remote_address text,
  request jsonb,
  response_headers jsonb,
  response_body bytea,
  response_truncated boolean,
  next_attempt_at timestamptz,
  primary key (day, delivery_id, generation)
) partition by range (day);
comment on table delivery_attempts is 'Attempt log: every request that was made for a delivery.';
comment on column delivery_attempts.day is 'Of the delivery.';
comment on column delivery_attempts.finished_at is 'Null: in flight, or the worker died.';
comment on column delivery_attempts.outcome is 'delivered, retry, failed, endpoint_disabled';
comment on column delivery_attempts.request is
  '{ method, url, headers } as sent, without the values of the endpoint''s own headers.';
comment on column delivery_attempts.response_truncated is 'The response was longer than what is stored.';

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
  'Deliveries of each publisher and day by state, counted as they change, so that the reconciliation of a day with a
million deliveries is read at once. Complete together with delivery_count_changes.';

create table delivery_count_changes (
  publisher_ids integer[] not null,
  days date[] not null,
  created integer[] not null,
  delivered integer[] not null,
  failed integer[] not null,
  held integer[] not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
comment on table delivery_count_changes is
  'What one statement changed of the counts, written in its transaction: rows are only added, so that writers never wait
for each other. Moved into delivery_counts once a second.';

create table redelivery_jobs (
  id uuid primary key,
  publisher_id integer not null,
  filter jsonb not null,
  newest uuid not null,
  cursor uuid,
  status text not null default 'running' check (status in ('running', 'done', 'cancelled')),
  total integer not null,
  queued integer not null default 0,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  finished_at timestamptz
);
create index redelivery_jobs_publisher on redelivery_jobs (publisher_id, id);
create index redelivery_jobs_running on redelivery_jobs (id) where status = 'running';
comment on table redelivery_jobs is
  'Redeliveries of many deliveries. Workers do them in slices, oldest first.';
comment on column redelivery_jobs.id is 'UUIDv7';
comment on column redelivery_jobs.newest is 'Deliveries created later are not part of it.';
comment on column redelivery_jobs.cursor is 'The newest delivery processed.';
comment on column redelivery_jobs.total is 'Matching deliveries when the job was created.';
comment on column redelivery_jobs.queued is 'Deliveries queued again so far.';
