-- Rollups of sessions, events and bookings, and how far they have come.

create table rollup_progress (
  singleton boolean primary key default true check (singleton),
  until_xid xid8 not null default '0',
  open_xids xid8[] not null default '{}',
  rolled_up_at timestamptz not null default '-infinity'
);
insert into rollup_progress default values;
comment on table rollup_progress is
  'Rows rolled up so far: those of all transactions before `until_xid` but the `open_xids`.';

create table rollup_publishers (
  publisher_id integer primary key,
  time_zone text not null,
  next_time_zone text,
  rebucketed_from_day date,
  rebucketed_from_session uuid,
  compacted_until date not null,
  check (
    (next_time_zone is null) = (rebucketed_from_day is null)
    and (next_time_zone is null) = (rebucketed_from_session is null)
  )
);
comment on table rollup_publishers is 'State of each publisher''s rollups.';
comment on column rollup_publishers.time_zone is 'Whose hours and days the buckets are.';
comment on column rollup_publishers.next_time_zone is
  'Time zone the rollups are re-bucketed to: sessions from (rebucketed_from_day, rebucketed_from_session) on are done.';
comment on column rollup_publishers.compacted_until is
  'UTC days up to this one are stored in the order in which reports read them.';

create table rollups (
  publisher_id integer not null,
  grain smallint not null,
  bucket timestamptz not null,
  placement text collate "C" not null,
  offer_id integer not null,
  country text collate "C" not null,
  device text collate "C" not null,
  os text collate "C" not null,
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
  primary key (publisher_id, grain, bucket, placement, offer_id, country, device, os)
) partition by range (bucket);
-- For filters that the primary key, which begins with the placement, does not support.
create index rollups_filters on rollups (publisher_id, grain, device, country, offer_id, bucket);
comment on table rollups is 'Counts and revenue by hour and day, in partitions of a month.';
comment on column rollups.grain is
  'Bits of the dimensions a row has (1 placement, 2 offer, 4 country, 8 device and os; the others are '''' or 0), and 16
for a bucket of a day, without which it is an hour, of the publisher''s time zone.';
comment on column rollups.bucket is 'Its start.';
comment on column rollups.campaign_id is 'Of the offer.';
comment on column rollups.sessions is 'In rows with an offer: those that showed it.';

create table custom_rollups (
  publisher_id integer not null,
  key text collate "C" not null,
  grain smallint not null,
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
  primary key (publisher_id, key, grain, bucket, value)
) partition by range (bucket);
comment on table custom_rollups is 'Counts and revenue by one of the publisher''s custom attributes.';
comment on column custom_rollups.grain is '0: the bucket is an hour, 16: a day of the publisher''s time zone.';
comment on column custom_rollups.bucket is 'Its start.';

create table custom_values (
  day date not null,
  publisher_id integer not null,
  key text collate "C" not null,
  value text collate "C" not null,
  primary key (day, publisher_id, key, value)
) partition by range (day);
comment on table custom_values is
  'Values with rows of their own in custom_rollups, by UTC day; all others are counted as "other".';

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
comment on table minute_rollups is 'Counts and revenue of the last hours by the minute, for the live view.';

create table reconciliation (
  day date not null,
  publisher_id integer not null,
  kind text collate "C" not null,
  reason text collate "C" not null,
  count bigint not null,
  primary key (day, publisher_id, kind, reason)
) with (fillfactor = 70);
comment on table reconciliation is
  'Counts of sessions and events by outcome; everything received is in exactly one of them.';
comment on column reconciliation.day is 'UTC day of the session.';
comment on column reconciliation.kind is
  'filled, empty: sessions; served: offers of sessions; else the kind of event.';
comment on column reconciliation.reason is
  'Why it is excluded from reports (dev, or why it is suspicious), why a session is empty, or ''''.';

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
  update rollup_progress set until_xid = pg_current_xact_id(), open_xids = '{}';
  return true;
end $$;
comment on function continue_restored_rollups is
  'Transaction numbers begin anew in the cluster that a dump is restored into. Gives rows that are not rolled up yet the
number of this transaction and the others one before all; does nothing where the numbers fit. Returns whether it did.';
