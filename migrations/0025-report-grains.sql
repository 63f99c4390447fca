-- Reports: sums by the hour instead of the quarter, and indexes that lead to any filter.

/* The sum of bigints is a numeric, which costs ten times as much as this to add up and to write. Fails beyond 2^63. */
create aggregate sum_exact(bigint) (sfunc = int8pl, stype = bigint, combinefunc = int8pl, initcond = '0', parallel = safe);

select pg_advisory_xact_lock(hashtext('perkwire_rollups')); -- no fold meanwhile

-- `grain` without 16 is now an hour of the publisher's time zone, and 0 has no dimension at all.
create temporary table zones on commit drop as select id as publisher_id, usable_time_zone(time_zone) as zone from publishers;

create temporary table hours on commit drop as
select publisher_id, case when pass = 0 then grain else 0::smallint end as grain, date_trunc('hour', bucket, coalesce(zone, 'UTC')) as bucket,
  case when pass = 0 then placement else '' end as placement, case when pass = 0 then offer_id else 0 end as offer_id,
  case when pass = 0 then country else '' end as country, case when pass = 0 then device else '' end as device,
  case when pass = 0 then os else '' end as os, case when pass = 0 then max(campaign_id) else 0 end as campaign_id,
  sum_exact(sessions) as sessions, sum_exact(filled_sessions) as filled_sessions, sum_exact(impressions) as impressions, sum_exact(clicks) as clicks,
  sum_exact(no_thanks) as no_thanks, sum_exact(closes) as closes, sum_exact(saves) as saves, sum_exact(selections) as selections,
  sum_exact(conversions) as conversions, sum_exact(revenue_micros) as revenue_micros
from rollups left join zones using (publisher_id) cross join (values (0), (1)) as passes (pass)
where grain < 16 and (pass = 0 or grain = 8) -- what has no dimension is the sum over the devices
group by pass, 1, 2, 3, 4, 5, 6, 7, 8;

select create_report_partitions((min(bucket) at time zone 'UTC')::date - 1, current_date) from hours having min(bucket) is not null;
delete from rollups where grain < 16;
insert into rollups select * from hours;

-- How the sums of each publisher are kept.
create table rollup_publishers (
  publisher_id integer primary key,
  time_zone text not null, -- whose hours and days they are of
  next_zone text, -- that they are moving to: those of sessions from (moved_day, moved_session) on have moved
  moved_day date,
  moved_session uuid,
  tidied_upto date not null, -- UTC days up to this one lie in the order in which reports read them
  check ((next_zone is null) = (moved_day is null) and (next_zone is null) = (moved_session is null))
);
insert into rollup_publishers (publisher_id, time_zone, tidied_upto)
select publisher_id, coalesce(time_zone, 'UTC'), (min(bucket) at time zone 'UTC')::date - 1 from hours left join publishers on id = publisher_id group by 1, 2;

-- For filters that the primary key, which begins with the placement, does not lead to.
create index rollups_filters on rollups (publisher_id, grain, device, country, offer_id, bucket);

-- By own keys: `grain` 0 is an hour, 16 a day of the publisher's time zone.
alter table custom_rollups add column grain smallint not null default 0;
alter table custom_rollups drop constraint custom_rollups_pkey;

create temporary table key_hours on commit drop as
select publisher_id, key, date_trunc(unit, bucket, coalesce(zone, 'UTC')) as bucket, value,
  sum_exact(sessions) as sessions, sum_exact(filled_sessions) as filled_sessions, sum_exact(impressions) as impressions, sum_exact(clicks) as clicks,
  sum_exact(no_thanks) as no_thanks, sum_exact(closes) as closes, sum_exact(saves) as saves, sum_exact(selections) as selections,
  sum_exact(conversions) as conversions, sum_exact(revenue_micros) as revenue_micros, units.grain
from custom_rollups left join zones using (publisher_id) cross join (values ('hour', 0::smallint), ('day', 16::smallint)) as units (unit, grain)
group by 1, 2, 3, 4, units.grain;

delete from custom_rollups;
insert into custom_rollups select * from key_hours;
alter table custom_rollups alter column grain drop default;
alter table custom_rollups add primary key (publisher_id, key, grain, bucket, value);
