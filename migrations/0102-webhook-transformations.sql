-- JSONata expressions that change the body and headers of an endpoint's calls, and the attempt that failed last.

alter table webhook_endpoints add column transformation jsonb;
comment on column webhook_endpoints.transformation is 'Expressions { body, headers }; null: events are sent unchanged.';

alter table endpoint_health
  add column transformation_failed_at timestamptz,
  add column transformation_failed_delivery_id uuid,
  add column transformation_failed_generation integer;
comment on column endpoint_health.transformation_failed_at is 'Start of the failures; null: the last one succeeded.';
