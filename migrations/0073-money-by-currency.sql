-- Every stored amount has the currency it was booked in, and sums of money are kept by currency. `revenue_micros` and
-- `unbilled_micros` of rollups, custom_rollups and minute_rollups stay for the previous release alone.
alter table events add column currency text;
alter table bookings add column currency text;
comment on column events.currency is 'ISO 4217, of revenue_micros; null: none, or stored by an earlier release.';
comment on column bookings.currency is 'ISO 4217; null: stored by an earlier release.';

update bookings b set currency = c.currency from conversions c
where (c.day, c.session_id, c.offer_id, c.id) = (b.day, b.session_id, b.offer_id, b.id);

create table rollup_money (
  publisher_id integer not null,
  grain smallint not null,
  bucket timestamptz not null,
  placement text collate "C" not null,
  offer_id integer not null,
  country text collate "C" not null,
  device text collate "C" not null,
  os text collate "C" not null,
  currency text collate "C" not null,
  campaign_id integer not null,
  revenue_micros bigint not null,
  unbilled_micros bigint not null,
  primary key (publisher_id, grain, bucket, placement, offer_id, country, device, os, currency)
) partition by range (bucket);
create index rollup_money_filters on rollup_money (publisher_id, grain, device, country, offer_id, bucket);
comment on table rollup_money is 'Money of rollups by currency, with the same grains and buckets.';
comment on column rollup_money.currency is
  'ISO 4217; XXX: the sum has several, and the rows that would tell them apart were dropped before they were kept.';

create table custom_rollup_money (
  publisher_id integer not null,
  key text collate "C" not null,
  grain smallint not null,
  bucket timestamptz not null,
  value text collate "C" not null,
  currency text collate "C" not null,
  revenue_micros bigint not null,
  unbilled_micros bigint not null,
  primary key (publisher_id, key, grain, bucket, value, currency)
) partition by range (bucket);
comment on table custom_rollup_money is 'Money of custom_rollups by currency.';

create table minute_money (
  publisher_id integer not null,
  minute timestamptz not null,
  currency text collate "C" not null,
  revenue_micros bigint not null,
  unbilled_micros bigint not null,
  primary key (publisher_id, minute, currency)
) with (fillfactor = 70);
comment on table minute_money is 'Money of minute_rollups by currency.';

create or replace function create_report_partitions(from_day date, to_day date) returns void language plpgsql as $$
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
  foreach parent in array array['rollups', 'custom_rollups', 'rollup_money', 'custom_rollup_money'] loop
    for d in select generate_series(date_trunc('month', from_day), to_day, interval '1 month')::date loop
      perform create_partition(parent, d, (d::timestamp at time zone 'UTC')::text,
        ((d + interval '1 month') at time zone 'UTC')::text, 'with (fillfactor = 80)');
    end loop;
  end loop;
end $$;

-- The months that there are of rollups.
do $$
declare
  month date;
  name text;
begin
  for month in
    select to_date(substring(c.relname from '_p(\d{8})$'), 'YYYYMMDD')
    from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = 'rollups'::regclass
  loop
    foreach name in array array['rollup_money', 'custom_rollup_money'] loop
      perform create_partition(name, month, (month::timestamp at time zone 'UTC')::text,
        ((month + interval '1 month') at time zone 'UTC')::text, 'with (fillfactor = 80)');
    end loop;
  end loop;
end $$;

create function complete_rollup_money(since timestamptz, until timestamptz) returns void language plpgsql as $$
begin
  -- 1. Sums of offers: the currency of the campaign, unless one of its conversions was booked in another.
  insert into rollup_money as kept
  with others as materialized (
    select distinct b.publisher_id, b.offer_id, b.at from bookings b join campaigns k on k.id = b.campaign_id
    where b.currency <> k.payout_currency and (b.revenue_micros <> 0 or b.unbilled_micros <> 0)
  )
  select r.publisher_id, r.grain, r.bucket, r.placement, r.offer_id, r.country, r.device, r.os,
    case when k.payout_currency is null or exists (
      select from others o where o.publisher_id = r.publisher_id and o.offer_id = r.offer_id and o.at >= r.bucket
        and o.at < r.bucket + case when r.grain & 32 <> 0 then interval '8 days' when r.grain & 16 <> 0
          then interval '25 hours' else interval '1 hour' end
    ) then 'XXX' else k.payout_currency end,
    r.campaign_id, r.revenue_micros - m.revenue, r.unbilled_micros - m.unbilled
  from rollups r left join campaigns k on k.id = r.campaign_id
  cross join lateral (
    select coalesce(sum(revenue_micros), 0)::bigint as revenue, coalesce(sum(unbilled_micros), 0)::bigint as unbilled
    from rollup_money m
    where (m.publisher_id, m.grain, m.bucket, m.placement, m.offer_id, m.country, m.device, m.os)
      = (r.publisher_id, r.grain, r.bucket, r.placement, r.offer_id, r.country, r.device, r.os)
  ) m
  where r.grain & 2 <> 0 and r.bucket >= since and r.bucket < until
    and (r.revenue_micros, r.unbilled_micros) <> (m.revenue, m.unbilled)
  on conflict (publisher_id, grain, bucket, placement, offer_id, country, device, os, currency) do update set
    revenue_micros = kept.revenue_micros + excluded.revenue_micros,
    unbilled_micros = kept.unbilled_micros + excluded.unbilled_micros;

  -- 2. Sums of days, and of hours with at most one dimension: those of their offers.
  delete from rollup_money m using (
    select r.publisher_id, r.grain, r.bucket, r.placement, r.offer_id, r.country, r.device, r.os
    from rollups r left join rollup_money m
      using (publisher_id, grain, bucket, placement, offer_id, country, device, os)
    where r.grain in (0, 1, 4, 8, 17, 20, 21, 24, 25, 28, 29) and r.bucket >= since and r.bucket < until
    group by 1, 2, 3, 4, 5, 6, 7, 8, r.revenue_micros, r.unbilled_micros
    having (r.revenue_micros, r.unbilled_micros)
      <> (coalesce(sum(m.revenue_micros), 0), coalesce(sum(m.unbilled_micros), 0))
  ) wrong
  where (m.publisher_id, m.grain, m.bucket, m.placement, m.offer_id, m.country, m.device, m.os)
    = (wrong.publisher_id, wrong.grain, wrong.bucket, wrong.placement, wrong.offer_id, wrong.country, wrong.device,
      wrong.os);
  insert into rollup_money
  select r.publisher_id, r.grain, r.bucket, r.placement, r.offer_id, r.country, r.device, r.os, o.currency, 0,
    sum(o.revenue_micros)::bigint, sum(o.unbilled_micros)::bigint
  from rollups r join rollup_money o on o.publisher_id = r.publisher_id and o.grain = r.grain | 2
    and o.bucket = r.bucket and o.placement = r.placement and o.country = r.country and o.device = r.device
    and o.os = r.os
  where r.grain in (0, 1, 4, 8, 17, 20, 21, 24, 25, 28, 29) and r.bucket >= since and r.bucket < until
    and (r.revenue_micros <> 0 or r.unbilled_micros <> 0) and not exists (
      select from rollup_money m
      where (m.publisher_id, m.grain, m.bucket, m.placement, m.offer_id, m.country, m.device, m.os)
        = (r.publisher_id, r.grain, r.bucket, r.placement, r.offer_id, r.country, r.device, r.os)
    )
  group by 1, 2, 3, 4, 5, 6, 7, 8, 9;

  -- 3. The rest: the currency of all money of the publisher in the hour or day, if it is one.
  insert into rollup_money as kept
  select r.publisher_id, r.grain, r.bucket, r.placement, r.offer_id, r.country, r.device, r.os,
    only_currency(r.publisher_id, 2::smallint, r.bucket), 0, r.revenue_micros - m.revenue,
    r.unbilled_micros - m.unbilled
  from rollups r cross join lateral (
    select coalesce(sum(revenue_micros), 0)::bigint as revenue, coalesce(sum(unbilled_micros), 0)::bigint as unbilled
    from rollup_money m
    where (m.publisher_id, m.grain, m.bucket, m.placement, m.offer_id, m.country, m.device, m.os)
      = (r.publisher_id, r.grain, r.bucket, r.placement, r.offer_id, r.country, r.device, r.os)
  ) m
  where r.grain in (5, 9, 12) and r.bucket >= since and r.bucket < until
    and (r.revenue_micros, r.unbilled_micros) <> (m.revenue, m.unbilled)
  on conflict (publisher_id, grain, bucket, placement, offer_id, country, device, os, currency) do update set
    revenue_micros = kept.revenue_micros + excluded.revenue_micros,
    unbilled_micros = kept.unbilled_micros + excluded.unbilled_micros;
  insert into custom_rollup_money as kept
  select r.publisher_id, r.key, r.grain, r.bucket, r.value,
    only_currency(r.publisher_id, (r.grain | 2)::smallint, r.bucket),
    r.revenue_micros - m.revenue, r.unbilled_micros - m.unbilled
  from custom_rollups r cross join lateral (
    select coalesce(sum(revenue_micros), 0)::bigint as revenue, coalesce(sum(unbilled_micros), 0)::bigint as unbilled
    from custom_rollup_money m
    where (m.publisher_id, m.key, m.grain, m.bucket, m.value) = (r.publisher_id, r.key, r.grain, r.bucket, r.value)
  ) m
  where r.bucket >= since and r.bucket < until and (r.revenue_micros, r.unbilled_micros) <> (m.revenue, m.unbilled)
  on conflict (publisher_id, key, grain, bucket, value, currency) do update set
    revenue_micros = kept.revenue_micros + excluded.revenue_micros,
    unbilled_micros = kept.unbilled_micros + excluded.unbilled_micros;
end $$;
comment on function complete_rollup_money is
  'Gives the money of rollups that an earlier release summed without its currency the currency that is known of it.';

create function only_currency(publisher integer, of_grain smallint, at timestamptz) returns text
language sql stable as $$
  select case when min(currency) = max(currency) then min(currency) else 'XXX' end from rollup_money
  where publisher_id = publisher and grain = of_grain and bucket = at and (revenue_micros <> 0 or unbilled_micros <> 0)
$$;
comment on function only_currency is 'The currency of all money of a publisher in an hour (2) or day (18); else XXX.';

select complete_rollup_money('-infinity', 'infinity');

insert into minute_money
select publisher_id, minute, only_currency(publisher_id, 2::smallint, date_trunc('hour', minute)),
  revenue_micros, unbilled_micros
from minute_rollups where revenue_micros <> 0 or unbilled_micros <> 0;
