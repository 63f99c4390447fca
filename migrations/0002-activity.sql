-- Activity: partitioned by day, so that retention is a drop. Sessions and events carry the day of the *session*,
-- which the token knows: one key dedupes exactly, also across midnight.

create table sessions (
  day date not null,
  id uuid not null, -- UUIDv7
  publisher_id integer not null,
  placement text not null,
  theme_id integer,
  user_key uuid, -- keyed hash of ad_fp, else pub_user_id
  pub_user_id text,
  country text,
  offer_ids integer[] not null, -- in the order shown
  campaign_ids integer[] not null,
  custom jsonb, -- the publisher's own keys
  macros jsonb, -- values the copy shown was filled with
  dev boolean not null,
  usp boolean not null, -- User Selected Perks was on for this answer
  usp_check_all boolean not null,
  created_at timestamptz not null,
  primary key (day, id)
) partition by range (day);

create table events (
  day date not null,
  session_id uuid not null,
  offer_id integer not null,
  kind text not null, -- impression, click, no_thanks, close
  publisher_id integer not null,
  campaign_id integer not null,
  position smallint not null,
  at timestamptz not null,
  suspicious text, -- why it is left out of counts, caps and money; null when it counts
  primary key (day, session_id, offer_id, kind)
) partition by range (day);

create table user_history (
  user_key uuid primary key,
  publisher_id integer not null,
  opt_outs jsonb not null default '{}', -- campaign id → end in epoch seconds, or null for good
  updated_at timestamptz not null
);

create table usp_sessions (
  day date not null,
  session_id uuid not null,
  publisher_id integer not null,
  selected integer[] not null,
  wrapped_at timestamptz, -- null: open
  primary key (day, session_id)
) partition by range (day);

-- Outbox. deliveries: what was promised, with its fate. delivery_queue: the small hot table the workers claim from.
create table deliveries (
  day date not null,
  id uuid not null, -- UUIDv7; webhook-id is "msg_" and its hex digits
  publisher_id integer not null,
  endpoint_id integer not null,
  event text not null,
  session_id uuid,
  pub_user_id text,
  dev boolean not null default false,
  payload bytea not null, -- bytes signed = bytes stored = bytes sent
  status text not null check (status in ('pending', 'delivered', 'failed', 'held')),
  tries smallint not null default 0,
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  primary key (day, id)
) partition by range (day);

create table delivery_queue (
  delivery_id uuid primary key,
  day date not null,
  endpoint_id integer not null,
  due_at timestamptz not null,
  tries smallint not null default 0,
  generation integer not null default 0, -- grows with every claim; every later write names it
  lease_until timestamptz, -- null: free
  worker_id integer -- holder of the lease; proves it is alive by an advisory lock
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
create index delivery_queue_due on delivery_queue (due_at);

create table delivery_attempts (
  day date not null, -- of the delivery
  delivery_id uuid not null,
  generation integer not null,
  publisher_id integer not null,
  endpoint_id integer not null,
  started_at timestamptz not null default now(),
  finished_at timestamptz, -- null: in flight, or the worker died
  outcome text, -- delivered, retry, failed, endpoint_disabled
  status_code smallint,
  error_class text,
  error_message text,
  total_ms integer,
  timing jsonb,
  remote_address text,
  response_headers jsonb,
  response_body bytea,
  next_try_at timestamptz,
  primary key (day, delivery_id, generation)
) partition by range (day);

-- Creates the partitions of [from_day, to_day] that are missing.
create function create_day_partitions(from_day date, to_day date) returns void language plpgsql as $$
declare
  parent text;
  d date;
begin
  perform pg_advisory_xact_lock(hashtext('perkwire_partitions'));
  foreach parent in array array['sessions', 'events', 'usp_sessions', 'deliveries', 'delivery_attempts'] loop
    d := from_day;
    while d <= to_day loop
      if to_regclass(parent || '_p' || to_char(d, 'YYYYMMDD')) is null then -- the parent is locked only when there is something to do
        execute format('create table %I partition of %I for values from (%L) to (%L)',
          parent || '_p' || to_char(d, 'YYYYMMDD'), parent, d, d + 1);
      end if;
      d := d + 1;
    end loop;
  end loop;
end $$;

-- Drops the partitions of `parent` whose day is before `keep_from`; answers how many.
create function drop_day_partitions(parent text, keep_from date) returns integer language plpgsql as $$
declare
  child text;
  dropped integer := 0;
begin
  perform pg_advisory_xact_lock(hashtext('perkwire_partitions'));
  for child in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = parent::regclass and c.relname < parent || '_p' || to_char(keep_from, 'YYYYMMDD')
  loop
    execute format('drop table %I', child);
    dropped := dropped + 1;
  end loop;
  return dropped;
end $$;
