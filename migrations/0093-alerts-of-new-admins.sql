-- Alerts: the response that made an endpoint fail, and e-mails that new admins get by default.

alter table endpoint_health
  add column last_failed_delivery_id uuid,
  add column last_failed_generation integer;
comment on column endpoint_health.last_failed_delivery_id is
  'Delivery of the last failed attempt or of the disabling response; null: the last request succeeded.';

-- Admins without a rule get the default e-mails. Current admins have not asked for any, so their choice is stored.
insert into alert_rules (publisher_id, user_id, kinds, created_at)
select publisher_id, user_id, '{}', now() from memberships where role = 'admin' and publisher_id is not null
on conflict do nothing;
