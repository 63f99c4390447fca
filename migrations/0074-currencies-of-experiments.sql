-- Revenue of experiments is summed by user in one currency for each version. Amounts in others are converted at the
-- publisher's exchange rates; what has no rate is not in the sums, and counted in experiment_money.
create function exchange_micros(publisher integer, micros bigint, sold text, bought text, booked_at timestamptz)
returns bigint language sql stable as $$
  select case
    when micros = 0 or sold = bought then micros
    else round(micros * b.rate / s.rate)::bigint
  end
  from publishers p
  left join lateral (
    select 1::numeric as rate where sold = p.rates_base
    union all (
      select rate from exchange_rates r where r.publisher_id = p.id and r.currency = sold
        and r.valid_from <= (booked_at at time zone time_zone_or_utc(p.time_zone))::date
      order by r.valid_from desc limit 1
    ) limit 1
  ) s on true
  left join lateral (
    select 1::numeric as rate where bought = p.rates_base
    union all (
      select rate from exchange_rates r where r.publisher_id = p.id and r.currency = bought
        and r.valid_from <= (booked_at at time zone time_zone_or_utc(p.time_zone))::date
      order by r.valid_from desc limit 1
    ) limit 1
  ) b on true
  where p.id = publisher
$$;
comment on function exchange_micros is
  'An amount (millionths) in another currency, at the rates of the day in the zone of the publisher; null: no rate.';

create function main_currency(publisher integer) returns text language sql stable as $$
  select coalesce(p.reporting_currency, p.rates_base, (
    select m.currency from rollup_money m
    where m.publisher_id = p.id and m.grain = 0 and m.bucket > now() - interval '30 days' and m.currency <> 'XXX'
    group by m.currency order by count(*) desc, m.currency limit 1
  ), (
    select k.payout_currency from campaigns k join campaign_publishers c on c.campaign_id = k.id
    where c.publisher_id = p.id and k.deleted_at is null
    group by k.payout_currency order by count(*) desc, k.payout_currency limit 1
  ))
  from publishers p where p.id = publisher
$$;
comment on function main_currency is
  'The reporting currency of a publisher, or else the base of its rates, or else the one it earns in most often.';

create table experiment_currencies (
  experiment_id integer not null references experiments on delete cascade,
  version integer not null,
  currency text not null,
  primary key (experiment_id, version)
);
comment on table experiment_currencies is 'The currency in which the revenue of users is summed, by version.';
comment on column experiment_currencies.currency is
  'ISO 4217; XXX: an earlier release added amounts in several currencies, which cannot be told apart.';

create table experiment_money (
  experiment_id integer not null references experiments on delete cascade,
  version integer not null,
  arm text not null,
  currency text not null,
  revenue_micros numeric not null,
  unconverted_micros numeric not null,
  primary key (experiment_id, version, arm, currency)
);
comment on table experiment_money is 'Revenue of the arms of experiments by the currency it was booked in.';
comment on column experiment_money.unconverted_micros is
  'Part of revenue_micros that is not in the sums of users: there was no exchange rate.';

-- What is summed already: in the currency of all money of the placements since the version has users, if it is one.
insert into experiment_currencies
select u.experiment_id, u.version,
  case when min(m.currency) = max(m.currency) then min(m.currency) else 'XXX' end
from (
  select experiment_id, version, min(first_at) as since from experiment_units
  where revenue_micros <> 0 or before_revenue_micros <> 0 group by 1, 2
) u
join experiments e on e.id = u.experiment_id
join rollup_money m on m.publisher_id = e.publisher_id and m.grain = 1 and m.revenue_micros <> 0
  and m.bucket >= u.since - interval '15 days' and (e.placements is null or m.placement = any(e.placements))
group by 1, 2;
insert into experiment_currencies
select distinct experiment_id, version, 'XXX' from experiment_units where revenue_micros <> 0 on conflict do nothing;
insert into experiment_money
select u.experiment_id, u.version, u.arm, c.currency, sum(u.revenue_micros), 0
from experiment_units u join experiment_currencies c using (experiment_id, version)
where u.revenue_micros <> 0 group by 1, 2, 3, 4;
