-- Destinations of endpoints other than HTTP, and endpoints whose events are pulled.

alter table webhook_endpoints drop constraint webhook_endpoints_url_check;
alter table webhook_endpoints add constraint webhook_endpoints_url_check
  check (url ~ '^(https?|nats|sqs|eventbridge|s3|pull)://' and char_length(url) <= 2000);

-- Destinations have the flag is_listener, so that workers of the previous release do not call them. Those workers
-- remove listeners that were not connected for a while, so destinations are always connected.
create or replace function reset_endpoint_health() returns trigger language plpgsql as $$
begin
  delete from endpoint_health where endpoint_id = new.id;
  insert into endpoint_health (endpoint_id, listened_at)
  values (new.id, case when new.url !~ '^https?:' then timestamptz 'infinity' end);
  return null;
end $$;

create table pull_cursors (
  endpoint_id integer primary key references webhook_endpoints on delete cascade,
  -- Position of the last event that was handed out.
  position bigint not null default 0,
  -- Position up to which events were acknowledged.
  acknowledged bigint not null default 0,
  acknowledged_at timestamptz
);
comment on table pull_cursors is 'Positions of consumers that pull events. Its row lock serializes their calls.';

-- Position of an event that was handed out to a consumer but not acknowledged; null: not handed out. It is assigned
-- when the event is read, so that an event of a slow transaction gets a later position and is never skipped.
alter table delivery_queue add column pull_position bigint;
-- No claim changes its column: the updates of claims stay heap-only.
create index delivery_queue_pulled on delivery_queue (endpoint_id, pull_position) where pull_position is not null;

-- Keys that only pull events.
alter table api_keys drop constraint api_keys_permissions_check;
alter table api_keys add constraint api_keys_permissions_check check (
  permissions <@ array[
    'ads/offers', 'reports', 'configurations', 'offers/management', 'offers/approval', 'wallet', 'events', 'accounts'
  ]
);
