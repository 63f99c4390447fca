-- Reports: bookings, rollups of sessions, events and bookings, and saved reports. Money is in millionths (micros).

-- Sum as a bigint; fails beyond 2^63. sum() of bigints is a numeric, which is ten times as expensive to add and write.
create aggregate sum_exact(bigint)
  (sfunc = int8pl, stype = bigint, combinefunc = int8pl, initcond = '0', parallel = safe);

-- Returns the time zone if this server knows it, else UTC.
create function time_zone_or_utc(zone text) returns text language plpgsql stable as $$
begin
  perform now() at time zone zone;
  return zone;
exception when invalid_parameter_value then
  return 'UTC';
end $$;

create table bookings (
  -- Day of the session.
  day date not null,
  session_id uuid not null,
  -- Deduplicates: a booking with an existing id is ignored.
  id uuid not null,
  publisher_id integer not null,
  offer_id integer not null,
  campaign_id integer not null,
  at timestamptz not null,
  conversions smallint not null check (conversions between -1 and 1),
  revenue_micros bigint not null,
  -- As in sessions.
  written_by xid8 not null default pg_current_xact_id(),
  -- As in conversions.
  unbilled_micros bigint not null default 0,
  primary key (day, session_id, id)
) partition by range (day);
comment on table bookings is
  'Conversions and their revenue, as reports count them. Append-only: a void is another row with negative amounts.';
-- A B-tree, unlike the index of sessions and events: conversions come late to the day of their session, and are few.
create index bookings_written_by on bookings (xid8send(written_by));

create table rollup_progress (
  singleton boolean primary key default true check (singleton),
  until_xid xid8 not null default '0',
  open_xids xid8[] not null default '{}',
  rolled_up_at timestamptz not null default '-infinity'
);
comment on table rollup_progress is
  'Rows that are rolled up: those of all transactions before `until_xid` except the `open_xids`. One row.';
insert into rollup_progress default values;

create table rollup_publishers (
  publisher_id integer primary key,
  -- Time zone of the hours and days of the buckets.
  time_zone text not null,
  -- Time zone to which the rollups are being re-bucketed. Sessions from (rebucketed_from_day, rebucketed_from_session)
  -- on are done.
  next_time_zone text,
  rebucketed_from_day date,
  rebucketed_from_session uuid,
  -- UTC days up to this one are stored in the order in which reports read them.
  compacted_until date not null,
  check (
    (next_time_zone is null) = (rebucketed_from_day is null)
    and (next_time_zone is null) = (rebucketed_from_session is null)
  )
);
comment on table rollup_publishers is 'State of the rollups of each publisher.';

create table rollups (
  publisher_id integer not null,
  -- Bits of the dimensions that the row has: 1 placement, 2 offer, 4 country, 8 device and os. Others are '' or 0.
  -- 16: the bucket is a day of the publisher's time zone; 32: a week; neither: an hour.
  grain smallint not null,
  -- Start of the bucket. Weeks begin on day 1, 8, 15, 22 or 29 of a month in UTC, and have the days that begin in them.
  bucket timestamptz not null,
  placement text collate "C" not null,
  offer_id integer not null,
  country text collate "C" not null,
  device text collate "C" not null,
  os text collate "C" not null,
  -- Campaign of the offer.
  campaign_id integer not null,
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
  unbilled_micros bigint not null default 0,
  own_events bigint not null default 0,
  primary key (publisher_id, grain, bucket, placement, offer_id, country, device, os)
) partition by range (bucket);
comment on table rollups is
  'Counts and revenue by hour, day and week, in partitions of a month. Rows with an offer count the sessions that
showed it.';
-- For filters without a placement, with which the primary key begins.
create index rollups_filters on rollups (publisher_id, grain, device, country, offer_id, bucket);

create table custom_rollups (
  publisher_id integer not null,
  key text collate "C" not null,
  -- 0: the bucket is an hour; 16: a day of the publisher's time zone.
  grain smallint not null,
  -- Start of the bucket.
  bucket timestamptz not null,
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
  unbilled_micros bigint not null default 0,
  own_events bigint not null default 0,
  primary key (publisher_id, key, grain, bucket, value)
) partition by range (bucket);
comment on table custom_rollups is 'Counts and revenue by one of the publisher''s custom attributes.';

create table custom_values (
  day date not null,
  publisher_id integer not null,
  key text collate "C" not null,
  value text collate "C" not null,
  primary key (day, publisher_id, key, value)
) partition by range (day);
comment on table custom_values is
  'Values that have rows in custom_rollups, by UTC day. All other values are counted as "other".';

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
  unbilled_micros bigint not null default 0,
  own_events bigint not null default 0,
  primary key (publisher_id, minute)
) with (fillfactor = 70);
comment on table minute_rollups is 'Counts and revenue of the last hours by minute, for the live page.';

create table reconciliation (
  -- UTC day of the session.
  day date not null,
  publisher_id integer not null,
  -- filled, empty: sessions; served: offers of sessions; otherwise the kind of event.
  kind text collate "C" not null,
  -- Why reports exclude it (dev, or why it is suspicious), why a session is empty, or ''.
  reason text collate "C" not null,
  count bigint not null,
  primary key (day, publisher_id, kind, reason)
) with (fillfactor = 70);
comment on table reconciliation is
  'Counts of sessions and events by outcome. Everything that was received is in exactly one row.';

-- Creates the missing partitions of [from_day, to_day] of the report tables: by day, and by month for the rollups.
create function create_report_partitions(from_day date, to_day date) returns void language plpgsql as $$
declare
  parent text;
  d date;
begin
  perform pg_advisory_xact_lock(hashtext('perkwire_partitions'));
  foreach parent in array array['bookings', 'custom_values'] loop
    for d in select generate_series(from_day, to_day, interval '1 day')::date loop
      perform create_partition(parent, d, d::text, (d + 1)::text);
    end loop;
  end loop;
  foreach parent in array array['rollups', 'custom_rollups'] loop
    for d in select generate_series(date_trunc('month', from_day), to_day, interval '1 month')::date loop
      perform create_partition(parent, d, (d::timestamp at time zone 'UTC')::text,
        ((d + interval '1 month') at time zone 'UTC')::text, 'with (fillfactor = 80)');
    end loop;
  end loop;
end $$;

-- Renumbers rows after a dump was restored into another cluster, where transaction numbers begin again. Rows that are
-- not rolled up yet get the number of this transaction, the others a number before all. Own outcomes are renumbered
-- too: audiences and experiments find them by their transactions. Returns false, without changes, if the numbers fit.
create function continue_restored_rollups() returns boolean language plpgsql as $$
declare
  done record;
  source text;
begin
  select until_xid, open_xids into done from rollup_progress for update;
  if done.until_xid <= pg_snapshot_xmax(pg_current_snapshot()) then
    return false;
  end if;
  foreach source in array array['sessions', 'events', 'bookings'] loop
    execute format('update %I set written_by = case
        when written_by >= $1 or written_by = any($2) then pg_current_xact_id() else ''0'' end
      where written_by >= pg_snapshot_xmax(pg_current_snapshot()) or written_by = any($2)', source)
      using done.until_xid, done.open_xids;
  end loop;
  update own_outcomes set written_by = '0' where written_by >= pg_snapshot_xmax(pg_current_snapshot());
  update rollup_progress set until_xid = pg_current_xact_id(), open_xids = '{}';
  return true;
end $$;

create table saved_reports (
  id integer generated always as identity primary key,
  publisher_id integer not null references publishers,
  -- User who saved the report; null: that user was removed.
  user_id integer references users on delete set null,
  name text not null check (char_length(name) between 1 and 80),
  -- Query string of its URL.
  query text not null check (char_length(query) <= 8000),
  created_at timestamptz not null,
  unique (publisher_id, name)
);
comment on table saved_reports is 'Saved reports of the explorer, for all users of the publisher.';

create table report_schedules (
  id integer generated always as identity primary key,
  publisher_id integer not null references publishers,
  report_id integer not null references saved_reports on delete cascade,
  -- User who gets a mail; null: a channel gets a message.
  user_id integer references users on delete cascade,
  channel_id integer references alert_rules on delete cascade,
  period text not null check (period in ('day', 'week', 'month')),
  -- Hour in the time zone of the publisher: daily, on Mondays, or on the first day of a month.
  hour smallint not null check (hour between 0 and 23),
  -- Time of the next message, or of the one that is being sent.
  due_at timestamptz not null,
  attempts smallint not null default 0,
  -- Also the end of a lease.
  next_attempt_at timestamptz not null,
  sent_at timestamptz,
  -- Why the last attempt failed.
  error text,
  created_at timestamptz not null,
  check ((user_id is null) <> (channel_id is null))
);
comment on table report_schedules is 'Saved reports that are sent regularly, one row for each recipient.';
create unique index report_schedules_recipient on report_schedules
  (report_id, coalesce(user_id, 0), coalesce(channel_id, 0));
create index report_schedules_due on report_schedules (next_attempt_at);
create index report_schedules_publisher on report_schedules (publisher_id);
