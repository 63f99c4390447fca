-- Budgets that are never exceeded by what is booked: what is spent beside what is reserved, and what is left unbilled.

alter table campaigns
  add column overspend_percent integer not null default 0 check (overspend_percent between 0 and 100);
comment on column campaigns.overspend_percent is 'How far what is booked may go beyond a budget.';

alter table campaign_usage
  add column counted_impressions bigint not null default 0,
  add column conversions bigint not null default 0,
  add column spent_micros bigint not null default 0,
  add column unbilled_micros bigint not null default 0;
comment on column campaign_usage.impressions is 'Counted ones, and what slices and reservations hold.';
comment on column campaign_usage.micros is 'Money in millionths: what is spent, and what slices and reservations hold.';
comment on column campaign_usage.counted_impressions is 'Without slices and reservations.';
comment on column campaign_usage.conversions is 'Less those that were voided.';
comment on column campaign_usage.spent_micros is 'Booked money; never more than a budget allows.';
comment on column campaign_usage.unbilled_micros is 'What events would have paid that no longer fitted into a budget.';

-- What was spent so far is what was used, less what slices and reservations hold.
with reserved as (
  select (part ->> 1)::integer as campaign_id, (part ->> 2)::integer as publisher_id, period,
    (part ->> 3)::bigint as impressions, (part ->> 4)::bigint as micros
  from cap_reservations
  cross join lateral json_array_elements(reserved::json) as of_zone
  cross join lateral json_array_elements(of_zone -> 1) as part
  cross join lateral (
    select to_timestamp(('x' || lpad(left(replace(session_id::text, '-', ''), 12), 16, '0'))::bit(64)::bigint / 1000.0)
  ) as shown (at)
  cross join lateral (
    select 'lifetime' as period
    union all
    select unit || ' '
      || to_char(date_trunc(unit, at, of_zone ->> 0) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
    from unnest(array['hour', 'day', 'month']) as unit
  ) as periods
), held as (
  select campaign_id, publisher_id, period, impressions, micros from reserved
  union all
  select campaign_id, publisher_id, period, impressions, micros from cap_slices cross join unnest(periods) as period
), sums as (
  select campaign_id, publisher_id, period, sum(impressions)::bigint as impressions, sum(micros)::bigint as micros
  from held group by 1, 2, 3
)
update campaign_usage used set
  counted_impressions = used.impressions - coalesce(sums.impressions, 0),
  spent_micros = used.micros - coalesce(sums.micros, 0)
from campaign_usage self left join sums using (campaign_id, publisher_id, period)
where (used.campaign_id, used.publisher_id, used.period) = (self.campaign_id, self.publisher_id, self.period);

alter table events add column unbilled_micros bigint;
comment on column events.unbilled_micros is
  'What it would have paid in millionths, had it fitted into the budget; null: it fitted, or pays nothing.';

alter table conversions add column unbilled_micros bigint not null default 0;
comment on column conversions.unbilled_micros is
  'What it would have paid, had it fitted into the budget: then it pays 0.';

alter table bookings add column unbilled_micros bigint not null default 0;
comment on column bookings.unbilled_micros is 'As in conversions.';

alter table rollups add column unbilled_micros bigint not null default 0;
alter table custom_rollups add column unbilled_micros bigint not null default 0;
alter table minute_rollups add column unbilled_micros bigint not null default 0;
