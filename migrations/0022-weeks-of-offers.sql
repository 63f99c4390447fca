-- Sums of offers by the week, so that ranges of a month read a third of the rows.

insert into rollups
select publisher_id, grain + 16, date_bin('7 days', bucket, date_trunc('month', bucket, 'UTC')),
  placement, offer_id, country, device, os, max(campaign_id), sum_exact(sessions), sum_exact(filled_sessions),
  sum_exact(impressions), sum_exact(clicks), sum_exact(no_thanks), sum_exact(closes), sum_exact(saves),
  sum_exact(selections), sum_exact(conversions),
  greatest(-1000000000000000000, least(1000000000000000000, sum(revenue_micros)))::bigint
from rollups where grain in (18, 19, 22, 26)
group by 1, 2, 3, 4, 5, 6, 7, 8;

comment on column rollups.grain is
  'Bits of the dimensions a row has (1 placement, 2 offer, 4 country, 8 device and os; the others are '''' or 0), 16 for
a bucket of a day of the publisher''s time zone, and 32 for one of a week; without either it is an hour.';
comment on column rollups.bucket is
  'Its start. A week begins on the 1st, 8th, 15th, 22nd or 29th of a month in UTC, and has the days that begin in it.';
