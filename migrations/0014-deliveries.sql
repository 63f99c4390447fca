-- The delivery log, replays, and endpoints that were removed.

alter table webhook_endpoints add column deleted_at timestamptz; -- removed: takes nothing more; the row stays for the deliveries that name it

-- in_trouble makes failed and held deliveries quick to find. It changes only where one gets into trouble or out of it, so that
-- the usual way (pending, delivered) stays a heap-only update; an index on the status itself would end that.
alter table deliveries
  add column in_trouble boolean generated always as (case when status in ('failed', 'held') then true end) stored,
  add column replayed_at timestamptz, -- the last time it was queued again
  add column erased_at timestamptz; -- the payload and who it spoke of are gone

create index deliveries_endpoint on deliveries (endpoint_id, day, id);
create index deliveries_in_trouble on deliveries (endpoint_id, day, id) where in_trouble;
create index deliveries_session on deliveries (session_id, day, id) where session_id is not null;
create index deliveries_user on deliveries (publisher_id, pub_user_id, day, id) where pub_user_id is not null;

alter table delivery_attempts
  add column request jsonb, -- { method, url, headers } as sent; values of the endpoint's own headers are left out
  add column response_truncated boolean; -- the answer was longer than what is kept

-- Replays of many deliveries, worked off by the workers slice by slice, oldest first.
create table replay_jobs (
  id uuid primary key, -- UUIDv7
  publisher_id integer not null,
  filter jsonb not null,
  newest uuid not null, -- deliveries promised later are not part of it
  cursor uuid, -- the newest delivery looked at
  status text not null default 'running' check (status in ('running', 'done', 'cancelled')),
  total integer not null, -- that matched when it was made
  queued integer not null default 0, -- queued again so far
  created_at timestamptz not null,
  updated_at timestamptz not null,
  finished_at timestamptz
);
create index replay_jobs_publisher on replay_jobs (publisher_id, id);
create index replay_jobs_running on replay_jobs (id) where status = 'running';
