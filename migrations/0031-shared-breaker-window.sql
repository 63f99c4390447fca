-- Workers count the calls for the circuit breaker together.

alter table endpoint_health
  add column recent_calls_at timestamptz[] not null default '{}',
  add column recent_calls_failed boolean[] not null default '{}';
comment on column endpoint_health.recent_calls_at is
  'Ends of the last calls within a minute, of all workers, for the breaker; empty since it opened.';
comment on column endpoint_health.recent_calls_failed is 'Whether each of recent_calls_at failed.';
