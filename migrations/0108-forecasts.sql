-- Forecasts of live campaigns, which are compared with what happened afterwards.

create table forecasts (
  id integer generated always as identity primary key,
  publisher_id integer not null references publishers on delete cascade,
  campaign_id integer not null,
  -- Digest of the campaign's values. A forecast whose campaign was changed is not compared.
  digest text not null,
  currency text not null,
  -- Period of the forecast: full hours, up to 30 days.
  starts_at timestamptz not null,
  ends_at timestamptz not null,
  -- {"impressions": {"low": 1, "mid": 2, "high": 3}, …}; spend in millionths of the currency.
  predicted jsonb not null,
  -- {"impressions": 2, …}; null: the period is not over, or the campaign was changed.
  actual jsonb,
  -- When it was compared, or given up because the campaign was changed; null: open.
  closed_at timestamptz
);
comment on table forecasts is
  'Forecasts of live campaigns with the later truth: the track record. Kept as long as rollups, at most two years.';
create unique index forecasts_open on forecasts (campaign_id) where closed_at is null;
create index forecasts_record on forecasts (publisher_id, ends_at) where actual is not null;
