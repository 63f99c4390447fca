-- What the dispatcher needs to keep endpoints from harming one another.

-- Replays run in a lane of their own, behind live deliveries. Whoever queues a delivery again continues its generation
-- from the last attempt's: (day, delivery_id, generation) is an attempt's key.
alter table delivery_queue add column lane text collate "C" not null default 'live' check (lane in ('live', 'replay'));
drop index delivery_queue_endpoint;
create index delivery_queue_next on delivery_queue (lane, endpoint_id, due_at);

alter table webhook_endpoints drop constraint webhook_endpoints_event_check;
alter table webhook_endpoints
  add constraint webhook_endpoints_event_check check (event in ('usp.selection', 'offer_saved', 'offer_removed', 'conversion')),
  add column paused_at timestamptz, -- null: not paused; deliveries of a paused endpoint stay queued
  add column resume_rate_per_s real check (resume_rate_per_s > 0), -- until the backlog of a pause is gone
  add column max_in_flight smallint not null default 4 check (max_in_flight between 1 and 100),
  add column rate_limit_per_s real check (rate_limit_per_s > 0), -- null: no limit
  add column strict_order boolean not null default false, -- one at a time, in the order of creation; a retry holds up the rest
  add column headers jsonb not null default '{}' check (jsonb_typeof(headers) = 'object'), -- name → value, sent with each call
  add column signature_v1a boolean not null default false, -- ed25519 beside the HMAC
  add column v1a_key_sealed bytea, -- whsk_…
  add column previous_v1a_key_sealed bytea, -- signs beside the new one until previous_secret_until
  add constraint webhook_endpoints_v1a_key check (not signature_v1a or v1a_key_sealed is not null);

-- How an endpoint fares, shared by all workers and kept over restarts. No row: nothing is known yet.
create table endpoint_health (
  endpoint_id integer primary key references webhook_endpoints on delete cascade,
  breaker_state text not null default 'closed' check (breaker_state in ('closed', 'open')),
  open_until timestamptz, -- open: no call before; then one at a time, as a probe
  times_opened smallint not null default 0, -- in a row; doubles the wait
  in_flight_limit smallint, -- after a time-out, until successes have raised it to max_in_flight; null: max_in_flight
  timeouts_in_row smallint not null default 0,
  not_before timestamptz, -- strict order: when the next try of the first delivery is due
  last_success_at timestamptz, -- to the minute
  first_failure_at timestamptz, -- since the last success; null: the last call succeeded
  last_failure_at timestamptz,
  failures integer not null default 0, -- since the last success
  warned_at timestamptz -- failing for 24 h; null: no warning
) with (fillfactor = 50);

-- Another URL, or an endpoint enabled again, starts afresh.
create function forget_endpoint_health() returns trigger language plpgsql as $$
begin
  delete from endpoint_health where endpoint_id = new.id;
  return null;
end $$;
create trigger forget_endpoint_health after update of url, enabled on webhook_endpoints
  for each row when (old.url is distinct from new.url or (new.enabled and not old.enabled))
  execute function forget_endpoint_health();

-- A stopping worker claims nothing more: its share of the endpoints goes to the others at once.
alter table dispatcher_workers add column stopping boolean not null default false;
