-- Reports: sums kept beside the raw rows, folded from them by whoever holds the fold's lock.

-- Which transaction wrote a row: what one snapshot sees and an earlier one did not is new, and nothing is missed or taken
-- twice. Rows from before carry 0 and are taken by the first fold.
alter table sessions add column written_by xid8 not null default '0';
alter table sessions alter column written_by set default pg_current_xact_id();
create index sessions_written_by on sessions (written_by);

alter table events
  add column revenue_micros bigint, -- what it earned, in millionths, fixed when it happened; null: nothing
  add column written_by xid8 not null default '0';
alter table events alter column written_by set default pg_current_xact_id();
create index events_written_by on events (written_by) where suspicious is null;

-- Conversions and what they earned: append-only; a void is a row of its own with the signs turned round.
create table bookings (
  day date not null, -- of the session
  session_id uuid not null,
  id uuid not null, -- names the booking: booked again, it counts once
  publisher_id integer not null,
  offer_id integer not null,
  campaign_id integer not null,
  at timestamptz not null,
  conversions smallint not null check (conversions between -1 and 1),
  revenue_micros bigint not null,
  written_by xid8 not null default pg_current_xact_id(),
  primary key (day, session_id, id)
) partition by range (day);
create index bookings_written_by on bookings (written_by);

-- How far the sums have come: all of the transactions before `upto` but the `unfinished`.
create table rollup_progress (
  singleton boolean primary key default true check (singleton),
  upto xid8 not null default '0',
  unfinished xid8[] not null default '{}',
  folded_at timestamptz not null default '-infinity'
);
insert into rollup_progress default values;

-- Sums. `grain` says which dimensions a row has (1 placement, 2 offer, 4 country, 8 device and os; the others are '' or 0)
-- and how long its bucket is: 16 is a day of the publisher's time zone, without it a quarter of an hour. Every offset of
-- a time zone is a multiple of it, so quarters add up to the days and hours of all of them.
create table rollups (
  publisher_id integer not null,
  grain smallint not null,
  bucket timestamptz not null, -- its start
  placement text collate "C" not null,
  offer_id integer not null,
  country text collate "C" not null,
  device text collate "C" not null,
  os text collate "C" not null,
  campaign_id integer not null, -- of the offer
  sessions bigint not null, -- with an offer: those that showed it
  filled_sessions bigint not null,
  impressions bigint not null,
  clicks bigint not null,
  no_thanks bigint not null,
  closes bigint not null,
  saves bigint not null,
  selections bigint not null,
  conversions bigint not null,
  revenue_micros bigint not null,
  primary key (publisher_id, grain, bucket, placement, offer_id, country, device, os)
) partition by range (bucket);

-- The same by one of the publisher's own keys.
create table custom_rollups (
  publisher_id integer not null,
  key text collate "C" not null,
  bucket timestamptz not null, -- start of a quarter of an hour
  value text collate "C" not null,
  sessions bigint not null,
  filled_sessions bigint not null,
  impressions bigint not null,
  clicks bigint not null,
  no_thanks bigint not null,
  closes bigint not null,
  saves bigint not null,
  selections bigint not null,
  conversions bigint not null,
  revenue_micros bigint not null,
  primary key (publisher_id, key, bucket, value)
) partition by range (bucket);

-- The values that have rows of their own, by UTC day; all others are counted under `other`.
create table custom_values (
  day date not null,
  publisher_id integer not null,
  key text collate "C" not null,
  value text collate "C" not null,
  primary key (day, publisher_id, key, value)
) partition by range (day);

-- The last hours by the minute, for those who watch.
create table minute_rollups (
  publisher_id integer not null,
  minute timestamptz not null,
  sessions bigint not null,
  filled_sessions bigint not null,
  impressions bigint not null,
  clicks bigint not null,
  no_thanks bigint not null,
  closes bigint not null,
  saves bigint not null,
  selections bigint not null,
  conversions bigint not null,
  revenue_micros bigint not null,
  primary key (publisher_id, minute)
) with (fillfactor = 70);

-- The zone, where this server knows it; else UTC.
create function usable_time_zone(zone text) returns text language plpgsql stable as $$
begin
  perform now() at time zone zone;
  return zone;
exception when invalid_parameter_value then
  return 'UTC';
end $$;

-- Creates what is missing for the days [from_day, to_day]: partitions of a day, and of a month for the sums.
create function create_report_partitions(from_day date, to_day date) returns void language plpgsql as $$
declare
  parent text;
  d date;
begin
  perform pg_advisory_xact_lock(hashtext('perkwire_partitions'));
  foreach parent in array array['bookings', 'custom_values'] loop
    for d in select generate_series(from_day, to_day, interval '1 day')::date loop
      if to_regclass(parent || '_p' || to_char(d, 'YYYYMMDD')) is null then
        execute format('create table %I partition of %I for values from (%L) to (%L)', parent || '_p' || to_char(d, 'YYYYMMDD'), parent, d, d + 1);
      end if;
    end loop;
  end loop;
  foreach parent in array array['rollups', 'custom_rollups'] loop
    for d in select generate_series(date_trunc('month', from_day), to_day, interval '1 month')::date loop
      if to_regclass(parent || '_p' || to_char(d, 'YYYYMMDD')) is null then
        execute format('create table %I partition of %I for values from (%L) to (%L) with (fillfactor = 80)', parent || '_p' || to_char(d, 'YYYYMMDD'), parent,
          d::timestamp at time zone 'UTC', (d + interval '1 month') at time zone 'UTC');
      end if;
    end loop;
  end loop;
end $$;

select create_report_partitions(min(day) - 1, current_date) from sessions having min(day) is not null;
