-- Exchange rates of publishers, and the currency in which they also see totals.
alter table publishers
  add column rates_base text check (rates_base ~ '^[A-Z]{3}$'),
  add column reporting_currency text check (reporting_currency ~ '^[A-Z]{3}$');
comment on column publishers.rates_base is 'Currency that one unit of is exchanged in exchange_rates; null: no rates.';
comment on column publishers.reporting_currency is 'Currency of converted totals; null: none are shown.';

create table exchange_rates (
  publisher_id integer not null references publishers (id) on delete cascade,
  currency text collate "C" not null check (currency ~ '^[A-Z]{3}$'),
  valid_from date not null,
  rate numeric(24, 12) not null check (rate > 0),
  primary key (publisher_id, currency, valid_from)
);
comment on table exchange_rates is 'Exchange rates of publishers, each from a day on.';
comment on column exchange_rates.valid_from is 'First day of the rate, in the time zone of the publisher.';
comment on column exchange_rates.rate is 'Units of the currency for one unit of publishers.rates_base.';

create trigger bump_catalog_version after insert or update or delete on exchange_rates
  for each row execute function bump_catalog_version();
create trigger bump_catalog_version_truncated after truncate on exchange_rates
  for each statement execute function bump_catalog_version();
