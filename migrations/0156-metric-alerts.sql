create table metric_alerts (
  id integer generated always as identity primary key,
  publisher_id integer not null references publishers on delete cascade,
  name text not null,
  metric text not null,
  -- Null: all placements.
  placement text,
  comparison text not null check (comparison in ('below', 'above', 'drop', 'rise')),
  -- Counts and amounts in their unit; rates and changes in percent.
  threshold double precision not null,
  -- Currency of revenue; null for other metrics.
  currency text,
  window_hours smallint not null,
  active boolean not null default true,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
comment on table metric_alerts is 'Thresholds of metrics at which a publisher gets an alert.';
create index metric_alerts_publisher on metric_alerts (publisher_id);
